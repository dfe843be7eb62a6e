#include "compute/patience.h"

#include "common/heap.h"
#include "compute/patience.private.h"

#include <stdlib.h>

static void run_has_instance(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->has_instance(inner, errand->instance_uuid, &errand->err);
}

static int has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                        struct error *err) {
    struct errand *errand = errand_new(hypervisor, run_has_instance, instance_uuid, NULL);

    errand->key = ERRAND_DAEMON; /* the guest itself is not asked */
    errand = errand_run(errand, err);
    return errand ? errand_end(errand, err) : -1;
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
    errand = errand_run(errand, err);
    if (!errand)
        return -1;
    if (errand->result >= 0)
        *ret = errand->disk;
    return errand_end(errand, err);
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
    errand = errand_run(errand, err);
    return errand ? errand_end(errand, err) : -1;
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
    return errand_end(errand, err);
}

static void run_list_chain(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->list_chain(inner, errand->arena, &errand->disk, &errand->list, &errand->err);
}

static int list_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *const **ret, struct error *err) {
    return end_list(errand_run(errand_on_disk(hypervisor, run_list_chain, disk, NULL, NULL), err),
                    arena, ret, err);
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
    errand = errand_run(errand, err);
    return errand ? errand_end(errand, err) : -1;
}

static void run_merge_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->merge_disk(inner, errand->arena, &errand->disk, errand->top,
                                       errand->base, &errand->err);
}

static int merge_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *top, const char *base, struct error *err) {
    struct errand *errand =
        errand_run(errand_on_disk(hypervisor, run_merge_disk, disk, top, base), err);

    (void)arena;
    return errand ? errand_end(errand, err) : -1;
}

static void run_forget_chain(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->forget_chain(inner, errand->arena, &errand->disk, &errand->err);
}

static int forget_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                        struct error *err) {
    struct errand *errand =
        errand_run(errand_on_disk(hypervisor, run_forget_chain, disk, NULL, NULL), err);

    (void)arena;
    return errand ? errand_end(errand, err) : -1;
}

static void run_limit_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->limit_disk(inner, errand->arena, &errand->disk, &errand->limits, &errand->err);
}

static int limit_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const struct io_limits *limits, struct error *err) {
    struct errand *errand = errand_on_disk(hypervisor, run_limit_disk, disk, NULL, NULL);

    (void)arena;
    errand->limits = *limits;
    errand = errand_run(errand, err);
    return errand ? errand_end(errand, err) : -1;
}

static void run_list_limits(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->list_limits(inner, errand->arena, &errand->limited, &errand->err);
}

static int list_limits(struct hypervisor *hypervisor, struct arena *arena, struct disk_limits **ret,
                       struct error *err) {
    struct errand *errand = errand_run(errand_new(hypervisor, run_list_limits, NULL, NULL), err);

    if (!errand)
        return -1;
    *ret = NULL;
    for (const struct disk_limits *one = errand->limited; one; one = one->next) {
        struct disk_limits *copy = arena_copy(arena, one, sizeof *one);

        copy->next = *ret;
        *ret = copy;
    }
    return errand_end(errand, err);
}

static void run_list_used(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->list_used(inner, errand->arena, &errand->list, &errand->err);
}

static int list_used(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                     struct error *err) {
    return end_list(errand_run(errand_new(hypervisor, run_list_used, NULL, NULL), err), arena, ret,
                    err);
}

static void run_tidy(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->tidy(inner, errand->arena, errand->instance_uuid, &errand->err);
}

static int tidy(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                struct error *err) {
    struct errand *errand = errand_run(errand_new(hypervisor, run_tidy, instance_uuid, NULL), err);

    (void)arena;
    return errand ? errand_end(errand, err) : -1;
}

static void run_list_stopped(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->list_stopped(inner, errand->arena, &errand->list, &errand->err);
}

static int list_stopped(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                        struct error *err) {
    return end_list(errand_run(errand_new(hypervisor, run_list_stopped, NULL, NULL), err), arena,
                    ret, err);
}

static void run_go_on(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result = inner->go_on(inner, errand->arena, errand->instance_uuid, &errand->err);
}

static int go_on(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                 struct error *err) {
    struct errand *errand = errand_run(errand_new(hypervisor, run_go_on, instance_uuid, NULL), err);

    (void)arena;
    return errand ? errand_end(errand, err) : -1;
}

/* When the last errand has returned. */
static void destroy(void *arg) {
    struct patience *patience = arg;

    patience->inner->free(patience->inner);
    pthread_mutex_destroy(&patience->lock);
    free(patience);
}

static void patience_free(struct hypervisor *hypervisor) {
    struct patience *patience = (struct patience *)hypervisor;

    patience_abandon_trims(patience);
    detached_calls_free(patience->calls);
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
        .trim_disk = patience_trim_disk,
        .list_limits = list_limits,
        .limit_disk = limit_disk,
        .list_used = list_used,
        .tidy = tidy,
        .list_stopped = list_stopped,
        .go_on = go_on,
        .free = patience_free,
    };
    patience->inner = inner;
    patience->patience_ms = patience_ms;
    pthread_mutex_init(&patience->lock, NULL);
    LIST_INIT(&patience->trims);
    patience->calls = detached_calls_new("hypervisor", destroy, patience);
    return &patience->hypervisor;
}
