#include "compute/patience.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define LATE_MOST 12
#define DAEMON    "libvirt" /* the key of errands that ask no guest */

/* A trim takes as long as its guest likes, and a thread of libvirtd meanwhile. */
#define TRIMS_MOST   4
#define TRIM_KEPT_US INT64_C(60000000) /* so long its end is kept for who asked */

/* Belongs to who waits for it, from the moment that it is late to its own thread. */
struct errand {
    LIST_ENTRY(errand) next;
    struct patience *patience;
    void (*run)(struct errand *errand);
    struct arena *arena;
    const char *key; /* who is asked */
    const char *instance_uuid, *volume_id;
    struct disk disk; /* that is asked for, and the answer */
    int64_t bytes;
    const char *top, *base;
    struct disk_overlay *overlays;
    unsigned count;
    const char *const *list;
    const char *trim; /* the id of one, which nobody waits for: its end is fetched; NULL: no trim */
    int64_t ended_us; /* that of a trim */
    int result;
    struct error err;
    bool done, late;
};

LIST_HEAD(errands, errand);

struct patience {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    struct hypervisor *inner;
    int64_t patience_ms;
    pthread_mutex_t lock; /* guards the rest, and `done` and `late` of the errands */
    pthread_cond_t changed;
    struct errands errands;
    unsigned late;
    bool freed; /* the last errand takes everything with it */
};

static void errand_free(struct errand *errand) {
    arena_free(errand->arena);
    free(errand);
}

static void destroy(struct patience *patience) {
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
        destroy(patience);
    return NULL;
}

/* With the lock. */
static bool is_hopeless(const struct patience *patience, const char *key) {
    const struct errand *errand;

    LIST_FOREACH(errand, &patience->errands, next) {
        if (errand->late && strcmp(errand->key, key) == 0)
            return true;
    }
    return strcmp(key, DAEMON) != 0 && patience->late >= LATE_MOST;
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

/* NULL when the answer did not come; else the errand, which is the caller's again. */
static struct errand *run(struct errand *errand, struct error *err) {
    struct patience *patience = errand->patience;
    pthread_t thread;
    bool began, done;

    pthread_mutex_lock(&patience->lock);
    began = !is_hopeless(patience, errand->key) &&
            thread_start(&thread, "hypervisor", run_errand, errand) == 0;
    if (began) {
        pthread_detach(thread);
        LIST_INSERT_HEAD(&patience->errands, errand, next);
        wait_for(errand);
    }
    done = began && errand->done;
    if (!done)
        error_set(err, ERROR_UNAVAILABLE, "%s does not answer", errand->key);
    pthread_mutex_unlock(&patience->lock);
    if (!began)
        errand_free(errand);
    return done ? errand : NULL;
}

static struct errand *errand_new(struct hypervisor *hypervisor, void (*body)(struct errand *errand),
                                 const char *instance_uuid, const char *volume_id) {
    struct errand *errand = heap_new(sizeof(*errand));

    errand->patience = (struct patience *)hypervisor;
    errand->run = body;
    errand->arena = arena_new();
    errand->instance_uuid = arena_text(errand->arena, instance_uuid);
    errand->volume_id = arena_text(errand->arena, volume_id);
    errand->key = errand->instance_uuid ? errand->instance_uuid : DAEMON;
    return errand;
}

static int end(struct errand *errand, struct error *err) {
    int result = errand->result;

    if (result < 0 && err)
        *err = errand->err;
    errand_free(errand);
    return result;
}

static void run_has_instance(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->has_instance(inner, errand->instance_uuid, &errand->err);
}

static int has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                        struct error *err) {
    struct errand *errand = errand_new(hypervisor, run_has_instance, instance_uuid, NULL);

    errand->key = DAEMON; /* the guest itself is not asked */
    errand = run(errand, err);
    return errand ? end(errand, err) : -1;
}

static void run_find_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->find_disk(inner, errand->arena, errand->instance_uuid,
                                      errand->volume_id, &errand->disk, &errand->err);
}

static int find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                     const char *volume_id, struct disk *ret, struct error *err) {
    struct errand *errand = errand_new(hypervisor, run_find_disk, instance_uuid, volume_id);

    (void)arena;
    if (!instance_uuid)
        errand->key = errand->volume_id; /* whichever guest has it is the one that is asked */
    errand = run(errand, err);
    if (!errand)
        return -1;
    if (errand->result >= 0)
        *ret = errand->disk;
    return end(errand, err);
}

