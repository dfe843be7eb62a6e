/*
 * Disks of guests that are served over NBD: a server that has grown disconnects its clients, and
 * QEMU uses the new size after it has reconnected and is told to resize to it.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/virt.h"

/* Makes the guest see at least this size, and resumes it if an error of the disk has stopped it.
 * ERROR_CONFLICT: the server has not grown yet, or does not accept the guest yet. */
int network_disk_grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
                      struct error *err);
