#include "compute/jobs/domain_resumer.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/ticker.h"

#include <stdlib.h>
#include <string.h>

/* Used only by its ticker's thread. */
struct resumer {
    struct resumer_settings settings;
    struct ticker *ticker;
    bool failed, failed_before; /* in this round, and in the one before, which has logged it */
};

/* ---- attachments ---- */

/* 1: the API does not know it. */
static int check_volume(const struct resumer *resumer, struct arena *arena, const char *id,
                        const char *instance_uuid, struct error *err) {
    struct remote_volume volume;
    char instance[UUID_SIZE];

    if (volumes_read(&resumer->settings.api, arena, id, NULL, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 1 : -1;
    for (unsigned i = 0; i < volume.attachment_count; i++) {
        const char *uuid = volume.attachments[i].instance_uuid;

        if (uuid && uuid_parse(uuid, instance) && strcmp(instance, instance_uuid) == 0)
            return 0;
    }
    return error_set(err, ERROR_PRECONDITION, "volume %s is no longer attached to the instance",
                     id);
}

/* The serial number of a disk that Nova has swapped for another is still the former one's: the file
 * decides, unless it has the name of none.  A disk that the API does not know is not a volume and
 * is not checked. */
static int check_disks(const struct resumer *resumer, struct arena *arena,
                       const char *instance_uuid, struct error *err) {
    struct hypervisor *hypervisor = resumer->settings.hypervisor;
    struct disk_limits *disks = NULL;

    if (hypervisor->list_limits(hypervisor, arena, &disks, err) < 0)
        return -1;
    for (const struct disk_limits *one = disks; one; one = one->next) {
        const struct disk *disk = &one->disk;
        int checked = 1;

        if (strcmp(disk->instance_uuid, instance_uuid) != 0)
            continue;
        if (one->file_id[0] && strcmp(one->file_id, disk->serial) != 0)
            checked = check_volume(resumer, arena, one->file_id, instance_uuid, err);
        if (checked > 0)
            checked = check_volume(resumer, arena, disk->serial, instance_uuid, err);
        if (checked < 0)
            return -1;
    }
    return 0;
}

/* ---- rounds ---- */

static void resume_guest(struct resumer *resumer, const char *instance_uuid) {
    struct hypervisor *hypervisor = resumer->settings.hypervisor;
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    int resumed = check_disks(resumer, arena, instance_uuid, &err);

    if (resumed == 0)
        resumed = hypervisor->resume(hypervisor, arena, instance_uuid, &err);
    if (resumed > 0)
        log_warning(NULL, "instance resumed after an I/O error", "instance_uuid", instance_uuid,
                    NULL);
    if (resumed >= 0 || err.kind == ERROR_CONFLICT)
        return;
    resumer->failed = true;
    if (!resumer->failed_before)
        log_warning(NULL, "instance stopped by an I/O error cannot be resumed", "instance_uuid",
                    instance_uuid, "reason", err.message, NULL);
}

/* An unresponsive hypervisor is logged by virt_link. */
static int64_t run_round(void *arg) {
    struct resumer *resumer = arg;
    struct hypervisor *hypervisor = resumer->settings.hypervisor;
    autoarena struct arena *arena = arena_new();
    const char *const *uuids;
    struct error err = { 0 };

    resumer->failed_before = resumer->failed;
    resumer->failed = false;
    if (hypervisor->list_stopped(hypervisor, arena, &uuids, &err) == 0)
        for (; *uuids; uuids++)
            resume_guest(resumer, *uuids);
    return resumer->settings.pause_ms;
}

struct resumer *resumer_new(const struct resumer_settings *settings) {
    struct resumer *resumer = heap_new(sizeof(*resumer));

    resumer->settings = *settings;
    resumer->settings.api.repeats = 0; /* the next round is the retry */
    resumer->ticker = ticker_start("resume", run_round, resumer);
    return resumer;
}

void resumer_free(struct resumer *resumer) {
    ticker_stop(resumer->ticker);
    free(resumer);
}