static struct errand *errand_on_disk(struct hypervisor *hypervisor,
                                     void (*body)(struct errand *errand), const struct disk *disk,
                                     const char *top, const char *base) {
    struct errand *errand = errand_new(hypervisor, body, disk->instance_uuid, NULL);

    errand->disk = *disk;
    errand->top = arena_text(errand->arena, top);
    errand->base = arena_text(errand->arena, base);
    return errand;
}

static void run_grow_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->grow_disk(inner, errand->arena, &errand->disk, errand->bytes, &errand->err);
}

static int grow_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     int64_t bytes, struct error *err) {
    struct errand *errand = errand_on_disk(hypervisor, run_grow_disk, disk, NULL, NULL);

    (void)arena;
    errand->bytes = bytes;
    errand = run(errand, err);
    return errand ? end(errand, err) : -1;
}

/* A list that NULL ends, for as long as who asked for it needs it. */
static int end_list(struct errand *errand, struct arena *arena, const char *const **ret,
                    struct error *err) {
    size_t count = 0;
    const char **list;

    if (!errand)
        return -1;
    while (errand->result >= 0 && errand->list[count])
        count++;
    list = arena_alloc(arena, (count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = arena_text(arena, errand->list[i]);
    *ret = list;
    return end(errand, err);
}

static void run_list_chain(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->list_chain(inner, errand->arena, &errand->disk, &errand->list, &errand->err);
}

static int list_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *const **ret, struct error *err) {
    return end_list(run(errand_on_disk(hypervisor, run_list_chain, disk, NULL, NULL), err), arena,
                    ret, err);
}

static void run_snapshot_disks(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->snapshot_disks(inner, errand->arena, errand->overlays, errand->count, &errand->err);
}

static struct disk_overlay *copy_overlays(struct arena *arena, const struct disk_overlay *overlays,
                                          unsigned count) {
    struct disk_overlay *copies = arena_alloc(arena, count * sizeof(*copies));
    struct disk *disks = arena_alloc(arena, count * sizeof(*disks));

    for (unsigned i = 0; i < count; i++) {
        disks[i] = *overlays[i].disk;
        copies[i] = (struct disk_overlay){ &disks[i], arena_text(arena, overlays[i].path) };
    }
    return copies;
}

static int snapshot_disks(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk_overlay *overlays, unsigned count, struct error *err) {
    struct errand *errand =
        errand_on_disk(hypervisor, run_snapshot_disks, overlays[0].disk, NULL, NULL);

    (void)arena;
    errand->overlays = copy_overlays(errand->arena, overlays, count);
    errand->count = count;
    errand = run(errand, err);
    return errand ? end(errand, err) : -1;
}

static void run_merge_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->merge_disk(inner, errand->arena, &errand->disk, errand->top,
                                       errand->base, &errand->err);
}

static int merge_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *top, const char *base, struct error *err) {
    struct errand *errand = run(errand_on_disk(hypervisor, run_merge_disk, disk, top, base), err);

    (void)arena;
    return errand ? end(errand, err) : -1;
}

static void run_forget_chain(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->forget_chain(inner, errand->arena, &errand->disk, &errand->err);
}

static int forget_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                        struct error *err) {
    struct errand *errand =
        run(errand_on_disk(hypervisor, run_forget_chain, disk, NULL, NULL), err);

    (void)arena;
    return errand ? end(errand, err) : -1;
}

/* ---- trims ---- */

static void run_trim_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->trim_disk(inner, errand->arena, &errand->disk, errand->trim, &errand->err);
}

/* With the lock: those that ended before `until_us` go: nobody fetches their end. */
static void drop_trims(struct patience *patience, int64_t until_us) {
    struct errand *errand, *next;

    for (errand = LIST_FIRST(&patience->errands); errand; errand = next) {
        next = LIST_NEXT(errand, next);
        if (!errand->trim || !errand->done || errand->ended_us >= until_us)
            continue;
        LIST_REMOVE(errand, next);
        errand_free(errand);
    }
}

