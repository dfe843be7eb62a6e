#include "model/volume/extend.h"

#include "common/assert.h"
#include "common/scoria_headers.h"
#include "model/attachment/attach_status.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/scheduler/placement.h"
#include "model/type/type.h"
#include "model/volume/image_cache_entry.h"
#include "model/volume/notify.h"
#include "model/volume/quota.h"
#include "operation/message.h"
#include "operation/quota.h"
#include "json/json.h"

#include <string.h>

/* ---- keys for the compute side ---- */

int volume_extend_clear_keys(struct work *work, const char *volume_id, struct error *err) {
    return db_change(work->tx, err,
                     "DELETE FROM volume_admin_metadata WHERE volume_id = $1 AND "
                     "key IN ('" EXTEND_KEY_SIZE "', '" EXTEND_KEY_RESERVATIONS "')",
                     DB_TEXT(volume_id));
}

bool volume_extend_pending(const struct volume *volume) {
    return volume->status == VOLUME_EXTENDING &&
           pairs_get(&volume->admin_metadata, EXTEND_KEY_SIZE);
}

static int check_type_limits(struct work *work, const struct volume *volume, int64_t new_gb,
                             struct error *err) {
    struct volume_type type;

    if (!volume->type_id)
        return 0;
    if (volume_type_row(work, volume->type_id, &type, err) < 0)
        return -1;
    return volume_type_check_size(&type, new_gb, err);
}

/* Space is checked after quota, as clients see it upstream: 202, the volume back in its status, and
 * a message that no backend has the space. */
static int give_up_for_room(struct work *work, const struct volume *volume,
                            const char *operation_id, struct error *err) {
    const struct message message = { .project_id = volume->project_id,
                                     .request_id = work->context->request_id,
                                     .resource_type = "VOLUME",
                                     .resource_uuid = volume->id,
                                     .action_id = kind_extend.message_action,
                                     .detail_id = "003",
                                     .reason = PLACEMENT_NO_SPACE };

    assert(operation_id);
    if (quota_rollback(work, operation_id, err) < 0 ||
        operation_end_of(work, volume->id, err) < 0 ||
        operation_leave(work, volume->id, &kind_extend, volume->status, err) < 0)
        return -1;
    return message_insert(work, &message, err);
}

/* ---- begin ---- */

/* A driver that could not grow the volume has not changed its data. */
static int leave_error(struct work *work, struct volume *volume, struct error *err) {
    const struct status_change change = { .from = VOLUME_ERROR_EXTENDING,
                                          .to = attachment_status_of(volume) };

    assert(volume->status == VOLUME_ERROR_EXTENDING);
    if (status_write(work, &volume_objects, volume->id, &change, err) < 0)
        return -1;
    volume->status = (enum volume_status)change.to;
    return 0;
}

int volume_extend(struct work *work, const struct volume *volume, int64_t new_gb,
                  bool attached_allowed, bool retried, struct error *err) {
    bool retries = retried && volume->status == VOLUME_ERROR_EXTENDING;
    struct volume changed = *volume;
    struct operation fields = { .new_size_gb = new_gb, .at_once = true };
    const char *operation_id;
    int fits;

    if (new_gb < volume->size_gb + !retries)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: New size for extend must be greater than current "
                         "size. (current: %jd, extended: %jd).",
                         (intmax_t)volume->size_gb, (intmax_t)new_gb);
    if (retries && leave_error(work, &changed, err) < 0)
        return -1;
    if (changed.status == VOLUME_IN_USE && !attached_allowed)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s status must be available to extend, but it is "
                         "in-use; extending an attached volume needs microversion 3.42.",
                         volume->id);
    if (check_type_limits(work, volume, new_gb, err) < 0 ||
        placement_check_size(work, volume->host, new_gb, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_EXTEND, err) < 0 ||
        (volume->admin_metadata.count > 0 && volume_extend_clear_keys(work, volume->id, err) < 0))
        return -1;
    assert(new_gb >= volume->size_gb);
    /* Before the operation: so are its evictions. */
    fits = image_cache_yield(work, volume->host, NULL, new_gb - volume->size_gb, err);
    if (fits < 0 || volume_begin(work, &changed, &kind_extend, &fields, &operation_id, err) < 0 ||
        volume_quota_reserve_growth(work, volume, operation_id, new_gb, err) < 0)
        return -1;
    assert(operation_id);
    if (fits == 0)
        return give_up_for_room(work, volume, operation_id, err);
    if (db_run(work->tx, err,
               "UPDATE volumes SET largest_gb = $1 WHERE id = $2 AND largest_gb < $1",
               DB_INT(new_gb), DB_TEXT(volume->id)) < 0 ||
        pool_allocate(work, volume->host, new_gb - volume->size_gb, err) < 0)
        return -1;
    return notification_put(work, "volume.resize.start", &changed, err);
}

