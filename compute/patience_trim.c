#include "common/clock.h"
#include "compute/patience.private.h"

#include <string.h>

/* A trim takes as long as its guest likes, and a thread of libvirtd meanwhile, whether its job
 * still asks for it or not.  A project has as many places as it leaves to others. */
#define TRIMS_MOST 6
/* So long its end is kept for who asked: longer than any pause of who cannot report. */
#define TRIM_KEPT_US INT64_C(600000000)

static void run_trim_disk(struct errand *errand) {
    struct hypervisor *inner = errand->patience->inner;

    errand->result =
        inner->trim_disk(inner, errand->arena, &errand->disk,
                         &(struct disk_trim){ errand->trim, errand->project_id }, &errand->err);
}

/* With the lock.  true: the trim has ended, and is the caller's; false: it goes when it ends. */
static bool take_out(struct errand *trim) {
    LIST_REMOVE(trim, next);
    return detached_finish(trim->call, &trim);
}

void patience_abandon_trims(struct patience *patience) {
    struct errand *trim;

    pthread_mutex_lock(&patience->lock);
    while ((trim = LIST_FIRST(&patience->trims))) {
        if (take_out(trim))
            errand_free(trim);
    }
    pthread_mutex_unlock(&patience->lock);
}

/* With the lock: those that ended before `until_us` go, as their end was not fetched. */
static void drop_trims(struct patience *patience, int64_t until_us) {
    struct errand *trim, *next;

    for (trim = LIST_FIRST(&patience->trims); trim; trim = next) {
        next = LIST_NEXT(trim, next);
        if (detached_has_returned(trim->call) && trim->ended_us < until_us && take_out(trim))
            errand_free(trim);
    }
}

/* Trims of this host that have not ended. */
struct places {
    unsigned open, own; /* of all, and of the project */
    bool busy;          /* one is in the guest */
};

/* With the lock: this one; NULL: it is new. */
static struct errand *find_trim(struct patience *patience, const char *instance_uuid,
                                const struct disk_trim *trim, struct places *ret) {
    const char *project_id = trim->project_id ? trim->project_id : "";
    struct errand *errand, *found = NULL;

    *ret = (struct places){ 0 };
    LIST_FOREACH(errand, &patience->trims, next) {
        bool open = !detached_has_returned(errand->call);

        ret->open += open;
        ret->own += open && strcmp(errand->project_id, project_id) == 0;
        if (strcmp(errand->instance_uuid, instance_uuid) != 0)
            continue;
        ret->busy |= open;
        if (strcmp(errand->trim, trim->id) == 0)
            found = errand;
    }
    return found;
}

/* With the lock. */
static int start_trim(struct patience *patience, const struct disk *disk,
                      const struct disk_trim *trim, const struct places *places,
                      struct error *err) {
    struct errand *errand;

    if (places->own >= TRIMS_MOST - places->open)
        return error_set(err, ERROR_CONFLICT,
                         "%u guests of this host are trimming already, %u of them of the project",
                         places->open, places->own);
    errand = errand_on_disk(&patience->hypervisor, run_trim_disk, disk, NULL, NULL);
    errand->trim = arena_text(errand->arena, trim->id);
    errand->project_id = arena_text(errand->arena, trim->project_id ? trim->project_id : "");
    errand->key = "a trim";
    errand->call =
        detached_start(patience->calls, errand->key, &errand_function, &errand, sizeof(errand));
    if (!errand->call) {
        errand_free(errand);
        return error_set(err, ERROR_UNAVAILABLE, "there is no thread for a trim");
    }
    LIST_INSERT_HEAD(&patience->trims, errand, next);
    return 1;
}

/* With the lock.  One that has ended is the caller's; those of others stay: two volumes of a guest
 * would take each other's end for ever. */
static int follow_trim(struct patience *patience, const struct disk *disk,
                       const struct disk_trim *trim, struct errand **ret_ended, struct error *err) {
    struct errand *errand;
    struct places places;

    drop_trims(patience, clock_monotonic_us() - TRIM_KEPT_US);
    errand = find_trim(patience, disk->instance_uuid, trim, &places);
    if (!errand)
        return places.busy
                   ? error_set(err, ERROR_CONFLICT, "the guest is trimming for another volume")
                   : start_trim(patience, disk, trim, &places, err);
    if (!detached_has_returned(errand->call))
        return 1;
    take_out(errand);
    *ret_ended = errand;
    return 0;
}

int patience_trim_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                       const struct disk_trim *trim, struct error *err) {
    struct patience *patience = (struct patience *)hypervisor;
    struct errand *ended = NULL;
    int result;

    (void)arena;
    pthread_mutex_lock(&patience->lock);
    result = follow_trim(patience, disk, trim, &ended, err);
    pthread_mutex_unlock(&patience->lock);
    return ended ? errand_end(ended, err) : result;
}
