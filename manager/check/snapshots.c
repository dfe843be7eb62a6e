#include "manager/check/check.private.h"

#include "common/cleanup.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *left, const void *right) {
    return strcmp(((const struct snapshot *)left)->id, ((const struct snapshot *)right)->id);
}

static const struct snapshot *snapshot_at(const struct round *round, const char *id) {
    struct snapshot key = { .id = id };

    if (round->snapshot_count == 0)
        return NULL;
    return bsearch(&key, round->snapshots, (size_t)round->snapshot_count, sizeof key, compare_ids);
}

/* ---- rows ---- */

static const struct operation *group_operation(const struct round *round,
                                               const struct snapshot *snapshot) {
    return snapshot->group_snapshot_id ? round_operation_at(round, snapshot->group_snapshot_id)
                                       : NULL;
}

/* By its own operation, or by one of its group snapshot or volume that includes it. */
static bool is_worked_on(const struct round *round, const struct snapshot *snapshot) {
    const struct operation *own = round_operation_at(round, snapshot->id);
    const struct operation *volumes = round_operation_at(round, snapshot->volume_id);
    const struct operation *groups = group_operation(round, snapshot);

    if (own && own->kind->object && own->kind->meanwhile == snapshot->status)
        return true;
    if (groups)
        return snapshot->status == (groups->kind == &kind_group_snapshot_delete
                                        ? SNAPSHOT_DELETING
                                        : SNAPSHOT_CREATING);
    return volumes && ((volumes->kind == &kind_delete && snapshot->status == SNAPSHOT_DELETING) ||
                       (volumes->kind == &kind_revert && snapshot->status == SNAPSHOT_RESTORING));
}

/* The driver's record is unchanged since the creation: the format of its volume, which never
 * changes, and an instant of the database's clock, which orders the snapshots. */
static int check_records(struct round *round, struct work *work, struct error *err) {
    const int64_t slack_us = 3600 * SECOND_US; /* for clocks of hosts that differ */
    autorows struct db_rows *rows = db_query(
        work->tx, err,
        "SELECT s.id, s.format, v.format, CASE WHEN s.provider_location IS NOT NULL AND "
        "COALESCE(s.format, '') <> COALESCE(v.format, '') THEN 1 ELSE 0 END FROM snapshots s "
        "JOIN volumes v ON v.id = s.volume_id WHERE s.asked_us <= 0 OR s.asked_us > $1 OR "
        "(s.provider_location IS NOT NULL AND COALESCE(s.format, '') <> COALESCE(v.format, '')) "
        "ORDER BY s.id",
        DB_INT(work->clock_us + slack_us));
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        const char *format = db_text(rows, 1), *of_volume = db_text(rows, 2);

        if (db_bool(rows, 3))
            round_found(round, "P3", "snapshot %s is recorded as %s, its volume as %s",
                        db_text(rows, 0), format ? format : "nothing",
                        of_volume ? of_volume : "nothing");
        else
            round_found(round, "P3", "snapshot %s was asked for at an instant that never was",
                        db_text(rows, 0));
    }
    return more;
}

int round_read_snapshots(struct round *round, struct work *work, struct error *err) {
    round->snapshot_count = snapshot_all(work, &round->snapshots, err);
    for (int i = 0; i < round->snapshot_count; i++) {
        const struct snapshot *snapshot = &round->snapshots[i];

        if (snapshot_status_is_transient(snapshot->status) && !is_worked_on(round, snapshot))
            round_status_stays(round, "snapshot", snapshot->id,
                               snapshot_status_text(snapshot->status), snapshot->status_by_reset);
        /* A reset or a report of such a status is refused; an older API accepted it. */
        if (snapshot->status == SNAPSHOT_AVAILABLE && !snapshot->provider_location)
            round_found(
                round, "P3",
                "snapshot %s is available, but has no storage: delete it, or reset it to error",
                snapshot->id);
    }
    for (int i = 0; i < round->operation_count; i++) {
        const struct operation *operation = &round->operations[i];

        if (operation->kind->object == &snapshot_objects && operation->phase != PHASE_CANCELLED &&
            !snapshot_at(round, operation->object_id))
            round_found(round, "P5",
                        "operation %s (%s) works for snapshot %s, which does not exist",
                        operation->id, operation->kind->name, operation->object_id);
    }
    return round->snapshot_count < 0 ? -1 : check_records(round, work, err);
}