/* ---- handing over to the compute side ---- */

static int store_keys(struct work *work, const struct operation *operation, struct error *err) {
    const char *size = arena_format(work->arena, "%jd", (intmax_t)operation->new_size_gb);
    const char *reservations;

    assert(operation->kind == &kind_extend && operation->new_size_gb > 0);
    if (quota_reservation_ids(work, operation->id, &reservations, err) < 0 ||
        volume_admin_metadata_set(work, operation->volume_id, EXTEND_KEY_RESERVATIONS, reservations,
                                  err) < 0)
        return -1;
    return volume_admin_metadata_set(work, operation->volume_id, EXTEND_KEY_SIZE, size, err);
}

int volume_extend_await(struct work *work, const struct operation *held, void *arg,
                        struct error *err) {
    struct extend_await *await = arg;

    assert(held->kind == &kind_extend);
    if (volume_details(work, held->volume_id, &await->volume, err) < 0)
        return -1;
    await->one = attachment_instances(work->arena, &await->volume, NULL) == 1;
    if (!await->one)
        return 0;
    if (operation_move(work, held->id, held->owner, PHASE_RUNNING, PHASE_SENDING, true, err) < 0 ||
        store_keys(work, held, err) < 0)
        return -1;
    return operation_set_deadline(
        work, held->id, work->clock_us + work->settings->extend_deadline_s * SECOND_US, err);
}

int volume_extend_sent(struct work *work, const struct operation *held, void *arg,
                       struct error *err) {
    assert(held->kind == &kind_extend);
    (void)arg;
    if (operation_move(work, held->id, held->owner, PHASE_SENDING, PHASE_WAITING, false, err) < 0)
        return -1;
    /* If the last attachment went meanwhile, the message about that found this worker at it. */
    return held->deadline > work->clock_us ? 0 : operation_notify(work, held, NULL, err);
}

/* ---- reports that may be an earlier extend's ---- */

#define DOUBT_US (86400 * SECOND_US)

static int note_unreported(struct work *work, const struct operation *operation,
                           struct error *err) {
    assert(operation->kind == &kind_extend);
    /* Its event was sent, or may have been, and no report has come. */
    if (operation->phase != PHASE_SENDING && operation->phase != PHASE_WAITING)
        return 0;
    return db_change(work->tx, err, "UPDATE volumes SET extend_unreported_us = $1 WHERE id = $2",
                     DB_INT(work->clock_us), DB_TEXT(operation->volume_id));
}

int volume_extend_is_doubtful(struct work *work, const char *volume_id, struct error *err) {
    int64_t unreported_us = 0;

    if (db_query_int(work->tx, &unreported_us, err,
                     "SELECT COALESCE(extend_unreported_us, 0) FROM volumes WHERE id = $1",
                     DB_TEXT(volume_id)) < 0)
        return -1;
    return unreported_us > 0 && work->clock_us - unreported_us < DOUBT_US;
}

int volume_extend_wait_on(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    struct volume volume;

    assert(held->kind == &kind_extend);
    (void)arg;
    if (volume_details(work, held->volume_id, &volume, err) < 0 ||
        operation_move(work, held->id, held->owner, PHASE_COMPLETING, PHASE_WAITING, false, err) <
            0 ||
        store_keys(work, held, err) < 0)
        return -1;
    /* the last guest may have gone since its report: that ended no deadline */
    if (attachment_instances(work->arena, &volume, NULL) == 0)
        return operation_end_deadline(work, held, err);
    return held->deadline > work->clock_us ? 0 : operation_notify(work, held, NULL, err);
}

/* ---- the compute side's report ---- */

static int refuse_completion(const struct volume *volume, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s %s.", volume->id, why);
}

