#include "compute/patience.h"

#include "common/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#define LATE_MOST  12
#define STACK_SIZE ((size_t)256 * 1024)
#define DAEMON     "libvirt" /* the key of calls that ask no guest */

/* Belongs to who waits for it, from the moment that it is late to its own thread. */
struct call {
    LIST_ENTRY(call) next;
    struct patience *patience;
    void (*run)(struct call *call);
    struct arena *arena;
    const char *key; /* who is asked */
    const char *instance_uuid, *volume_id;
    struct disk disk; /* that is asked for, and the answer */
    int64_t bytes;
    const char *const *list;
    int result;
    struct error err;
    bool done, late;
};

LIST_HEAD(calls, call);

struct patience {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    struct hypervisor *inner;
    int64_t patience_ms;
    pthread_mutex_t lock; /* guards the rest, and `done` and `late` of the calls */
    pthread_cond_t changed;
    struct calls calls;
    unsigned late;
    bool freed; /* the last call takes everything with it */
};

static void call_free(struct call *call) {
    arena_free(call->arena);
    free(call);
}

static void destroy(struct patience *patience) {
    patience->inner->free(patience->inner);
    pthread_cond_destroy(&patience->changed);
    pthread_mutex_destroy(&patience->lock);
    free(patience);
}

static void *run_call(void *arg) {
    struct call *call = arg;
    struct patience *patience = call->patience;
    bool last;

    call->run(call);
    pthread_mutex_lock(&patience->lock);
    call->done = true;
    if (!call->late) {
        pthread_cond_broadcast(&patience->changed);
        pthread_mutex_unlock(&patience->lock);
        return NULL;
    }
    LIST_REMOVE(call, next);
    patience->late--;
    last = patience->freed && LIST_EMPTY(&patience->calls);
    pthread_mutex_unlock(&patience->lock);
    call_free(call);
    if (last)
        destroy(patience);
    return NULL;
}

static int start_thread(struct call *call) {
    pthread_attr_t attributes;
    pthread_t thread;
    int result;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    result = pthread_create(&thread, &attributes, run_call, call);
    pthread_attr_destroy(&attributes);
    return result;
}

/* With the lock. */
static bool is_hopeless(const struct patience *patience, const char *key) {
    const struct call *call;

    LIST_FOREACH(call, &patience->calls, next) {
        if (call->late && strcmp(call->key, key) == 0)
            return true;
    }
    return strcmp(key, DAEMON) != 0 && patience->late >= LATE_MOST;
}

/* With the lock; the call is late when it is not done afterwards. */
static void wait_for(struct call *call) {
    struct patience *patience = call->patience;
    int64_t due_us = clock_monotonic_us() + patience->patience_ms * 1000;
    struct timespec due = clock_timespec(due_us);

    while (!call->done && clock_monotonic_us() < due_us)
        pthread_cond_timedwait(&patience->changed, &patience->lock, &due);
    if (call->done) {
        LIST_REMOVE(call, next);
        return;
    }
    call->late = true;
    patience->late++;
}

/* NULL when the answer did not come; else the call, which is the caller's again. */
static struct call *run(struct call *call, struct error *err) {
    struct patience *patience = call->patience;
    bool began, done;

    pthread_mutex_lock(&patience->lock);
    began = !is_hopeless(patience, call->key) && start_thread(call) == 0;
    if (began) {
        LIST_INSERT_HEAD(&patience->calls, call, next);
        wait_for(call);
    }
    done = began && call->done;
    if (!done)
        error_set(err, ERROR_UNAVAILABLE, "%s does not answer", call->key);
    pthread_mutex_unlock(&patience->lock);
    if (!began)
        call_free(call);
    return done ? call : NULL;
}

static struct call *call_new(struct hypervisor *hypervisor, void (*body)(struct call *call),
                             const char *instance_uuid, const char *volume_id) {
    struct call *call = calloc(1, sizeof(*call));

    assert(call);
    call->patience = (struct patience *)hypervisor;
    call->run = body;
    call->arena = arena_new();
    call->instance_uuid = arena_text(call->arena, instance_uuid);
    call->volume_id = arena_text(call->arena, volume_id);
    call->key = call->instance_uuid ? call->instance_uuid : DAEMON;
    return call;
}

