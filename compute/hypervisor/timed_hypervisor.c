#include "compute/hypervisor/timed_hypervisor.h"

#include "common/heap.h"
#include "compute/hypervisor/timed_hypervisor.private.h"

#include <stdlib.h>

static void run_has_instance(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->has_instance(inner, call->instance_uuid, &call->err);
}

static int has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                        struct error *err) {
    struct timed_call *call = timed_call_new(hypervisor, run_has_instance, instance_uuid, NULL);

    call->key = TIMED_CALL_DAEMON; /* the guest itself is not queried */
    call = timed_call_run(call, err);
    return call ? timed_call_end(call, err) : -1;
}

static void run_find_disk(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->find_disk(inner, call->arena, call->instance_uuid, call->volume_id,
                                    &call->disk, &call->err);
}

static int find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                     const char *volume_id, struct disk *ret, struct error *err) {
    struct timed_call *call = timed_call_new(hypervisor, run_find_disk, instance_uuid, volume_id);

    (void)arena;
    if (!instance_uuid)
        call->key = call->volume_id; /* the guest that has it is unknown */
    call = timed_call_run(call, err);
    if (!call)
        return -1;
    if (call->result >= 0)
        *ret = call->disk;
    return timed_call_end(call, err);
}

static void run_grow_disk(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->grow_disk(inner, call->arena, &call->disk, call->bytes, &call->err);
}

static int grow_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     int64_t bytes, struct error *err) {
    struct timed_call *call = timed_call_on_disk(hypervisor, run_grow_disk, disk, NULL, NULL);

    (void)arena;
    call->bytes = bytes;
    call = timed_call_run(call, err);
    return call ? timed_call_end(call, err) : -1;
}

/* A list ended by NULL, copied to the caller's arena. */
static int end_list(struct timed_call *call, struct arena *arena, const char *const **ret,
                    struct error *err) {
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
    return timed_call_end(call, err);
}

static void run_list_chain(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->list_chain(inner, call->arena, &call->disk, &call->list, &call->err);
}

static int list_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *const **ret, struct error *err) {
    return end_list(
        timed_call_run(timed_call_on_disk(hypervisor, run_list_chain, disk, NULL, NULL), err),
        arena, ret, err);
}

static void run_snapshot_disks(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result =
        inner->snapshot_disks(inner, call->arena, call->overlays, call->count, &call->err);
}

static int snapshot_disks(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk_overlay *overlays, unsigned count, struct error *err) {
    struct timed_call *call =
        timed_call_on_disk(hypervisor, run_snapshot_disks, overlays[0].disk, NULL, NULL);
    struct disk_overlay *copies = arena_alloc(call->arena, count * sizeof(*copies));

    (void)arena;
    for (unsigned i = 0; i < count; i++)
        copies[i] = (struct disk_overlay){
            arena_copy(call->arena, overlays[i].disk, sizeof *overlays[i].disk),
            arena_text(call->arena, overlays[i].path),
        };
    call->overlays = copies;
    call->count = count;
    call = timed_call_run(call, err);
    return call ? timed_call_end(call, err) : -1;
}

static void run_merge_disk(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result =
        inner->merge_disk(inner, call->arena, &call->disk, call->top, call->base, &call->err);
}

static int merge_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *top, const char *base, struct error *err) {
    struct timed_call *call =
        timed_call_run(timed_call_on_disk(hypervisor, run_merge_disk, disk, top, base), err);

    (void)arena;
    return call ? timed_call_end(call, err) : -1;
}

static void run_flush_disk(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->flush_disk(inner, call->arena, &call->disk, &call->err);
}

static int flush_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      struct error *err) {
    struct timed_call *call =
        timed_call_run(timed_call_on_disk(hypervisor, run_flush_disk, disk, NULL, NULL), err);

    (void)arena;
    return call ? timed_call_end(call, err) : -1;
}

static void run_forget_chain(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->forget_chain(inner, call->arena, &call->disk, &call->err);
}

static int forget_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                        struct error *err) {
    struct timed_call *call =
        timed_call_run(timed_call_on_disk(hypervisor, run_forget_chain, disk, NULL, NULL), err);

    (void)arena;
    return call ? timed_call_end(call, err) : -1;
}

