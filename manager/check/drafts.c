#include "manager/check/check.private.h"

#include <string.h>

struct stray {
    const char *name_id, *where;
    bool owned, still_there;
    struct stray *next;
};

struct drafts {
    struct round *round;
    struct stray *strays;
};

static void draft_found(void *arg, const struct driver_draft *draft) {
    struct drafts *drafts = arg;
    struct arena *arena = drafts->round->arena;
    struct stray *stray = arena_alloc(arena, sizeof *stray);

    *stray = (struct stray){ .name_id = arena_text(arena, draft->name_id),
                             .where = arena_text(arena, draft->where),
                             .next = drafts->strays };
    drafts->strays = stray;
}

static void draft_found_again(void *arg, const struct driver_draft *draft) {
    const struct drafts *drafts = arg;

    for (struct stray *stray = drafts->strays; stray; stray = stray->next)
        if (strcmp(stray->where, draft->where) == 0)
            stray->still_there = true;
}

/* Any operation that is open on the volume, or on a snapshot of it. */
static int look_for_owners(struct work *work, void *arg, struct error *err) {
    const struct drafts *drafts = arg;

    for (struct stray *stray = drafts->strays; stray; stray = stray->next) {
        int64_t operations = 0;

        if (db_query_int(
                work->tx, &operations, err,
                "SELECT COUNT(*) FROM operations WHERE volume_id = $1 OR object_id = $1 OR "
                "volume_id IN (SELECT id FROM volumes WHERE name_id = $1) OR "
                "volume_id IN (SELECT volume_id FROM snapshots WHERE id = $1) OR "
                "target_id IN (SELECT s.group_snapshot_id FROM snapshots s "
                " JOIN volumes v ON v.id = s.volume_id "
                " WHERE s.id = $1 OR v.id = $1 OR v.name_id = $1)",
                DB_TEXT(stray->name_id)) < 0)
            return -1;
        stray->owned = operations > 0;
    }
    return 0;
}

/* A draft whose operation ends meanwhile is missing in the second list. */
int round_check_drafts(struct round *round, const struct manager_backend *backend, const char *host,
                       const struct work *base, struct error *err) {
    const struct driver *driver = backend->driver;
    struct drafts drafts = { .round = round };

    if (!driver->list_drafts)
        return 0;
    if (driver->list_drafts(backend->handle, round->arena, draft_found, &drafts, err) < 0)
        return -1;
    if (!drafts.strays)
        return 0;
    if (work_read(round->check->db, base, look_for_owners, &drafts, err) < 0 ||
        driver->list_drafts(backend->handle, round->arena, draft_found_again, &drafts, err) < 0)
        return -1;
    for (const struct stray *stray = drafts.strays; stray; stray = stray->next)
        if (!stray->owned && stray->still_there)
            round_found(round, "P3", "backend %s has an incomplete file without an operation: %s",
                        host, stray->where);
    return 0;
}
