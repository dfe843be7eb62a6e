#include "model/volume/reclaim.h"

#include "common/assert.h"
#include "model/attachment/attach_status.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"
#include "operation/message.h"

/* ---- the row ---- */

static int read_row(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    (void)err;
    *(struct reclaim *)ret = (struct reclaim){
        .status = db_copy(rows, 0, work->arena),
        .reason = db_copy(rows, 1, work->arena),
        .message = db_copy(rows, 2, work->arena),
        .progress = db_int(rows, 3),
        .pre_usage = db_is_null(rows, 4) ? -1 : db_int(rows, 4),
        .post_usage = db_is_null(rows, 5) ? -1 : db_int(rows, 5),
        .started_at = db_int(rows, 6),
        .finished_at = db_int(rows, 7),
    };
    return 0;
}

int volume_reclaim_last(struct work *work, const char *volume_id, struct reclaim *ret,
                        struct error *err) {
    struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT outcome, reason, message, progress, pre_usage, post_usage, started_at, "
                 "finished_at FROM reclaims WHERE volume_id = $1",
                 DB_TEXT(volume_id));
    int found = query_one(work, rows, read_row, ret, err);

    if (found == 0)
        *ret = (struct reclaim){ .status = "none", .pre_usage = -1, .post_usage = -1 };
    return found < 0 ? -1 : 0;
}

static int write_failure(struct work *work, const char *volume_id, const char *reason,
                         const char *message, struct error *err) {
    assert(volume_id && reason);
    return db_change(work->tx, err,
                     "UPDATE reclaims SET outcome = 'error', reason = $1, message = $2, "
                     "finished_at = $3 WHERE volume_id = $4",
                     DB_TEXT(reason), DB_TEXT(message), DB_INT(work->now_us), DB_TEXT(volume_id));
}

/* ---- begin ---- */

/* A temporary reason is ERROR_CONFLICT. */
static int check(struct work *work, const struct volume *volume, struct error *err) {
    int keeps;

    if (!volume->host || !volume->provider_location)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s has nothing on a backend to be reclaimed.",
                         volume->id);
    if (pool_demand(work, volume->host, DRIVER_RECLAIM,
                    "Invalid volume: The backend of this volume cannot reclaim space: its file "
                    "system or its copies do not support it, its locks are not shared, or its "
                    "volumes allocate all their space at once.",
                    err) < 0)
        return -1;

    if (volume->status == VOLUME_IN_USE && !volume_is_migrating(volume)) {
        keeps = pool_has_capability(work, volume->host, POOL_KEEPS_DISCARDS, err);
        return keeps == 0 ? reclaim_trim_check(work, volume, err)
                          : error_if_any(keeps, err, ERROR_BAD_REQUEST,
                                         "Invalid volume: Discards of a guest on volume %s have no "
                                         "effect: its backend reclaims space of detached volumes, "
                                         "and of one in use the zeros that are written to it.",
                                         volume->id);
    }
    if (volume->status == VOLUME_AVAILABLE && !volume_is_migrating(volume))
        return 0;
    return error_set(
        err, ERROR_CONFLICT, "Volume %s must be available or in-use to be reclaimed, but it is %s.",
        volume->id, volume_is_migrating(volume) ? "migrating" : status_shown(volume->status));
}

int volume_reclaim(struct work *work, const struct volume *volume, struct error *err) {
    struct volume changed = *volume;
    struct error why = { .kind = ERROR_NONE };
    int64_t open = 0;

    if (check(work, volume, err) < 0 ||
        operation_count(work, volume->id, &kind_connect, &open, err) < 0)
        return -1;
    /* A host that is being connected may write at any moment, although no status shows that yet. */
    if (open > 0)
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s cannot be reclaimed before its connect has ended.", volume->id);
    if (conflict_resolve(work, volume->id, ACTION_RECLAIM, &why) < 0) /* a later one may succeed */
        return why.kind == ERROR_BAD_REQUEST ? error_set(err, ERROR_CONFLICT, "%s", why.message)
                                             : error_pass(err, &why);
    if (volume_begin(work, &changed, &kind_reclaim, NULL, NULL, err) < 0 ||
        db_run(work->tx, err, "DELETE FROM reclaims WHERE volume_id = $1", DB_TEXT(volume->id)) <
            0 ||
        db_change(work->tx, err,
                  "INSERT INTO reclaims (volume_id, outcome, progress, started_at) "
                  "VALUES ($1, 'running', 0, $2)",
                  DB_TEXT(volume->id), DB_INT(work->now_us)) < 0)
        return -1;
    return notification_put(work, "volume.reclaim_space.start", &changed, err);
}

