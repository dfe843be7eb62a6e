#include "volume/snapshot_assist.h"

#include "ledger/message.h"
#include "volume/attachment.h"
#include "volume/group_snapshot_status.h"
#include "volume/operations.h"
#include "volume/snapshot_delete.h"

#include <string.h>

#define SILENCE_US      (20 * SECOND_US) /* that is borne first */
#define SILENCE_MOST_US (240 * SECOND_US)

const struct attachment *snapshot_assist_guest(const struct volume *volume) {
    return volume->attachment_count == 1 && volume->attachments[0].instance_uuid &&
                   attachment_in_use(&volume->attachments[0])
               ? &volume->attachments[0]
               : NULL;
}

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
    if (!snapshot_assist_guest(&assist->volume))
        return 0;
    found = operation_assisted(work, held->volume_id, &other, err);
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

/* ---- a host that is silent ---- */

/* In the operation's arguments, where the host may be asked again: until when its report is waited
 * for in all, and how long a silence. */
struct patience {
    int64_t until_us, silence_us;
};

static bool read_patience(struct arena *arena, const struct operation *operation,
                          struct patience *ret) {
    const json_t *arguments = operation_arguments(arena, operation);

    *ret = (struct patience){
        .until_us = json_integer_value(json_object_get(arguments, "until_us")),
        .silence_us = json_integer_value(json_object_get(arguments, "silence_us")),
    };
    return ret->until_us > 0;
}

static int expect_sign(struct work *work, const struct operation *operation,
                       struct patience patience, struct error *err) {
    int64_t next_us = work->clock_us + patience.silence_us;

    return operation_await(work, operation,
                           next_us < patience.until_us ? next_us : patience.until_us,
                           arena_format(work->arena, "{\"until_us\": %jd, \"silence_us\": %jd}",
                                        (intmax_t)patience.until_us, (intmax_t)patience.silence_us),
                           err);
}

bool snapshot_assist_asks_again(struct arena *arena, const struct operation *operation,
                                int64_t now_us) {
    struct patience patience;

    return operation->deadline != DEADLINE_OVER_US && read_patience(arena, operation, &patience) &&
           now_us < patience.until_us;
}

int snapshot_assist_heard(struct work *work, const struct operation *operation, struct error *err) {
    struct patience patience;

    if (operation->deadline == DEADLINE_OVER_US ||
        !read_patience(work->arena, operation, &patience))
        return 0;
    patience.silence_us = SILENCE_US;
    return expect_sign(work, operation, patience, err);
}

/* The worker lets go.  When it is `over`, the message that said so found it at it. */
static int let_go(struct work *work, const struct operation *held, bool over, struct error *err) {
    if (operation_move(work, held->id, held->owner, held->phase, PHASE_WAITING, false, err) < 0)
        return -1;
    return over ? operation_notify(work, held, NULL, err) : 0;
}

int snapshot_assist_silent(struct work *work, const struct operation *held, void *arg,
                           struct error *err) {
    const bool *longer = arg;
    struct patience patience;

    /* Unless somebody was heard meanwhile, or nobody will be. */
    if (held->deadline != DEADLINE_OVER_US && held->deadline <= work->clock_us &&
        read_patience(work->arena, held, &patience)) {
        if (*longer)
            patience.silence_us *= 2;
        if (patience.silence_us > SILENCE_MOST_US)
            patience.silence_us = SILENCE_MOST_US;
        if (expect_sign(work, held, patience, err) < 0)
            return -1;
    }
    return let_go(work, held, held->deadline == DEADLINE_OVER_US, err);
}

/* ---- asked ---- */

int snapshot_assist_sent(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const bool *again = arg;
    const struct patience patience = { held->deadline, SILENCE_US };
    bool over = held->deadline <= work->clock_us;

    if (*again && !over && expect_sign(work, held, patience, err) < 0)
        return -1;
    return let_go(work, held, over, err);
}

int snapshot_assist_report(struct work *work, const struct operation *operation, bool failed,
                           struct error *err) {
    int taken = operation_report(work, operation, failed, err);

    return taken <= 0 ? taken : operation_notify(work, operation, NULL, err) < 0 ? -1 : 1;
}

static int report_own(struct work *work, const struct operation *held, bool failed,
                      struct error *err) {
    if (held->phase == PHASE_PREPARING && snapshot_assist_ready(work, held, NULL, err) < 0)
        return -1;
    return snapshot_assist_report(work, held, failed, err) < 0 ? -1 : 0;
}

int snapshot_assist_refused(struct work *work, const struct operation *held, void *arg,
                            struct error *err) {
    const bool *never_asked = arg;

    if (*never_asked && held->kind == &kind_snapshot_delete &&
        snapshot_delete_not_begun(work, held, (char *)(uintptr_t)held->object_id, err) < 0)
        return -1;
    return report_own(work, held, true, err);
}

int snapshot_assist_done(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    (void)arg;
    return report_own(work, held, false, err);
}

int snapshot_assist_stay(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    struct patience patience;
    int64_t until_us = deadline_of(work, held);
    int again = read_patience(work->arena, held, &patience);

    (void)arg;
    if ((again ? expect_sign(work, held, (struct patience){ until_us, SILENCE_US }, err)
               : operation_await(work, held, until_us, NULL, err)) < 0 ||
        let_go(work, held, false, err) < 0)
        return -1;
    return message_put_of(work, held->project_id, held->request_id, "VOLUME_SNAPSHOT",
                          held->object_id, held->kind->message_action, "009", err);
}

static int is_assisted(struct work *work, const char *volume_id, const struct operation *but,
                       struct error *err) {
    struct operation other;
    int found = operation_assisted(work, volume_id, &other, err);

    return found > 0 ? strcmp(other.id, but->id) != 0 : found;
}

/* What is read, when it is not of the volume itself: another volume, or a snapshot. */
static int find_source(struct work *work, const struct operation *operation, const char **ret,
                       struct error *err) {
    struct snapshot snapshot;

    *ret = operation->turn_of;
    if (snapshot_row(work, operation->turn_of, &snapshot, err) == 0)
        *ret = snapshot.volume_id;
    else if (err->kind != ERROR_NOT_FOUND)
        return -1;
    return 0;
}

static int is_member_assisted(struct work *work, const struct operation *operation,
                              struct error *err) {
    struct snapshot *snapshots;
    int count = snapshot_of_group(work, operation->object_id, &snapshots, err);
    int assisted = count < 0 ? -1 : 0;

    for (int i = 0; i < count && assisted == 0; i++)
        assisted = is_assisted(work, snapshots[i].volume_id, operation, err);
    return assisted;
}

int snapshot_assist_blocks(struct work *work, const struct operation *operation,
                           struct error *err) {
    const char *source;
    int blocked;

    if (operation->phase == PHASE_CANCELLED || operation->kind->is[PHASE_RUNNING] == 0)
        return 0;
    if (operation->kind->object == &group_snapshot_objects)
        return is_member_assisted(work, operation, err);
    blocked = is_assisted(work, operation->volume_id, operation, err);
    if (blocked != 0 || !operation->turn_of || operation->kind->object != &volume_objects ||
        strcmp(operation->turn_of, operation->volume_id) == 0)
        return blocked;
    return find_source(work, operation, &source, err) < 0
               ? -1
               : is_assisted(work, source, operation, err);
}

int snapshot_assist_follow(struct work *work, const struct volume *volume, struct error *err) {
    struct operation operation;
    int found;

    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (attachment_in_use(&volume->attachments[i]))
            return 0;
    found = operation_assisted(work, volume->id, &operation, err);
    return found > 0 ? operation_hurry(work, &operation, err) : found;
}