static int end(struct call *call, struct error *err) {
    int result = call->result;

    if (result < 0 && err)
        *err = call->err;
    call_free(call);
    return result;
}

static void run_has_instance(struct call *call) {
    struct hypervisor *inner = call->patience->inner;

    call->result = inner->has_instance(inner, call->instance_uuid, &call->err);
}

static int has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                        struct error *err) {
    struct call *call = call_new(hypervisor, run_has_instance, instance_uuid, NULL);

    call->key = DAEMON; /* the guest itself is not asked */
    call = run(call, err);
    return call ? end(call, err) : -1;
}

static void run_find_disk(struct call *call) {
    struct hypervisor *inner = call->patience->inner;

    call->result = inner->find_disk(inner, call->arena, call->instance_uuid, call->volume_id,
                                    &call->disk, &call->err);
}

static int find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                     const char *volume_id, struct disk *ret, struct error *err) {
    struct call *call = call_new(hypervisor, run_find_disk, instance_uuid, volume_id);

    (void)arena;
    if (!instance_uuid)
        call->key = call->volume_id; /* whichever guest has it is the one that is asked */
    call = run(call, err);
    if (!call)
        return -1;
    if (call->result >= 0)
        *ret = call->disk;
    return end(call, err);
}

static void run_grow_disk(struct call *call) {
    struct hypervisor *inner = call->patience->inner;

    call->result = inner->grow_disk(inner, call->arena, &call->disk, call->bytes, &call->err);
}

static int grow_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     int64_t bytes, struct error *err) {
    struct call *call = call_new(hypervisor, run_grow_disk, disk->instance_uuid, NULL);

    (void)arena;
    call->disk = *disk;
    call->bytes = bytes;
    call = run(call, err);
    return call ? end(call, err) : -1;
}

static void run_list_used(struct call *call) {
    struct hypervisor *inner = call->patience->inner;

    call->result = inner->list_used(inner, call->arena, &call->list, &call->err);
}

static int list_used(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                     struct error *err) {
    struct call *call = run(call_new(hypervisor, run_list_used, NULL, NULL), err);
    size_t count = 0;
    const char **list;

    if (!call)
        return -1;
    while (call->result >= 0 && call->list[count])
        count++;
    list = arena_alloc(arena, (count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = arena_text(arena, call->list[i]);
    *ret = list;
    return end(call, err);
}

static void run_tidy(struct call *call) {
    struct hypervisor *inner = call->patience->inner;

    call->result = inner->tidy(inner, call->arena, call->instance_uuid, &call->err);
}

static int tidy(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                struct error *err) {
    struct call *call = run(call_new(hypervisor, run_tidy, instance_uuid, NULL), err);

    (void)arena;
    return call ? end(call, err) : -1;
}

static void patience_free(struct hypervisor *hypervisor) {
    struct patience *patience = (struct patience *)hypervisor;
    bool last;

    pthread_mutex_lock(&patience->lock);
    patience->freed = true;
    last = LIST_EMPTY(&patience->calls);
    pthread_mutex_unlock(&patience->lock);
    if (last)
        destroy(patience);
}

struct hypervisor *patience_new(struct hypervisor *inner, int64_t patience_ms) {
    struct patience *patience = calloc(1, sizeof(*patience));
    pthread_condattr_t monotonic;

    assert(patience);
    patience->hypervisor = (struct hypervisor){
        .has_instance = has_instance,
        .find_disk = find_disk,
        .grow_disk = grow_disk,
        .list_used = list_used,
        .tidy = tidy,
        .free = patience_free,
    };
    patience->inner = inner;
    patience->patience_ms = patience_ms;
    pthread_mutex_init(&patience->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&patience->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    LIST_INIT(&patience->calls);
    return &patience->hypervisor;
}
