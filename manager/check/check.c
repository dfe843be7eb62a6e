#include "manager/check/check.h"

#include "common/cleanup.h"
#include "manager/check/check.private.h"
#include "manager/runtime/job.h"
#include "manager/runtime/known.h"
#include "model/conflict.h"
#include "model/group/snapshot_status.h"
#include "model/operations.h"
#include "model/volume/extend.h"
#include "model/volume/quota.h"
#include "operation/query.h"
#include "operation/quota.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *left, const void *right) {
    return strcmp(((const struct volume *)left)->id, ((const struct volume *)right)->id);
}

static const struct volume *volume_of(const struct round *round, const char *id) {
    struct volume key = { .id = id };

    if (round->volume_count == 0)
        return NULL;
    return bsearch(&key, round->volumes, (size_t)round->volume_count, sizeof key, compare_ids);
}

/* ---- P1, P3 of rows ---- */

static void check_volume(struct round *round, const struct volume *volume) {
    const struct operation *operation = round_operation_at(round, volume->id);
    bool owns_status =
        operation && operation->kind->object && operation->kind->meanwhile == volume->status;
    bool keys = pairs_get(&volume->admin_metadata, EXTEND_KEY_SIZE) ||
                pairs_get(&volume->admin_metadata, EXTEND_KEY_RESERVATIONS);

    if (status_is_transient(volume->status) && !owns_status)
        round_status_stays(round, "volume", volume->id, status_text(volume->status),
                           volume->status_by_reset);
    if (keys !=
        (operation && operation->kind == &kind_extend && operation_awaits_report(operation)))
        round_found(round, "P1", "volume %s %s", volume->id,
                    keys ? "has keys of an extend that is not pending"
                         : "waits for an extend's report without its keys");
    if (volume->largest_gb < volume->size_gb)
        round_found(round, "P3", "volume %s: largest size %jd GiB is below its size %jd GiB",
                    volume->id, (intmax_t)volume->largest_gb, (intmax_t)volume->size_gb);
    /* A reset to such a status is refused; an older API accepted it. */
    if (volume_lacks_storage(volume, volume->status))
        round_found(round, "P3",
                    "volume %s is %s, but has no storage: delete it, or reset it to "
                    "error",
                    volume->id, status_text(volume->status));
}

/* ---- P2 ---- */

static void quota_wrong(void *arg, const char *text) {
    round_found(arg, "P2", "%s", text);
}

static int check_pools(struct round *round, struct work *work, struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT p.name, p.allocated_gb, "
                 "(SELECT COALESCE(SUM(v.size_gb), 0) FROM volumes v WHERE v.host = p.name) + "
                 "(SELECT COALESCE(SUM(o.new_size_gb - v.size_gb), 0) FROM operations o "
                 " JOIN volumes v ON v.id = o.target_id "
                 " WHERE o.new_size_gb > 0 AND v.host = p.name), "
                 "p.snapshots_gb, (SELECT COALESCE(SUM(s.promised_gb), 0) FROM snapshots s "
                 "JOIN volumes v ON v.id = s.volume_id WHERE v.host = p.name) "
                 "FROM pools p ORDER BY p.name");
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        if (db_int(rows, 1) != db_int(rows, 2))
            round_found(round, "P2", "pool %s: %jd GiB allocated, its volumes have %jd GiB",
                        db_text(rows, 0), (intmax_t)db_int(rows, 1), (intmax_t)db_int(rows, 2));
        if (db_int(rows, 3) != db_int(rows, 4))
            round_found(round, "P2",
                        "pool %s: %jd GiB counted for snapshots, its snapshots have %jd GiB",
                        db_text(rows, 0), (intmax_t)db_int(rows, 3), (intmax_t)db_int(rows, 4));
    }
    return more;
}

/* ---- P5 ---- */

static int check_reservations(struct round *round, struct work *work, struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT id, operation_id FROM reservations "
                 "WHERE operation_id NOT IN (SELECT id FROM operations WHERE new_size_gb > 0)");
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0)
        round_found(round, "P5", "reservation %s belongs to operation %s, which is no extend",
                    db_text(rows, 0), db_text(rows, 1));
    return more;
}

/* A delete of one of them would remove the object of both. */
static const struct disagreement shared_names[] = {
    { "P3",
      "SELECT v.id FROM volumes v JOIN volumes w ON w.id = v.name_id WHERE w.id <> v.id "
      "AND COALESCE(w.name_id, w.id) = w.id AND w.provider_location = v.provider_location "
      "UNION SELECT v.id FROM volumes v WHERE (v.name_id, v.provider_location) IN "
      "(SELECT name_id, provider_location FROM volumes WHERE name_id IS NOT NULL "
      "GROUP BY name_id, provider_location HAVING COUNT(*) > 1) ORDER BY 1",
      "volume", "has the object of another volume" },
};

