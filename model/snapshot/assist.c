#include "model/snapshot/assist.h"

#include "model/assist.h"
#include "model/attachment/attachment.h"
#include "model/group/snapshot_part.h"
#include "model/group/snapshot_status.h"
#include "model/group/snapshot_turn.h"
#include "model/operations.h"
#include "model/snapshot/delete.h"
#include "operation/message.h"

static int64_t deadline_of(struct work *work, const struct operation *operation) {
    const struct settings *settings = work->settings;

    return work->clock_us + SECOND_US * (operation->kind == &kind_snapshot_create
                                             ? settings->assisted_create_deadline_s
                                             : settings->assisted_delete_deadline_s);
}

int snapshot_assist_begin(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    struct snapshot_assist *assist = arg;
    struct operation other;
    int found;

    if (volume_details(work, held->volume_id, &assist->volume, err) < 0)
        return -1;
    assist->begun = ASSIST_NO_GUEST;
    if (!assist_guest(&assist->volume))
        return 0;
    found = operation_assisted(work, held->volume_id, &other, err);
    if (found == 0)
        found = group_snapshot_turn_taken(work, held, err);
    if (found < 0)
        return -1;
    assist->begun = found ? ASSIST_LATER : ASSIST_BEGUN;
    if (found)
        return 0;
    if (operation_move(work, held->id, held->owner, PHASE_RUNNING, PHASE_PREPARING, true, err) < 0)
        return -1;
    return operation_set_deadline(work, held->id, deadline_of(work, held), err);
}

int snapshot_assist_ready(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    (void)arg;
    if (operation_move(work, held->id, held->owner, held->phase, PHASE_SENDING, true, err) < 0)
        return -1;
    return operation_set_deadline(work, held->id, deadline_of(work, held), err);
}

int snapshot_assist_sent(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    struct operation as_now = *held;
    struct volume volume;
    int nobody = 1;

    if (volume_attached(work, held->volume_id, &volume, err) < 0)
        return -1;
    /* The reporting guest has left, or its report does not count any more. */
    if (volume_in_use(&volume))
        nobody = group_snapshot_has_failed(work, held, err);
    if (nobody < 0 || (nobody > 0 && operation_end_deadline(work, held, err) < 0))
        return -1;
    if (nobody > 0)
        as_now.deadline = DEADLINE_OVER_US;
    return assist_sent(work, &as_now, arg, err);
}

static int report_own(struct work *work, const struct operation *held, bool failed,
                      struct error *err) {
    if (held->phase == PHASE_PREPARING && snapshot_assist_ready(work, held, NULL, err) < 0)
        return -1;
    return assist_report(work, held, failed, err) < 0 ? -1 : 0;
}

int snapshot_assist_refused(struct work *work, const struct operation *held, void *arg,
                            struct error *err) {
    const struct snapshot_refusal *refusal = arg;

    if (refusal->never_asked && held->kind == &kind_snapshot_delete &&
        snapshot_delete_not_begun(work, held, (char *)(uintptr_t)held->object_id, err) < 0)
        return -1;
    return operation_note_failure(work, held, refusal->failure, err) < 0
               ? -1
               : report_own(work, held, true, err);
}

int snapshot_assist_done(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    (void)arg;
    return report_own(work, held, false, err);
}

int snapshot_assist_continue(struct work *work, const struct operation *held, void *arg,
                             struct error *err) {
    const int64_t *pause_us = arg;

    if (held->deadline == DEADLINE_OVER_US)
        return operation_retry(work, held->id, held->owner, work->clock_us + *pause_us, err) < 0
                   ? -1
                   : 0;
    if (assist_continue(work, held, deadline_of(work, held), err) < 0)
        return -1;
    return message_put_failed_of(work, held, "VOLUME_SNAPSHOT", "009", NULL, err);
}

int snapshot_assist_follow(struct work *work, const struct volume *volume, struct error *err) {
    struct operation operation;
    int found;

    if (volume_in_use(volume))
        return 0;
    found = operation_assisted(work, volume->id, &operation, err);
    return found > 0 ? operation_end_deadline(work, &operation, err) : found;
}
