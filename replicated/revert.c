/*
 * A revert is requested of the config, and done by the controller and a node: it is completed even
 * if its requester has died, and until then there is no connection.
 */
#include "common/clock.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

struct reverting {
    const char *snapshot; /* its name */
    json_int_t number;    /* of the awaited revert; 0: not requested yet */
};

static const json_t *revert_of(const struct replicated_call *call) {
    return json_at(call->config, "status.revert");
}

static json_int_t number_of(const struct replicated_call *call) {
    return json_int_at(revert_of(call), "number");
}

static int request(struct replicated_call *call, struct reverting *reverting, struct error *err) {
    char request[UUID_SIZE];

    if (replicated_change(call,
                          json_pack("{s:{s:{s:s, s:s}}}", "spec", "revert", "snapshotName",
                                    reverting->snapshot, "request",
                                    clock_uuid(&clock_system, request)),
                          err) < 0)
        return -1;
    reverting->number = number_of(call);
    return 0;
}

/* A running earlier request is reused. */
static int revert_step(struct replicated_call *call, void *arg, struct error *err) {
    struct reverting *reverting = arg;
    int found = replicated_read(call, err);
    struct error ignored;
    int64_t done;

    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : replicated_none(call, err);
    if (reverting->number == 0 && json_text_is(revert_of(call), "phase", "Pending") &&
        json_text_is(revert_of(call), "snapshotName", reverting->snapshot))
        reverting->number = number_of(call);
    if (reverting->number == 0)
        return request(call, reverting, err);
    if (reverting->number != number_of(call)) {
        call->over = true;
        return error_set(err, ERROR_CONFLICT, "Another revert of the volume has been requested.");
    }
    if (json_text_is(revert_of(call), "phase", "Done"))
        return 1;
    /* A large one takes long. */
    done = json_int_at(document_fetch_below(&call->api, call->arena, &replicated_configs,
                                            call->name, "volume", "replicated_volume", &ignored),
                       "status.revert.doneBytes");
    if (done > call->moved)
        call->moved = done;
    return 0;
}

int replicated_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot,
                             const struct driver_progress *progress, struct error *err) {
    struct reverting reverting = { .snapshot = replicated_snapshot_name(arena, snapshot) };
    struct replicated_call call;

    if (volume->attached)
        return error_set(err, ERROR_BACKEND, "Volume %s is in use.", volume->id);
    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    call.progress = progress;
    return replicated_walk(&call, revert_step, &reverting, err);
}
