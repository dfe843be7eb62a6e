/*
 * Reclaiming space is requested of the config, and done by the node of each replica.  Only the last
 * request counts; it continues if its requester has died, and ends when the volume is published.
 */
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/quantity.h"
#include "common/reclaim_phase.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

struct reclaiming {
    json_int_t number; /* of the awaited request; 0: not requested yet */
    int64_t before_bytes;
    const char *waits; /* pools without a result; NULL: not read yet */
};

static int64_t figure(const json_t *object, const char *key) {
    json_int_t value = json_int_at(object, key);

    return value > 0 ? value : 0;
}

static const json_t *reclaim_of(const struct replicated_call *call) {
    return json_at(call->config, "status.reclaim");
}

static const json_t *replicas_of(const struct replicated_call *call, struct error *err) {
    return document_fetch_below(&call->api, call->arena, &replicated_configs, call->name,
                                "replicas", "volume_replicas", err);
}

/* ---- usage ---- */

/* As last reported by its nodes. */
int replicated_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                         int64_t *ret_bytes, struct error *err) {
    struct replicated_call call;
    const json_t *replicas;
    int64_t bytes = 0;
    int found;

    if (replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    found = replicated_read(&call, err);
    if (found <= 0)
        return found < 0 ? -1 : replicated_none(&call, err);
    replicas = replicas_of(&call, err);
    for (size_t i = 0; i < json_array_size(replicas); i++) {
        const json_t *replica = json_array_get(replicas, i);

        if (!json_text_at(replica, "metadata.deletionTimestamp"))
            bytes += json_bytes_at(replica, "status.capacity.used");
    }
    if (replicas)
        *ret_bytes = bytes;
    return replicas ? 0 : -1;
}

/* ---- reclaim ---- */

static int request(struct replicated_call *call, struct reclaiming *reclaiming, struct error *err) {
    char request[UUID_SIZE];

    if (*replicated_node(call)) {
        call->over = true;
        return error_set(err, ERROR_CONFLICT, "The volume is published on node %s.",
                         replicated_node(call));
    }
    if (replicated_change(call,
                          json_pack("{s:{s:{s:s}}}", "spec", "reclaim", "request",
                                    clock_uuid(&clock_system, request)),
                          err) < 0)
        return -1;
    reclaiming->number = figure(reclaim_of(call), "number");
    return 0;
}

/* Of all replicas together; a finished one counts as whole. */
static void note_progress(struct replicated_call *call, struct reclaiming *reclaiming) {
    struct error ignored;
    const char *waits = "";
    const json_t *replicas = replicas_of(call, &ignored);
    int64_t done = 0, all = 0;

    for (size_t i = 0; i < json_array_size(replicas); i++) {
        const json_t *replica = json_array_get(replicas, i);
        const json_t *report = json_at(replica, "status.reclaim");
        const char *pool = json_text_at(replica, "spec.poolName");
        bool is_current = figure(report, "number") == reclaiming->number;
        bool ended = is_current && !json_text_is(report, "phase", RECLAIM_PHASE_PENDING);

        all += replicated_size(call);
        done += ended ? replicated_size(call) : is_current ? figure(report, "doneBytes") : 0;
        if (!ended && pool)
            waits = arena_join(call->arena, waits, *waits ? ", " : "", pool, NULL);
    }
    reclaiming->waits = waits;
    call->done_bytes = done < all ? done : all;
    call->all_bytes = all;
    if (done > call->moved)
        call->moved = done;
}

static int end(struct replicated_call *call, const json_t *reclaim, struct reclaiming *reclaiming,
               struct error *err) {
    const char *message = json_text_of(reclaim, "message");

    call->over = true;
    if (json_text_is(reclaim, "phase", RECLAIM_PHASE_DONE)) {
        reclaiming->before_bytes = figure(reclaim, "beforeBytes");
        return 1;
    }
    return error_set(err,
                     json_text_is(reclaim, "phase", RECLAIM_PHASE_STOPPED) ? ERROR_CONFLICT
                     : json_text_is(reclaim, "reason", RECLAIM_REASON_UNSUPPORTED)
                         ? ERROR_BAD_REQUEST
                         : ERROR_BACKEND,
                     "%s", message ? message : "The replicas have reclaimed nothing.");
}

/* A running earlier request is reused.  The config is read again as long as the disks are scanned:
 * nothing of an earlier read is kept. */
static int reclaim_step(struct replicated_call *call, void *arg, struct error *err) {
    struct reclaiming *reclaiming = arg;
    const json_t *reclaim;
    int found;

    call->config = NULL;
    reclaiming->waits = NULL;
    arena_reset(call->arena);
    found = replicated_read(call, err);
    reclaim = reclaim_of(call);
    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : replicated_none(call, err);
    if (reclaiming->number == 0 && json_text_is(reclaim, "phase", RECLAIM_PHASE_PENDING))
        reclaiming->number = figure(reclaim, "number");
    if (reclaiming->number == 0)
        return request(call, reclaiming, err);
    if (reclaiming->number != figure(reclaim, "number")) {
        call->over = true;
        return error_set(err, ERROR_CONFLICT, "A later request has replaced this one.");
    }
    if (!json_text_is(reclaim, "phase", RECLAIM_PHASE_PENDING))
        return end(call, reclaim, reclaiming, err);
    note_progress(call, reclaiming);
    return 0;
}

int replicated_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_progress *progress, int64_t *ret_before,
                              struct error *err) {
    autoarena struct arena *looks = arena_new();
    struct reclaiming reclaiming = { 0 };
    struct replicated_call call;
    struct error failure;

    if (volume->attached)
        return error_set(err, ERROR_CONFLICT, "Volume %s is in use.", volume->id);
    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    call.progress = progress;
    call.arena = looks;
    if (replicated_walk(&call, reclaim_step, &reclaiming, &failure) == 0) {
        *ret_before = reclaiming.before_bytes;
        return 0;
    }
    if (call.over || failure.kind != ERROR_BACKEND || !reclaiming.waits || !*reclaiming.waits)
        return error_pass(err, &failure);
    /* The timeout does not end it. */
    return error_set(err, ERROR_BACKEND,
                     "Its replicas on %s have not reclaimed their space yet; this continues.",
                     reclaiming.waits);
}
