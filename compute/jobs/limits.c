#include "compute/jobs/limits.h"

#include "client/limits.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/ticker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The id of the disk's volume.  Nova swaps a disk's volume for another and leaves the serial
 * number: the file decides, unless it only has the name of another volume, as that of one that was
 * migrated, which has no limits. */
static const char *volume_of(const struct disk_limits *disks, const struct disk_limits *disk,
                             const struct remote_limits *requested, unsigned count) {
    const char *serial = disk->disk.serial;

    if (!disk->file_id[0])
        return serial;
    if (limits_find(requested, count, disk->file_id))
        return disk->file_id;
    for (const struct disk_limits *other = disks; other; other = other->next)
        if (other != disk && strcmp(other->file_id, serial) == 0)
            return disk->file_id;
    return serial;
}

/* 1: the disk has limits of the agent; 0: it has none. */
static int apply_limits(const struct limiter *limiter, const struct disk_limits *has,
                        const char *volume_id, const struct io_limits *requested,
                        struct error *err) {
    struct hypervisor *hypervisor = limiter->settings.hypervisor;
    struct disk disk = has->disk;
    const struct io_limits limits =
        requested ? io_limits_settled(requested) : (struct io_limits){ 0 };
    bool any = io_limits_any(&limits);
    autoarena struct arena *arena = arena_new();

    if (!has->ours && !any)
        return 0;
    if (has->ours && strcmp(has->group, volume_id) == 0 && io_limits_same(&has->limits, &limits))
        return 1;
    snprintf(disk.serial, sizeof(disk.serial), "%s", volume_id);
    if (hypervisor->limit_disk(hypervisor, arena, &disk, &limits, err) < 0)
        return -1;
    log_info(NULL, any ? "I/O limits of a disk set" : "I/O limits of a disk removed", "volume_id",
             volume_id, "instance_uuid", disk.instance_uuid, NULL);
    return any;
}

static int run_round(struct limiter *limiter, struct error *err) {
    const struct limiter_settings *settings = &limiter->settings;
    struct hypervisor *hypervisor = settings->hypervisor;
    autoarena struct arena *arena = arena_new();
    struct remote_limits *requested = NULL;
    struct disk_limits *disks = NULL;
    bool clean = true;
    int found = limits_list(&settings->api, arena, settings->host, &requested, err), result;
    unsigned count = (unsigned)found;

    if (found <= 0 && (found < 0 || limiter->clean))
        return found;
    result = hypervisor->list_limits(hypervisor, arena, &disks, err);
    limiter->seen = limiter->seen || result == 0;
    limiter->absent = result < 0 && !limiter->seen && err->kind == ERROR_UNAVAILABLE;
    if (result < 0)
        return -1;
    for (const struct disk_limits *disk = disks; disk; disk = disk->next) {
        const char *volume_id = volume_of(disks, disk, requested, count);
        int settled =
            apply_limits(limiter, disk, volume_id, limits_find(requested, count, volume_id), err);

        clean = clean && settled == 0;
        if (settled < 0)
            result = -1; /* the remaining disks are processed */
    }
    limiter->clean = clean;
    return result;
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