/* R8–R12: the conditions for a completion to be awaited. */
static int check_awaited(struct work *work, const struct volume *volume, struct error *err) {
    const char *size = pairs_get(&volume->admin_metadata, EXTEND_KEY_SIZE);
    const char *reservations = pairs_get(&volume->admin_metadata, EXTEND_KEY_RESERVATIONS);
    struct error ignored;
    int64_t new_gb;
    json_t *list;

    if (volume->status != VOLUME_EXTENDING)
        return refuse_completion(volume, "is not being extended", err);
    if (!size || !reservations)
        return refuse_completion(volume, "does not wait for an extend to be completed", err);
    if (!json_digits(size, &new_gb))
        return refuse_completion(volume, "has no whole number in " EXTEND_KEY_SIZE, err);
    if (new_gb <= volume->size_gb)
        return refuse_completion(volume, "is not smaller than its " EXTEND_KEY_SIZE, err);
    list = json_parse(work->arena, reservations, strlen(reservations), &ignored);
    if (!json_is_array(list))
        return refuse_completion(volume, "has no list in " EXTEND_KEY_RESERVATIONS, err);
    return 0;
}

int volume_extend_awaited(struct work *work, const struct volume *volume, const char **ret_id,
                          struct error *err) {
    struct operation operation;
    int found;

    *ret_id = NULL;
    if (!volume_extend_pending(volume))
        return 0;
    found = operation_of(work, volume->id, &operation, err);
    if (found > 0)
        *ret_id = operation.id;
    return found < 0 ? -1 : 0;
}

bool volume_extend_is(struct work *work, const struct volume *volume, int64_t new_gb,
                      const json_t *reservations) {
    const char *size = pairs_get(&volume->admin_metadata, EXTEND_KEY_SIZE);
    const char *list = pairs_get(&volume->admin_metadata, EXTEND_KEY_RESERVATIONS);
    const json_t *stored;
    struct error ignored;
    int64_t awaited_gb;

    if (!size || !list || !json_digits(size, &awaited_gb) || awaited_gb != new_gb)
        return false;
    stored = json_parse(work->arena, list, strlen(list), &ignored);
    return stored && json_equal(stored, reservations);
}

int volume_extend_completion(struct work *work, const struct volume *volume, const char *extend_id,
                             bool failed, struct error *err) {
    struct operation operation;
    int found, taken;

    if (check_awaited(work, volume, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_COMPLETE_EXTEND, err) < 0)
        return -1;
    found = operation_of(work, volume->id, &operation, err);
    if (found < 0)
        return -1;
    if (found > 0 && extend_id && strcmp(operation.id, extend_id) != 0)
        return refuse_completion(volume, "waits for another extend to be completed", err);
    /* A compute service without the operation's id reports only the volume; the object shows the
     * outcome. */
    if (!extend_id && failed &&
        error_if_any(volume_extend_is_doubtful(work, volume->id, err), err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s had an earlier extend that was never reported, and "
                     "this report names neither: without " EXTEND_HEADER
                     " the size of the volume decides at the deadline.",
                     volume->id) < 0)
        return -1;
    taken = found > 0 && operation.kind == &kind_extend
                ? operation_report(work, &operation, failed, err)
                : 0;
    if (taken < 0)
        return -1;
    if (taken == 0)
        return refuse_completion(volume, "does not wait for an extend to be completed", err);
    if (volume_extend_clear_keys(work, volume->id, err) < 0)
        return -1;
    return operation_notify(work, &operation, "extend_volume_completion", err);
}

/* ---- finish ---- */

/* The possible size of the object (X24): the largest size that was ever seen or requested.  It is
 * never lowered: a stopped guest may later grow to a size that was requested before the verdict. */
static int write_sizes(struct work *work, const struct volume *volume, int64_t size_gb,
                       int64_t real_gb, struct error *err) {
    int64_t largest_gb = volume->largest_gb > real_gb ? volume->largest_gb : real_gb;

    return db_change(
        work->tx, err, "UPDATE volumes SET size_gb = $1, largest_gb = $2 WHERE id = $3",
        DB_INT(size_gb), DB_INT(largest_gb > size_gb ? largest_gb : size_gb), DB_TEXT(volume->id));
}