/* ---- rows against objects ---- */

struct objects {
    struct round *round;
    bool *seen;     /* of the rows */
    int64_t *bytes; /* of those found and too small, plus one */
    struct stray {
        const char *name_id;
        struct stray *next;
    } * strays; /* objects without a row when the rows were read */
};

static void object_found(void *arg, const char *name_id, int64_t bytes) {
    struct objects *objects = arg;
    struct round *round = objects->round;
    const struct snapshot *snapshot = snapshot_at(round, name_id);
    struct stray *stray;

    if (!snapshot) {
        stray = arena_alloc(round->arena, sizeof *stray);
        *stray = (struct stray){ arena_text(round->arena, name_id), objects->strays };
        objects->strays = stray;
        return;
    }
    if (bytes >= 0 && bytes < snapshot->size_gb * GIB)
        objects->bytes[snapshot - round->snapshots] = 1 + bytes;
    else
        objects->seen[snapshot - round->snapshots] = true;
}

/* An object created after the rows were read has its row by now.  That of an upload has its id. */
static int judge_strays(struct work *work, void *arg, struct error *err) {
    const struct objects *objects = arg;
    struct snapshot row;
    struct operation operation;

    for (const struct stray *stray = objects->strays; stray; stray = stray->next) {
        int found;

        if (snapshot_row(work, stray->name_id, &row, err) == 0)
            continue;
        if (err->kind != ERROR_NOT_FOUND)
            return -1;
        found = operation_get(work, stray->name_id, &operation, err);
        if (found == 0)
            found = round_is_being_removed(work, stray->name_id, err);
        if (found < 0)
            return -1;
        if (found > 0)
            continue;
        round_found(objects->round, "P3", "there is an object of snapshot %s, which does not exist",
                    stray->name_id);
    }
    return 0;
}

/* Is it unchanged since its row was read? */
static int judge_missing(struct work *work, void *arg, struct error *err) {
    const struct objects *objects = arg;
    struct round *round = objects->round;
    struct snapshot now;

    for (int i = 0; i < round->snapshot_count; i++) {
        const struct snapshot *snapshot = &round->snapshots[i];

        if (objects->seen[i])
            continue;
        if (snapshot_row(work, snapshot->id, &now, err) < 0) {
            if (err->kind != ERROR_NOT_FOUND)
                return -1;
            continue;
        }
        if (now.updated_at != snapshot->updated_at)
            continue;
        if (objects->bytes[i] > 0)
            round_found(round, "P3", "snapshot %s has %jd GiB, its object %jd bytes", snapshot->id,
                        (intmax_t)snapshot->size_gb, (intmax_t)(objects->bytes[i] - 1));
        else
            round_found(round, "P3", "snapshot %s has no object", snapshot->id);
    }
    return 0;
}

/* Has it no object yet, or is it on another backend? */
static bool is_excused(const struct round *round, const struct snapshot *snapshot,
                       const char *host) {
    size_t length = strlen(host);

    return !snapshot->provider_location || snapshot->delete_begun ||
           round_operation_at(round, snapshot->id) || group_operation(round, snapshot) ||
           round_operation_at(round, snapshot->volume_id) || !snapshot->host ||
           strncmp(snapshot->host, host, length) != 0 || snapshot->host[length] != '#';
}

int round_check_snapshots(struct round *round, const struct manager_backend *backend,
                          const char *host, const struct work *base, struct error *err) {
    struct objects objects = { .round = round };

    if (!backend->driver->list_snapshots)
        return 0;
    objects.seen = arena_alloc(round->arena, (size_t)round->snapshot_count + 1);
    objects.bytes =
        arena_alloc(round->arena, ((size_t)round->snapshot_count + 1) * sizeof *objects.bytes);
    for (int i = 0; i < round->snapshot_count; i++)
        objects.seen[i] = is_excused(round, &round->snapshots[i], host);
    if (backend->driver->list_snapshots(backend->handle, round->arena, object_found, &objects,
                                        err) < 0 ||
        work_read(round->check->db, base, judge_strays, &objects, err) < 0)
        return -1;
    return work_read(round->check->db, base, judge_missing, &objects, err);
}
