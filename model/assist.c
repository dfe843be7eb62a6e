#include "model/assist.h"

#include "model/attachment/attachment.h"
#include "operation/service.h"

const struct attachment *assist_guest(const struct volume *volume) {
    return volume->attachment_count == 1 && volume->attachments[0].instance_uuid &&
                   attachment_in_use(&volume->attachments[0])
               ? &volume->attachments[0]
               : NULL;
}

int assist_host_is_down(struct work *work, const struct volume *volume, struct error *err) {
    const struct attachment *guest = assist_guest(volume);
    struct service agent;
    int found = guest && guest->attached_host
                    ? service_find(work, SERVICE_COMPUTE, guest->attached_host, &agent, err)
                    : 0;

    return found > 0 ? !agent.up : found;
}

/* ---- a silent host ---- */

#define SILENCE_US      (20 * SECOND_US) /* tolerated first */
#define SILENCE_MOST_US (240 * SECOND_US)

/* In the operation's arguments, where the request may be repeated: the final deadline of its
 * report, and the length of a silence. */
struct deadlines {
    int64_t until_us, silence_us;
};

static bool read_patience(struct arena *arena, const struct operation *operation,
                          struct deadlines *ret) {
    const json_t *arguments = operation_arguments(arena, operation);

    *ret = (struct deadlines){
        .until_us = json_integer_value(json_object_get(arguments, "until_us")),
        .silence_us = json_integer_value(json_object_get(arguments, "silence_us")),
    };
    return ret->until_us > 0;
}

static int expect_sign(struct work *work, const struct operation *operation,
                       struct deadlines patience, struct error *err) {
    int64_t next_us = work->clock_us + patience.silence_us;

    return operation_await(work, operation,
                           next_us < patience.until_us ? next_us : patience.until_us,
                           arena_format(work->arena, "{\"until_us\": %jd, \"silence_us\": %jd}",
                                        (intmax_t)patience.until_us, (intmax_t)patience.silence_us),
                           err);
}

bool assist_repeats(struct arena *arena, const struct operation *operation, int64_t now_us) {
    struct deadlines patience;

    return operation->deadline != DEADLINE_OVER_US && read_patience(arena, operation, &patience) &&
           now_us < patience.until_us;
}

int assist_progressed(struct work *work, const struct operation *operation, struct error *err) {
    struct deadlines patience;

    if (operation->deadline == DEADLINE_OVER_US ||
        !read_patience(work->arena, operation, &patience))
        return 0;
    patience.silence_us = SILENCE_US;
    return expect_sign(work, operation, patience, err);
}

/* The worker releases it.  With `over`, the message about that found the worker at it. */
static int let_go(struct work *work, const struct operation *held, bool over, struct error *err) {
    if (operation_move(work, held->id, held->owner, held->phase, PHASE_WAITING, false, err) < 0)
        return -1;
    return over ? operation_notify(work, held, NULL, err) : 0;
}

int assist_silent(struct work *work, const struct operation *held, void *arg, struct error *err) {
    const bool *longer = arg;
    struct deadlines patience;

    /* Unless a report came meanwhile, or none will come. */
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

/* ---- request sent ---- */

int assist_sent(struct work *work, const struct operation *held, void *arg, struct error *err) {
    const bool *again = arg;
    const struct deadlines patience = { held->deadline, SILENCE_US };
    bool over = held->deadline <= work->clock_us;

    if (*again && !over && expect_sign(work, held, patience, err) < 0)
        return -1;
    return let_go(work, held, over, err);
}

int assist_continue(struct work *work, const struct operation *held, int64_t until_us,
                    struct error *err) {
    struct deadlines patience;
    bool again = read_patience(work->arena, held, &patience);

    if ((again ? expect_sign(work, held, (struct deadlines){ until_us, SILENCE_US }, err)
               : operation_await(work, held, until_us, NULL, err)) < 0)
        return -1;
    return let_go(work, held, false, err);
}

/* ---- its report ---- */

int assist_report(struct work *work, const struct operation *operation, bool failed,
                  struct error *err) {
    int taken = operation_report(work, operation, failed, err);

    return taken <= 0 ? taken : operation_notify(work, operation, NULL, err) < 0 ? -1 : 1;
}