/* With the lock: that of the guest, and how many are open. */
static struct errand *find_trim(struct patience *patience, const char *instance_uuid,
                                unsigned *ret_open) {
    struct errand *errand, *found = NULL;

    *ret_open = 0;
    LIST_FOREACH(errand, &patience->errands, next) {
        if (!errand->trim)
            continue;
        *ret_open += !errand->done;
        if (strcmp(errand->instance_uuid, instance_uuid) == 0)
            found = errand;
    }
    return found;
}

/* With the lock. */
static int start_trim(struct patience *patience, const struct disk *disk, const char *id,
                      unsigned open, struct error *err) {
    struct errand *errand;
    pthread_t thread;

    if (open >= TRIMS_MOST)
        return error_set(err, ERROR_CONFLICT, "%u guests of this host are trimming already", open);
    errand = errand_on_disk(&patience->hypervisor, run_trim_disk, disk, NULL, NULL);
    errand->trim = arena_text(errand->arena, id);
    errand->key = "a trim";
    if (thread_start(&thread, "hypervisor", run_errand, errand) != 0) {
        errand_free(errand);
        return error_set(err, ERROR_UNAVAILABLE, "there is no thread for a trim");
    }
    pthread_detach(thread);
    LIST_INSERT_HEAD(&patience->errands, errand, next);
    return 1;
}

/* With the lock.  An earlier one that has ended is the caller's. */
static int follow_trim(struct patience *patience, const struct disk *disk, const char *id,
                       struct errand **ret_ended, struct error *err) {
    struct errand *errand;
    unsigned open;
    bool ours;

    drop_trims(patience, clock_monotonic_us() - TRIM_KEPT_US);
    errand = find_trim(patience, disk->instance_uuid, &open);
    ours = errand && strcmp(errand->trim, id) == 0;
    if (errand && !errand->done)
        return ours ? 1
                    : error_set(err, ERROR_CONFLICT, "the guest is trimming for another volume");
    if (errand)
        LIST_REMOVE(errand, next);
    *ret_ended = errand;
    return ours ? 0 : start_trim(patience, disk, id, open, err);
}

static int trim_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     const char *id, struct error *err) {
    struct patience *patience = (struct patience *)hypervisor;
    struct errand *ended = NULL;
    int result;

    (void)arena;
    pthread_mutex_lock(&patience->lock);
    result = follow_trim(patience, disk, id, &ended, err);
    pthread_mutex_unlock(&patience->lock);
    if (ended && strcmp(ended->trim, id) == 0)
        return end(ended, err);
    if (ended)
        errand_free(ended);
    return result;
}

static void run_list_used(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->list_used(inner, errand->arena, &errand->list, &errand->err);
}

static int list_used(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                     struct error *err) {
    return end_list(run(errand_new(hypervisor, run_list_used, NULL, NULL), err), arena, ret, err);
}

static void run_tidy(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->tidy(inner, errand->arena, errand->instance_uuid, &errand->err);
}

static int tidy(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                struct error *err) {
    struct errand *errand = run(errand_new(hypervisor, run_tidy, instance_uuid, NULL), err);

    (void)arena;
    return errand ? end(errand, err) : -1;
}

static void patience_free(struct hypervisor *hypervisor) {
    struct patience *patience = (struct patience *)hypervisor;
    bool last;

    pthread_mutex_lock(&patience->lock);
    patience->freed = true;
    drop_trims(patience, INT64_MAX);
    last = LIST_EMPTY(&patience->errands);
    pthread_mutex_unlock(&patience->lock);
    if (last)
        destroy(patience);
}

struct hypervisor *patience_new(struct hypervisor *inner, int64_t patience_ms) {
    struct patience *patience = heap_new(sizeof(*patience));

    patience->hypervisor = (struct hypervisor){
        .has_instance = has_instance,
        .find_disk = find_disk,
        .grow_disk = grow_disk,
        .list_chain = list_chain,
        .snapshot_disks = snapshot_disks,
        .merge_disk = merge_disk,
        .forget_chain = forget_chain,
        .trim_disk = trim_disk,
        .list_used = list_used,
        .tidy = tidy,
        .free = patience_free,
    };
    patience->inner = inner;
    patience->patience_ms = patience_ms;
    pthread_mutex_init(&patience->lock, NULL);
    thread_cond_init(&patience->changed);
    LIST_INIT(&patience->errands);
    return &patience->hypervisor;
}
