/*
 * A volume that is served here as a file is a block device of this host, too: /dev/scoria/UID, a
 * link to a loop device over RUN/volume.  It is for programs that open a disk with O_DIRECT, as
 * QEMU does for Nova, which the file does not bear (replication/engine/target_file.c): the kernel
 * sends the requests of the device to the file one at a time.  Discards are refused there, too.
 *
 * The device outlives the agent, and waits as the file does while storage daemons restart.  /dev is
 * empty after a restart of the machine: no link leads to a number that another device has by then.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: unknown. */
struct device_export {
    dev_t file; /* the file's mount, by which one of another storage daemon differs */
    int64_t bytes;
};

const char *device_export_path(struct arena *arena, const char *volume);
/* There is a device, or there may be one that an interrupted call has left. */
bool device_export_exists(const char *volume);

/* Of a file of `bytes`: makes the device, or grows it, unless `present` is that and its link leads
 * to it.  Takes seconds where the file does not respond, then ERROR_UNAVAILABLE. */
int device_export_reconcile(struct device_export *present, const char *run, const char *volume,
                            int64_t bytes, struct error *err);

/* Removes device and link.  A device that is open ends at its last close.  Fails while the file
 * does not respond, and is repeated when its daemon has ended. */
int device_export_end(const char *volume, struct error *err);