static void run_limit_disk(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->limit_disk(inner, call->arena, &call->disk, &call->limits, &call->err);
}

static int limit_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const struct io_limits *limits, struct error *err) {
    struct timed_call *call = timed_call_on_disk(hypervisor, run_limit_disk, disk, NULL, NULL);

    (void)arena;
    call->limits = *limits;
    call = timed_call_run(call, err);
    return call ? timed_call_end(call, err) : -1;
}

static void run_list_limits(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->list_limits(inner, call->arena, &call->limited, &call->err);
}

static int list_limits(struct hypervisor *hypervisor, struct arena *arena, struct disk_limits **ret,
                       struct error *err) {
    struct timed_call *call =
        timed_call_run(timed_call_new(hypervisor, run_list_limits, NULL, NULL), err);

    if (!call)
        return -1;
    *ret = NULL;
    for (const struct disk_limits *one = call->limited; one; one = one->next) {
        struct disk_limits *copy = arena_copy(arena, one, sizeof *one);

        copy->next = *ret;
        *ret = copy;
    }
    return timed_call_end(call, err);
}

static void run_list_guarded(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->list_guarded(inner, call->arena, &call->list, &call->err);
}

static int list_guarded(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                        struct error *err) {
    return end_list(timed_call_run(timed_call_new(hypervisor, run_list_guarded, NULL, NULL), err),
                    arena, ret, err);
}

static void run_remove_guards(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->remove_guards(inner, call->arena, call->instance_uuid, &call->err);
}

static int remove_guards(struct hypervisor *hypervisor, struct arena *arena,
                         const char *instance_uuid, struct error *err) {
    struct timed_call *call =
        timed_call_run(timed_call_new(hypervisor, run_remove_guards, instance_uuid, NULL), err);

    (void)arena;
    return call ? timed_call_end(call, err) : -1;
}

static void run_list_stopped(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->list_stopped(inner, call->arena, &call->list, &call->err);
}

static int list_stopped(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                        struct error *err) {
    return end_list(timed_call_run(timed_call_new(hypervisor, run_list_stopped, NULL, NULL), err),
                    arena, ret, err);
}

static void run_resume(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result = inner->resume(inner, call->arena, call->instance_uuid, &call->err);
}

static int resume(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                  struct error *err) {
    struct timed_call *call =
        timed_call_run(timed_call_new(hypervisor, run_resume, instance_uuid, NULL), err);

    (void)arena;
    return call ? timed_call_end(call, err) : -1;
}

/* When the last call has returned. */
static void destroy(void *arg) {
    struct timed_hypervisor *timed = arg;

    timed->inner->free(timed->inner);
    pthread_mutex_destroy(&timed->lock);
    free(timed);
}

static void timed_free(struct hypervisor *hypervisor) {
    struct timed_hypervisor *timed = (struct timed_hypervisor *)hypervisor;

    timed_trims_abandon(timed);
    detached_calls_free(timed->calls);
}

struct hypervisor *timed_hypervisor_new(struct hypervisor *inner, int64_t timeout_ms) {
    struct timed_hypervisor *timed = heap_new(sizeof(*timed));

    timed->hypervisor = (struct hypervisor){
        .has_instance = has_instance,
        .find_disk = find_disk,
        .grow_disk = grow_disk,
        .list_chain = list_chain,
        .snapshot_disks = snapshot_disks,
        .merge_disk = merge_disk,
        .flush_disk = flush_disk,
        .forget_chain = forget_chain,
        .trim_disk = timed_trim_disk,
        .list_limits = list_limits,
        .limit_disk = limit_disk,
        .list_guarded = list_guarded,
        .remove_guards = remove_guards,
        .list_stopped = list_stopped,
        .resume = resume,
        .free = timed_free,
    };
    timed->inner = inner;
    timed->timeout_ms = timeout_ms;
    pthread_mutex_init(&timed->lock, NULL);
    LIST_INIT(&timed->trims);
    timed->calls = detached_calls_new("hypervisor", destroy, timed);
    return &timed->hypervisor;
}
