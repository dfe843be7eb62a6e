#include "compute/jobs/limits.h"

#include "client/limits.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/ticker.h"

#include <stdlib.h>

/* Used only by its ticker's thread. */
struct limiter {
    struct limiter_settings settings;
    struct ticker *ticker;
    bool clean;  /* no disk has limits of the agent: without limits in the API there is nothing to
                  * check */
    bool failed; /* and logged */
    bool seen;   /* the hypervisor has responded */
    bool absent; /* it has not, as on a host without libvirt */
};

/* 1: the disk has limits of the agent; 0: it has none. */
static int apply_limits(const struct limiter *limiter, const struct disk_limits *has,
                        const struct io_limits *requested, struct error *err) {
    struct hypervisor *hypervisor = limiter->settings.hypervisor;
    const struct io_limits limits =
        requested ? io_limits_settled(requested) : (struct io_limits){ 0 };
    bool any = io_limits_any(&limits);
    autoarena struct arena *arena = arena_new();

    if (!has->ours && !any)
        return 0;
    if (has->ours && io_limits_same(&has->limits, &limits))
        return 1;
    if (hypervisor->limit_disk(hypervisor, arena, &has->disk, &limits, err) < 0)
        return -1;
    log_info(NULL, any ? "I/O limits of a disk set" : "I/O limits of a disk removed", "volume_id",
             has->disk.serial, "instance_uuid", has->disk.instance_uuid, NULL);
    return any;
}

static int apply_all_limits(struct limiter *limiter, struct arena *arena,
                            const struct remote_limits *requested, unsigned count,
                            struct error *err) {
    struct hypervisor *hypervisor = limiter->settings.hypervisor;
    struct disk_limits *disks = NULL;
    bool clean = true;
    int result = hypervisor->list_limits(hypervisor, arena, &disks, err);

    limiter->seen = limiter->seen || result == 0;
    limiter->absent = result < 0 && !limiter->seen && err->kind == ERROR_UNAVAILABLE;
    if (result < 0)
        return -1;
    for (const struct disk_limits *disk = disks; disk; disk = disk->next) {
        int settled =
            apply_limits(limiter, disk, limits_find(requested, count, disk->disk.serial), err);

        clean = clean && settled == 0;
        if (settled < 0)
            result = -1; /* the remaining disks are processed */
    }
    limiter->clean = clean;
    return result;
}

static int run_round(struct limiter *limiter, struct error *err) {
    const struct limiter_settings *settings = &limiter->settings;
    autoarena struct arena *arena = arena_new();
    struct remote_limits *requested = NULL;
    int count = limits_list(&settings->api, arena, settings->host, &requested, err);

    if (count <= 0 && (count < 0 || limiter->clean))
        return count;
    return apply_all_limits(limiter, arena, requested, (unsigned)count, err);
}

static int64_t run_limits(void *arg) {
    struct limiter *limiter = arg;
    bool was_absent = limiter->absent;
    struct error err = { 0 };
    int result;

    limiter->absent = false;
    result = run_round(limiter, &err);
    if (limiter->absent && !limiter->failed)
        log_info(NULL, "I/O limits of disks cannot be set yet", "reason", err.message, NULL);
    if (result < 0 && !limiter->absent && (was_absent || !limiter->failed))
        log_warning(NULL, "I/O limits of disks cannot be set", "reason", err.message, NULL);
    if (result == 0 && limiter->failed)
        log_info(NULL, "I/O limits of disks are set again", NULL);
    limiter->failed = result < 0;
    return limiter->settings.pause_ms;
}

struct limiter *limiter_new(const struct limiter_settings *settings) {
    struct limiter *limiter = heap_new(sizeof *limiter);

    limiter->settings = *settings;
    limiter->settings.api.repeats = 0; /* the next round is the retry */
    limiter->ticker = ticker_start("limits", run_limits, limiter);
    return limiter;
}

void limiter_free(struct limiter *limiter) {
    ticker_stop(limiter->ticker);
    free(limiter);
}
