#include "common/clock.h"
#include "common/heap.h"
#include "compute/patience.private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LATE_MOST 12

void errand_free(struct errand *errand) {
    arena_free(errand->arena);
    free(errand);
}

static void run_errand(void *work, const atomic_bool *abandoned) {
    struct errand *errand = *(struct errand **)work;

    (void)abandoned;
    errand->run(errand);
    errand->ended_us = clock_monotonic_us();
}

static void drop_errand(void *work) {
    errand_free(*(struct errand **)work);
}

const struct detached_function errand_function = { .run = run_errand, .drop = drop_errand };

static bool is_hopeless(const struct patience *patience, const char *key) {
    return strcmp(key, ERRAND_DAEMON) != 0 &&
           detached_calls_abandoned(patience->calls) >= LATE_MOST;
}

struct errand *errand_run(struct errand *errand, struct error *err) {
    const struct patience *patience = errand->patience;
    const struct detached_limit limit = { .us = patience->patience_ms * 1000 };
    struct error late;
    int reason = EBUSY;

    error_set(&late, ERROR_UNAVAILABLE, "%s does not answer", errand->key);
    if (!is_hopeless(patience, errand->key))
        reason = detached_call(patience->calls, errand->key, &errand_function, &errand,
                               sizeof(errand), &limit);
    if (reason == 0)
        return errand;
    if (reason != ETIMEDOUT)
        errand_free(errand);
    error_pass(err, &late);
    return NULL;
}

struct errand *errand_new(struct hypervisor *hypervisor, void (*body)(struct errand *errand),
                          const char *instance_uuid, const char *volume_id) {
    struct errand *errand = heap_new(sizeof(*errand));

    errand->patience = (struct patience *)hypervisor;
    errand->run = body;
    errand->arena = arena_new();
    errand->instance_uuid = arena_text(errand->arena, instance_uuid);
    errand->volume_id = arena_text(errand->arena, volume_id);
    errand->key = errand->instance_uuid ? errand->instance_uuid : ERRAND_DAEMON;
    return errand;
}

struct errand *errand_on_disk(struct hypervisor *hypervisor, void (*body)(struct errand *errand),
                              const struct disk *disk, const char *top, const char *base) {
    struct errand *errand = errand_new(hypervisor, body, disk->instance_uuid, NULL);

    errand->disk = *disk;
    errand->top = arena_text(errand->arena, top);
    errand->base = arena_text(errand->arena, base);
    return errand;
}

int errand_end(struct errand *errand, struct error *err) {
    int result = errand->result;

    if (result < 0 && err)
        *err = errand->err;
    errand_free(errand);
    return result;
}
