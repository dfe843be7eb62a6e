#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "compute/patience.private.h"

#include <stdlib.h>
#include <string.h>

#define LATE_MOST 12

void errand_free(struct errand *errand) {
    arena_free(errand->arena);
    free(errand);
}

void patience_destroy(struct patience *patience) {
    patience->inner->free(patience->inner);
    pthread_cond_destroy(&patience->changed);
    pthread_mutex_destroy(&patience->lock);
    free(patience);
}

static void *run_errand(void *arg) {
    struct errand *errand = arg;
    struct patience *patience = errand->patience;
    bool last;

    errand->run(errand);
    pthread_mutex_lock(&patience->lock);
    errand->done = true;
    errand->ended_us = clock_monotonic_us();
    if (errand->trim ? !patience->freed : !errand->late) {
        pthread_cond_broadcast(&patience->changed);
        pthread_mutex_unlock(&patience->lock);
        return NULL;
    }
    LIST_REMOVE(errand, next);
    if (!errand->trim)
        patience->late--;
    last = patience->freed && LIST_EMPTY(&patience->errands);
    pthread_mutex_unlock(&patience->lock);
    errand_free(errand);
    if (last)
        patience_destroy(patience);
    return NULL;
}

/* With the lock. */
static bool is_hopeless(const struct patience *patience, const char *key) {
    const struct errand *errand;

    LIST_FOREACH(errand, &patience->errands, next) {
        if (errand->late && strcmp(errand->key, key) == 0)
            return true;
    }
    return strcmp(key, ERRAND_DAEMON) != 0 && patience->late >= LATE_MOST;
}

/* With the lock; the errand is late when it is not done afterwards. */
static void wait_for(struct errand *errand) {
    struct patience *patience = errand->patience;
    int64_t due_us = clock_monotonic_us() + patience->patience_ms * 1000;

    while (!errand->done && thread_cond_wait(&patience->changed, &patience->lock, due_us))
        ;
    if (errand->done) {
        LIST_REMOVE(errand, next);
        return;
    }
    errand->late = true;
    patience->late++;
}

int errand_start(struct errand *errand) {
    pthread_t thread;

    if (thread_start(&thread, "hypervisor", run_errand, errand) != 0)
        return -1;
    pthread_detach(thread);
    LIST_INSERT_HEAD(&errand->patience->errands, errand, next);
    return 0;
}

struct errand *errand_run(struct errand *errand, struct error *err) {
    struct patience *patience = errand->patience;
    bool began, done;

    pthread_mutex_lock(&patience->lock);
    began = !is_hopeless(patience, errand->key) && errand_start(errand) == 0;
    if (began)
        wait_for(errand);
    done = began && errand->done;
    if (!done)
        error_set(err, ERROR_UNAVAILABLE, "%s does not answer", errand->key);
    pthread_mutex_unlock(&patience->lock);
    if (!began)
        errand_free(errand);
    return done ? errand : NULL;
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