static int read_rows(struct work *work, void *arg, struct error *err) {
    struct round *round = arg;
    const struct query all = { .where = "1=1", .order = "v.id", .limit = -1, .with_details = true };

    round->volume_count = volume_list(work, &all, &round->volumes, err);
    if (round->volume_count < 0 || round_read_operations(round, work, err) < 0)
        return -1;
    for (int i = 0; i < round->volume_count; i++)
        check_volume(round, &round->volumes[i]);
    for (int i = 0; i < round->operation_count; i++) {
        const struct operation *operation = &round->operations[i];

        if (operation->kind->object != &group_snapshot_objects &&
            operation->kind != &kind_list_manageable && operation->kind != &kind_remove_unwanted &&
            !volume_of(round, operation->volume_id))
            round_found(round, "P5", "operation %s (%s) works for volume %s, which does not exist",
                        operation->id, operation->kind->name, operation->volume_id);
    }
    if (round_read_snapshots(round, work, err) < 0 || round_check_groups(round, work, err) < 0 ||
        round_read_group_snapshots(round, work, err) < 0 ||
        round_check_documents(round, work, err) < 0 || round_note_nodes(round, work, err) < 0 ||
        round_note_attachments(round, work, err) < 0 ||
        quota_recount(work, volume_quota_in_use, quota_wrong, round, err) < 0 ||
        check_pools(round, work, err) < 0 || round_check_hosts(round, work, err) < 0 ||
        round_check_agree(round, work, shared_names, LENGTH(shared_names), err) < 0)
        return -1;
    return check_reservations(round, work, err);
}

/* ---- P3 ---- */

struct stray {
    const char *name_id;
    struct stray *next;
};

struct away {
    const char *reason;
    struct away *next;
};

struct backend_round {
    struct round *round;
    const char *host;
    struct stray *strays; /* objects without a row when the rows were read */
    struct away *away;    /* errors of unavailable storage */
};

/* Volumes on unavailable storage are not reported as lost: one finding for all (S6). */
static int storage_away(struct backend_round *backend, const struct error *why) {
    struct away *away = backend->away;

    while (away && strcmp(away->reason, why->message) != 0)
        away = away->next;
    if (away)
        return 0;
    away = arena_alloc(backend->round->arena, sizeof *away);
    *away = (struct away){ arena_text(backend->round->arena, why->message), backend->away };
    backend->away = away;
    round_found(backend->round, "P3", "backend %s: its storage is not there: %s", backend->host,
                why->message);
    return 0;
}

/* During a rename it may have either name. */
static bool is_worked_on(const struct round *round, const char *volume_id) {
    for (int i = 0; i < round->operation_count; i++)
        if (strcmp(round->operations[i].volume_id, volume_id) == 0)
            return true;
    return false;
}

static bool volume_named(const struct round *round, const char *name_id) {
    const struct volume *volume = volume_of(round, name_id);

    if (volume && (!volume->name_id || strcmp(volume->name_id, name_id) == 0 ||
                   is_worked_on(round, volume->id)))
        return true;
    for (int i = 0; i < round->volume_count; i++)
        if (round->volumes[i].name_id && strcmp(round->volumes[i].name_id, name_id) == 0)
            return true;
    return false;
}

static void object_found(void *arg, const char *name_id, int64_t bytes) {
    struct backend_round *backend = arg;
    struct stray *stray;

    (void)bytes;
    if (volume_named(backend->round, name_id))
        return;
    stray = arena_alloc(backend->round->arena, sizeof *stray);
    *stray = (struct stray){ arena_text(backend->round->arena, name_id), backend->strays };
    backend->strays = stray;
}

/* An object created after the rows were read has its row by now. */
static int judge_strays(struct work *work, void *arg, struct error *err) {
    struct backend_round *backend = arg;

    for (const struct stray *stray = backend->strays; stray; stray = stray->next) {
        int expected = db_query_any(work->tx, err,
                                    "SELECT 1 FROM volumes WHERE COALESCE(name_id, id) = $1 OR "
                                    "(id = $1 AND id IN (SELECT volume_id FROM operations))",
                                    DB_TEXT(stray->name_id));

        if (expected == 0)
            expected = round_is_being_removed(work, stray->name_id, err);
        if (expected < 0)
            return -1;
        if (expected == 0)
            round_found(backend->round, "P3",
                        "backend %s has an object named %s, which is no volume's", backend->host,
                        stray->name_id);
    }
    return 0;
}