static int settle_grown(struct work *work, const struct volume *volume,
                        const struct operation *operation, int64_t real_gb, struct error *err) {
    int counted = quota_commit(work, operation->id, err);

    assert(operation->new_size_gb > 0);
    if (counted < 0 || write_sizes(work, volume, operation->new_size_gb, real_gb, err) < 0)
        return -1;
    /* X9: reservations that were removed from outside must not make the growth free. */
    if (volume->use_quota && counted == 0 &&
        quota_recount_project(work, volume_quota_in_use, volume->project_id, err) < 0)
        return -1;
    return 0;
}

static int settle_failed(struct work *work, const struct volume *volume,
                         const struct operation *operation, const struct extend_ending *ending,
                         struct error *err) {
    struct operation owners = *operation;

    if (quota_rollback(work, operation->id, err) < 0 ||
        pool_allocate(work, volume->host, volume->size_gb - operation->new_size_gb, err) < 0 ||
        write_sizes(work, volume, volume->size_gb, ending->real_gb, err) < 0)
        return -1;
    owners.project_id = volume->project_id;
    return message_put_failed(work, &owners,
                              ending->verdict == EXTEND_COMPUTE_FAILED ? "009" : "010",
                              ending->failure, err);
}

/* The one finish of every extend: size, quota, status, keys, reservation, pool figures,
 * operation. */
static int extend_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct extend_ending *ending = arg;
    bool grown = ending->verdict == EXTEND_GROWN;
    unsigned status = held->kind->on_failure;
    struct volume volume;

    assert(held->kind == &kind_extend);
    if (volume_details(work, held->volume_id, &volume, err) < 0) {
        if (err->kind != ERROR_NOT_FOUND || quota_rollback(work, held->id, err) < 0) /* X6 */
            return -1;
        return operation_end(work, held, err);
    }
    if (grown)
        status = attachment_status_of(&volume);
    if ((grown ? settle_grown(work, &volume, held, ending->real_gb, err)
               : settle_failed(work, &volume, held, ending, err)) < 0 ||
        (volume.admin_metadata.count > 0 && volume_extend_clear_keys(work, volume.id, err) < 0) ||
        (!ending->refused && note_unreported(work, held, err) < 0) ||
        operation_end(work, held, err) < 0 ||
        operation_leave(work, volume.id, held->kind, status, err) < 0)
        return -1;
    if (!grown)
        return 0;
    volume.size_gb = held->new_size_gb;
    volume.status = status;
    if (notification_put(work, "volume.resize.end", &volume, err) < 0)
        return -1;
    return held->phase == PHASE_RUNNING ? volume_notify(work, &volume, err) : 0;
}

/* ---- for other operations ---- */

static int extend_cancel(struct work *work, const struct operation *operation, struct error *err) {
    struct volume volume;

    assert(operation->kind == &kind_extend && operation->new_size_gb > 0);
    if (volume_extend_clear_keys(work, operation->volume_id, err) < 0 ||
        note_unreported(work, operation, err) < 0 ||
        volume_row(work, operation->volume_id, &volume, err) < 0 ||
        quota_rollback(work, operation->id, err) < 0)
        return -1;
    return pool_allocate(work, volume.host, volume.size_gb - operation->new_size_gb, err);
}

/* X30: no guest is left to report; one that has only reserved gets no event.  X21: a guest may be
 * where the event never came. */
static int extend_reevaluate(struct work *work, const struct operation *operation,
                             struct error *err) {
    struct volume volume;

    assert(operation->kind == &kind_extend);
    if (volume_details(work, operation->volume_id, &volume, err) < 0)
        return -1;
    if (attachment_instances(work->arena, &volume, NULL) == 0)
        return operation_end_deadline(work, operation, err);
    return volume_extend_pending(&volume) ? volume_notify_attached(work, &volume, err) : 0;
}

const struct operation_kind kind_extend = {
    .name = "extend",
    .method = "extend_volume",
    .message_action = "007",
    .object = &volume_objects,
    .may_start_from = ST(AVAILABLE) | ST(IN_USE),
    .meanwhile = VOLUME_EXTENDING,
    .on_failure = VOLUME_ERROR_EXTENDING,
    .is = { [PHASE_QUEUED] = WORK_GROWS,
            [PHASE_RUNNING] = WORK_GROWS,
            [PHASE_SENDING] = WORK_AWAITS,
            [PHASE_WAITING] = WORK_AWAITS,
            [PHASE_COMPLETING] = WORK_GROWS },
    .finish = extend_finish,
    .cancel = extend_cancel,
    .reevaluate = extend_reevaluate,
};
