#include "common/clock.h"
#include "compute/patience.private.h"

#include <string.h>

/* A trim takes as long as its guest likes, and a thread of libvirtd meanwhile. */
#define TRIMS_MOST 4
/* So long its end is kept for who asked: longer than any pause of who cannot report. */
#define TRIM_KEPT_US INT64_C(600000000)

static void run_trim_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->trim_disk(inner, errand->arena, &errand->disk, errand->trim, &errand->err);
}

void patience_drop_trims(struct patience *patience, int64_t until_us) {
    struct errand *errand, *next;

    for (errand = LIST_FIRST(&patience->errands); errand; errand = next) {
        next = LIST_NEXT(errand, next);
        if (!errand->trim || !errand->done || errand->ended_us >= until_us)
            continue;
        LIST_REMOVE(errand, next);
        errand_free(errand);
    }
}

/* With the lock: this one, how many are open, and whether one is in its guest. */
static struct errand *find_trim(struct patience *patience, const char *instance_uuid,
                                const char *id, unsigned *ret_open, bool *ret_busy) {
    struct errand *errand, *found = NULL;

    *ret_open = 0;
    *ret_busy = false;
    LIST_FOREACH(errand, &patience->errands, next) {
        if (!errand->trim)
            continue;
        *ret_open += !errand->done;
        if (strcmp(errand->instance_uuid, instance_uuid) != 0)
            continue;
        *ret_busy |= !errand->done;
        if (strcmp(errand->trim, id) == 0)
            found = errand;
    }
    return found;
}

/* With the lock. */
static int start_trim(struct patience *patience, const struct disk *disk, const char *id,
                      unsigned open, struct error *err) {
    struct errand *errand;

    if (open >= TRIMS_MOST)
        return error_set(err, ERROR_CONFLICT, "%u guests of this host are trimming already", open);
    errand = errand_on_disk(&patience->hypervisor, run_trim_disk, disk, NULL, NULL);
    errand->trim = arena_text(errand->arena, id);
    errand->key = "a trim";
    if (errand_start(errand) < 0) {
        errand_free(errand);
        return error_set(err, ERROR_UNAVAILABLE, "there is no thread for a trim");
    }
    return 1;
}

/* With the lock.  One that has ended is the caller's; those of others stay: two volumes of a guest
 * would take each other's end for ever. */
static int follow_trim(struct patience *patience, const struct disk *disk, const char *id,
                       struct errand **ret_ended, struct error *err) {
    struct errand *errand;
    unsigned open;
    bool busy;

    patience_drop_trims(patience, clock_monotonic_us() - TRIM_KEPT_US);
    errand = find_trim(patience, disk->instance_uuid, id, &open, &busy);
    if (errand && !errand->done)
        return 1;
    if (!errand)
        return busy ? error_set(err, ERROR_CONFLICT, "the guest is trimming for another volume")
                    : start_trim(patience, disk, id, open, err);
    LIST_REMOVE(errand, next);
    *ret_ended = errand;
    return 0;
}

int patience_trim_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                       const char *id, struct error *err) {
    struct patience *patience = (struct patience *)hypervisor;
    struct errand *ended = NULL;
    int result;

    (void)arena;
    pthread_mutex_lock(&patience->lock);
    result = follow_trim(patience, disk, id, &ended, err);
    pthread_mutex_unlock(&patience->lock);
    return ended ? errand_end(ended, err) : result;
}