/* Is the volume unchanged since its row was read, without a cancelled operation? */
static int unchanged(struct work *work, void *arg, struct error *err) {
    const struct volume *volume = arg;
    struct operation *open;
    struct volume now;
    int count;

    if (volume_row(work, volume->id, &now, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    count = operation_on(work, volume->id, &open, err);
    for (int i = 0; i < count; i++)
        if (conflict_work(&open[i], volume->id) != WORK_BESIDE)
            return 0;
    return count < 0 ? -1 : now.updated_at == volume->updated_at;
}

static int check_object(struct backend_round *objects, const struct manager_backend *backend,
                        const struct work *base, struct volume *volume, struct error *err) {
    struct round *round = objects->round;
    const struct driver_volume object = driver_volume_of(volume);
    struct error why = { 0 };
    int64_t bytes = 0;
    int looked, same;

    looked = backend->driver->get_size(backend->handle, round->arena, &object, &bytes, &why);
    if (looked == 0 && bytes == volume->size_gb * GIB)
        return 0;
    same = work_read(round->check->db, base, unchanged, volume, err);
    if (same <= 0)
        return same;
    if (looked < 0 && why.kind == ERROR_UNAVAILABLE)
        return storage_away(objects, &why);
    if (looked < 0)
        round_found(round, "P3", "volume %s: %s", volume->id, why.message);
    else if (bytes < volume->size_gb * GIB || bytes > volume->largest_gb * GIB)
        round_found(round, "P3", "volume %s has %jd GiB (at most %jd), its object %jd bytes",
                    volume->id, (intmax_t)volume->size_gb, (intmax_t)volume->largest_gb,
                    (intmax_t)bytes);
    else
        round_note(round,
                   "volume %s has %jd GiB, its object %jd bytes: a cancelled extend has grown it; "
                   "another one to that size succeeds at once",
                   volume->id, (intmax_t)volume->size_gb, (intmax_t)bytes);
    return 0;
}

static int check_objects(struct backend_round *objects, const struct manager_backend *backend,
                         const struct work *base, struct error *err) {
    struct round *round = objects->round;
    size_t length = strlen(objects->host);
    struct error why = { 0 };

    for (int i = 0; i < round->volume_count; i++) {
        struct volume *volume = &round->volumes[i];

        if (!volume->host || strncmp(volume->host, objects->host, length) != 0 ||
            volume->host[length] != '#')
            continue;
        if (!volume->provider_location || volume->status == VOLUME_ERROR_DELETING ||
            round_operation_at(round, volume->id)) /* no object is expected */
            continue;
        if (check_object(objects, backend, base, volume, err) < 0)
            return -1;
    }
    if (backend->driver->list_volumes(backend->handle, round->arena, object_found, objects, &why) <
        0) {
        if (why.kind == ERROR_UNAVAILABLE)
            return storage_away(objects, &why);
        *err = why;
        return -1;
    }
    if (work_read(round->check->db, base, judge_strays, objects, &why) < 0 ||
        round_check_snapshots(round, backend, objects->host, base, &why) < 0 ||
        round_check_drafts(round, backend, objects->host, base, &why) < 0) {
        if (why.kind == ERROR_UNAVAILABLE)
            return storage_away(objects, &why);
        *err = why;
        return -1;
    }
    return 0;
}

/* Opened for the check, unless it is open. */
static int check_backend(struct round *round, struct manager_backend backend,
                         const struct work *base, struct error *err) {
    const struct check *check = round->check;
    const char *host = manager_backend_host(round->arena, &backend, check->node);
    struct backend_round objects = { .round = round, .host = host };
    struct known known = { check->db, check->settings, host };
    struct error why = { 0 };
    int result;

    if (backend.handle)
        return check_objects(&objects, &backend, base, err);
    known_set(&backend.settings, &known);
    backend.settings.probe_only = true;
    if (backend.driver->open(&backend.settings, &backend.handle, &why) < 0) {
        if (why.kind != ERROR_UNAVAILABLE) {
            error_pass(err, &why);
            return error_context(err, "backend %s", backend.name);
        }
        if (backend.settings.has_volume(&backend.settings, NULL, NULL) != 0)
            return storage_away(&objects, &why);
        round_note(round, "backend %s has neither storage nor volumes: %s", host, why.message);
        return 0;
    }
    result = check_objects(&objects, &backend, base, err);
    backend.driver->close(backend.handle);
    return result;
}

int check_run(const struct check *check, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(check->settings, arena);
    struct round round = { .check = check, .arena = arena };

    if (work_read(check->db, &base, read_rows, &round, err) < 0)
        return -1;
    for (const struct manager_backend *backend = check->backends; backend && backend->name;
         backend++)
        if (check_backend(&round, *backend, &base, err) < 0)
            return -1;
    for (const struct check_pool *pool = check->pools; pool && pool->name; pool++)
        if (round_check_pool(&round, pool, &base, err) < 0)
            return -1;
    return round.findings;
}
