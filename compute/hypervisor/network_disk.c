#include "compute/hypervisor/network_disk.h"

#include "common/clock.h"
#include "compute/hypervisor/monitor.h"
#include "json/json.h"

#include <string.h>
#include <time.h>

#define PAUSE_NS    ((long)50000000)
#define PATIENCE_US ((int64_t)3000000)

/* QEMU reconnects on a read; the first attempt starts that, and a later one finds it done.  The
 * data is discarded. */
static int read_block(const struct guest *guest, const char *device, struct error *err) {
    json_t *command = json_keep(guest->arena, json_object()), *arguments = json_object();

    json_object_set_new(command, "execute", json_string("human-monitor-command"));
    json_object_set_new(command, "arguments", arguments);
    json_object_set_new(
        arguments, "command-line",
        json_string(arena_format(guest->arena, "qemu-io -d \"%s\" \"read 0 512\"", device)));
    return monitor_query(guest, json_text(guest->arena, command), NULL, err) == 0 ? 0 : -1;
}

/* The server never accepts a size other than its own, and a guest never a smaller one. */
static int resize_when_connected(const struct guest *guest, const struct disk *disk,
                                 const char *device, int64_t bytes, struct error *err) {
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    int64_t until_us = clock_monotonic_us() + PATIENCE_US;

    while (virt.virDomainBlockResize(guest->domain, disk->target, (unsigned long long)bytes,
                                     VIR_DOMAIN_BLOCK_RESIZE_BYTES) != 0) {
        virt_fail(guest->connection, "resizing the disk", err);
        if (err->kind == ERROR_BACKEND)
            error_set(err, ERROR_CONFLICT, "the disk's server has not grown yet");
        if (err->kind != ERROR_CONFLICT || clock_monotonic_us() >= until_us ||
            read_block(guest, device, err) < 0)
            return -1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Requests that were in flight at the disconnect are repeated. */
static int resume_guest(const struct guest *guest, const struct disk *disk, struct error *err) {
    const json_t *block = monitor_find_block(guest, disk->device, err);
    const char *status = json_text_of(block, "io-status");
    int state, reason;

    if (!block || virt.virDomainGetState(guest->domain, &state, &reason, 0) < 0)
        return block ? virt_fail_query(guest->connection, "reading the domain's state", err) : -1;
    if (state != VIR_DOMAIN_PAUSED || reason != VIR_DOMAIN_PAUSED_IOERROR || !status ||
        strcmp(status, "failed") != 0 || virt.virDomainResume(guest->domain) == 0)
        return 0;
    return virt_fail(guest->connection, "resuming the instance", err);
}

int network_disk_grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
                      struct error *err) {
    const json_t *block = monitor_find_block(guest, disk->device, err);
    const char *device = json_text_of(block, "qdev");

    if (!block || !device || strpbrk(device, "\"\\"))
        return block ? error_set(err, ERROR_BACKEND, "QEMU has no name for the disk") : -1;
    if (resize_when_connected(guest, disk, device, bytes, err) < 0)
        return -1;
    return resume_guest(guest, disk, err);
}
