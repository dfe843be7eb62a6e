#include "compute/reviver.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/ticker.h"

#include <stdlib.h>
#include <string.h>

/* Touched only by its ticker's thread. */
struct reviver {
    struct reviver_settings settings;
    struct ticker *ticker;
    bool failed, failed_before; /* some of this round, and of the one before: then the log has it */
};

/* ---- is it its guest's? ---- */

static bool is_of(const struct remote_volume *volume, const char *instance_uuid) {
    char instance[UUID_SIZE];

    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *uuid = volume->attachments[i].instance_uuid;

        if (uuid && uuid_parse(uuid, instance) && strcmp(instance, instance_uuid) == 0)
            return true;
    }
    return false;
}

/* Of what the API does not know it says nothing. */
static int check_disk(const struct reviver *reviver, struct arena *arena, const struct disk *disk,
                      struct error *err) {
    struct remote_volume volume;

    if (volumes_read(&reviver->settings.api, arena, disk->serial, NULL, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    return is_of(&volume, disk->instance_uuid)
               ? 0
               : error_set(err, ERROR_PRECONDITION, "volume %s is not attached to it any more",
                           disk->serial);
}

static int check_disks(const struct reviver *reviver, struct arena *arena,
                       const char *instance_uuid, struct error *err) {
    struct hypervisor *hypervisor = reviver->settings.hypervisor;
    struct disk_limits *disks = NULL;

    if (hypervisor->list_limits(hypervisor, arena, &disks, err) < 0)
        return -1;
    for (const struct disk_limits *one = disks; one; one = one->next)
        if (strcmp(one->disk.instance_uuid, instance_uuid) == 0 &&
            check_disk(reviver, arena, &one->disk, err) < 0)
            return -1;
    return 0;
}

/* ---- rounds ---- */

static void revive_guest(struct reviver *reviver, const char *instance_uuid) {
    struct hypervisor *hypervisor = reviver->settings.hypervisor;
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    int gone_on = check_disks(reviver, arena, instance_uuid, &err);

    if (gone_on == 0)
        gone_on = hypervisor->go_on(hypervisor, arena, instance_uuid, &err);
    if (gone_on > 0)
        log_warning(NULL, "an instance that an I/O error had stopped goes on", "instance_uuid",
                    instance_uuid, NULL);
    if (gone_on >= 0 || err.kind == ERROR_CONFLICT)
        return;
    reviver->failed = true;
    if (!reviver->failed_before)
        log_warning(NULL, "an instance that an I/O error has stopped does not go on",
                    "instance_uuid", instance_uuid, "reason", err.message, NULL);
}

/* A hypervisor that does not answer others tell of. */
static int64_t revive(void *arg) {
    struct reviver *reviver = arg;
    struct hypervisor *hypervisor = reviver->settings.hypervisor;
    autoarena struct arena *arena = arena_new();
    const char *const *uuids;
    struct error err = { 0 };

    reviver->failed_before = reviver->failed;
    reviver->failed = false;
    if (hypervisor->list_stopped(hypervisor, arena, &uuids, &err) == 0)
        for (; *uuids; uuids++)
            revive_guest(reviver, *uuids);
    return reviver->settings.pause_ms;
}

struct reviver *reviver_new(const struct reviver_settings *settings) {
    struct reviver *reviver = heap_new(sizeof(*reviver));

    reviver->settings = *settings;
    reviver->settings.api.repeats = 0; /* the next look is the repetition */
    reviver->ticker = ticker_start("revive", revive, reviver);
    return reviver;
}

void reviver_free(struct reviver *reviver) {
    ticker_stop(reviver->ticker);
    free(reviver);
}
