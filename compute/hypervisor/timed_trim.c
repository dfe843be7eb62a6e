#include "common/clock.h"

#include "common/thread.h"
#include "compute/hypervisor/timed_hypervisor.private.h"

#include <string.h>

/* A trim lasts as long as its guest takes, and occupies a thread of libvirtd, whether its job still
 * polls it or not.  A project may run as many as there are free slots beside it. */
#define TRIMS_MOST 6
/* Lifetime of an unfetched outcome: longer than any pause of a job that cannot report. */
#define TRIM_KEPT_US INT64_C(600000000)

static void run_trim_disk(struct timed_call *call) {
    struct hypervisor *inner = call->timed->inner;

    call->result =
        inner->trim_disk(inner, call->arena, &call->disk,
                         &(struct disk_trim){ call->trim, call->project_id }, &call->err);
}

/* The caller holds the lock. true: the trim has ended, and belongs to the caller; false: it is
 * freed when it ends. */
static bool take_out(struct timed_call *trim) {
    LIST_REMOVE(trim, next);
    return detached_finish(trim->detached, &trim);
}

void timed_trims_abandon(struct timed_hypervisor *timed) {
    struct timed_call *trim;

    scoped_lock(&timed->lock);
    while ((trim = LIST_FIRST(&timed->trims))) {
        if (take_out(trim))
            timed_call_free(trim);
    }
}

/* Running trims of this host. */
struct places {
    unsigned open, own; /* of all projects, and of this one */
    bool busy;          /* the guest has one */
};

/* The caller holds the lock.  The trim; NULL: it is new. */
static struct timed_call *find_trim(struct timed_hypervisor *timed, const char *instance_uuid,
                                    const struct disk_trim *trim, struct places *ret) {
    const char *project_id = trim->project_id ? trim->project_id : "";
    struct timed_call *call, *found = NULL;

    *ret = (struct places){ 0 };
    LIST_FOREACH(call, &timed->trims, next) {
        bool open = !detached_has_returned(call->detached);

        ret->open += open;
        ret->own += open && strcmp(call->project_id, project_id) == 0;
        if (strcmp(call->instance_uuid, instance_uuid) != 0)
            continue;
        ret->busy |= open;
        if (strcmp(call->trim, trim->id) == 0)
            found = call;
    }
    return found;
}

/* The caller holds the lock. */
static int start_trim(struct timed_hypervisor *timed, const struct disk *disk,
                      const struct disk_trim *trim, const struct places *places,
                      struct error *err) {
    struct timed_call *call;

    if (places->own >= TRIMS_MOST - places->open)
        return error_set(err, ERROR_CONFLICT,
                         "%u guests of this host are already trimming, %u of them of the project",
                         places->open, places->own);
    call = timed_call_on_disk(&timed->hypervisor, run_trim_disk, disk, NULL, NULL);
    call->trim = arena_text(call->arena, trim->id);
    call->project_id = arena_text(call->arena, trim->project_id ? trim->project_id : "");
    call->key = "a trim";
    call->detached =
        detached_start(timed->calls, call->key, &timed_call_function, &call, sizeof(call));
    if (!call->detached) {
        timed_call_free(call);
        return error_set(err, ERROR_UNAVAILABLE, "no thread is available for a trim");
    }
    LIST_INSERT_HEAD(&timed->trims, call, next);
    return 1;
}

/* The caller holds the lock.  An ended trim becomes the caller's; those of other volumes stay,
 * otherwise two volumes of a guest would drop each other's outcome. */
static int follow_trim(struct timed_hypervisor *timed, const struct disk *disk,
                       const struct disk_trim *trim, struct timed_call **ret_ended,
                       struct error *err) {
    int64_t until_us = clock_monotonic_us() - TRIM_KEPT_US;
    struct timed_call *call, *next;
    struct places places;

    /* trims that ended before and were not fetched */
    for (call = LIST_FIRST(&timed->trims); call; call = next) {
        next = LIST_NEXT(call, next);
        if (detached_has_returned(call->detached) && call->ended_us < until_us && take_out(call))
            timed_call_free(call);
    }
    call = find_trim(timed, disk->instance_uuid, trim, &places);
    if (!call)
        return places.busy
                   ? error_set(err, ERROR_CONFLICT, "the guest is trimming for another volume")
                   : start_trim(timed, disk, trim, &places, err);
    if (!detached_has_returned(call->detached))
        return 1;
    take_out(call);
    *ret_ended = call;
    return 0;
}

int timed_trim_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                    const struct disk_trim *trim, struct error *err) {
    struct timed_hypervisor *timed = (struct timed_hypervisor *)hypervisor;
    struct timed_call *ended = NULL;
    int result;

    (void)arena;
    pthread_mutex_lock(&timed->lock);
    result = follow_trim(timed, disk, trim, &ended, err);
    pthread_mutex_unlock(&timed->lock);
    return ended ? timed_call_end(ended, err) : result;
}
