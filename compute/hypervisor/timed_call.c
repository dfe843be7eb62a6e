#include "common/clock.h"
#include "common/heap.h"
#include "compute/hypervisor/timed_hypervisor.private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LATE_MOST 12

void timed_call_free(struct timed_call *call) {
    arena_free(call->arena);
    free(call);
}

static void run_call(void *work, const atomic_bool *abandoned) {
    struct timed_call *call = *(struct timed_call **)work;

    (void)abandoned;
    call->run(call);
    call->ended_us = clock_monotonic_us();
}

static void drop_call(void *work) {
    timed_call_free(*(struct timed_call **)work);
}

const struct detached_function timed_call_function = { .run = run_call, .drop = drop_call };

struct timed_call *timed_call_run(struct timed_call *call, struct error *err) {
    const struct timed_hypervisor *timed = call->timed;
    const struct detached_limit limit = { .us = timed->timeout_ms * 1000 };
    struct error late;
    int reason = EBUSY;

    error_set(&late, ERROR_UNAVAILABLE, "%s does not respond", call->key);
    if (strcmp(call->key, TIMED_CALL_DAEMON) == 0 ||
        detached_calls_abandoned(timed->calls) < LATE_MOST)
        reason = detached_call(timed->calls, call->key, &timed_call_function, &call, sizeof(call),
                               &limit);
    if (reason == 0)
        return call;
    if (reason != ETIMEDOUT)
        timed_call_free(call);
    error_pass(err, &late);
    return NULL;
}

struct timed_call *timed_call_new(struct hypervisor *hypervisor,
                                  void (*body)(struct timed_call *call), const char *instance_uuid,
                                  const char *volume_id) {
    struct timed_call *call = heap_new(sizeof(*call));

    call->timed = (struct timed_hypervisor *)hypervisor;
    call->run = body;
    call->arena = arena_new();
    call->instance_uuid = arena_text(call->arena, instance_uuid);
    call->volume_id = arena_text(call->arena, volume_id);
    call->key = call->instance_uuid ? call->instance_uuid : TIMED_CALL_DAEMON;
    return call;
}

struct timed_call *timed_call_on_disk(struct hypervisor *hypervisor,
                                      void (*body)(struct timed_call *call),
                                      const struct disk *disk, const char *top, const char *base) {
    struct timed_call *call = timed_call_new(hypervisor, body, disk->instance_uuid, NULL);

    call->disk = *disk;
    call->top = arena_text(call->arena, top);
    call->base = arena_text(call->arena, base);
    return call;
}

int timed_call_end(struct timed_call *call, struct error *err) {
    int result = call->result;

    if (result < 0 && err)
        *err = call->err;
    timed_call_free(call);
    return result;
}