/* ---- progress ---- */

int volume_reclaim_measured(struct work *work, const struct operation *held, void *arg,
                            struct error *err) {
    const int64_t *bytes = arg;

    return db_run(work->tx, err,
                  "UPDATE reclaims SET pre_usage = $1 WHERE volume_id = $2 AND pre_usage IS NULL",
                  DB_INT(*bytes), DB_TEXT(held->volume_id)) < 0
               ? -1
               : 0;
}

static int reclaim_progress(struct work *work, const struct operation *held, void *arg,
                            struct error *err) {
    const int *percent = arg;

    assert(*percent >= 0 && *percent <= 100);
    return db_change(work->tx, err, "UPDATE reclaims SET progress = $1 WHERE volume_id = $2",
                     DB_INT(*percent), DB_TEXT(held->volume_id));
}

/* ---- finish ---- */

static int reclaim_finish(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    const struct reclaim_ending *ending = arg;
    struct volume volume;

    assert(held->kind == &kind_reclaim);
    if (volume_details(work, held->volume_id, &volume, err) < 0 ||
        operation_end(work, held, err) < 0 ||
        operation_leave(work, volume.id, held->kind, attachment_status_of(&volume), err) < 0)
        return -1;
    if (ending->failure) {
        bool cannot = ending->failure->kind == ERROR_BAD_REQUEST;
        bool busy = ending->failure->kind == ERROR_CONFLICT;

        if (write_failure(work, held->volume_id,
                          cannot ? "unsupported"
                          : busy ? "busy"
                                 : "failed",
                          ending->failure->message, err) < 0)
            return -1;
        return message_put_failed(work, held,
                                  cannot ? "909"
                                  : busy ? "027"
                                         : "908",
                                  ending->failure, err);
    }
    if (db_change(work->tx, err,
                  "UPDATE reclaims SET outcome = 'done', progress = 100, post_usage = $1, "
                  "finished_at = $2, "
                  "pre_usage = CASE WHEN $4 > 0 THEN $4 ELSE pre_usage END WHERE volume_id = $3",
                  DB_INT(ending->post_usage), DB_INT(work->now_us), DB_TEXT(volume.id),
                  DB_INT(ending->pre_usage)) < 0)
        return -1;
    return notification_of(work, "volume.reclaim_space.end", volume.id, err);
}

/* ---- for other operations ---- */

int volume_reclaim_yield(struct work *work, struct volume *volume, enum volume_action action,
                         struct error *err) {
    if (volume->status != VOLUME_RECLAIMING)
        return 0;
    if (conflict_resolve(work, volume->id, action, err) < 0 ||
        operation_leave(work, volume->id, &kind_reclaim, attachment_status_of(volume), err) < 0)
        return -1;
    return volume_details(work, volume->id, volume, err);
}

static int reclaim_still_valid(struct work *work, const struct operation *operation,
                               struct error *err) {
    struct volume volume;

    if (volume_row(work, operation->volume_id, &volume, err) < 0)
        return -1;
    return volume.status == VOLUME_RECLAIMING;
}

/* The space reclaimed so far stays reclaimed. */
static int reclaim_cancel(struct work *work, const struct operation *operation, struct error *err) {
    return write_failure(work, operation->volume_id, "cancelled", "It was cancelled.", err);
}

const struct operation_kind kind_reclaim = {
    .name = "reclaim",
    .method = "reclaim_space",
    .message_action = "906",
    .object = &volume_objects,
    .may_start_from = ST(AVAILABLE) | ST(IN_USE),
    .meanwhile = VOLUME_RECLAIMING,
    .on_failure = VOLUME_AVAILABLE,
    .is = { [PHASE_QUEUED] = WORK_RECLAIMS,
            [PHASE_RUNNING] = WORK_RECLAIMS,
            [PHASE_SENDING] = WORK_RECLAIMS,
            [PHASE_WAITING] = WORK_RECLAIMS,
            [PHASE_COMPLETING] = WORK_RECLAIMS,
            [PHASE_CANCELLED] = WORK_YIELDS },
    .still_valid = reclaim_still_valid,
    .progress = reclaim_progress,
    .finish = reclaim_finish,
    .cancel = reclaim_cancel,
    .reevaluate = reclaim_trim_reevaluate,
};
