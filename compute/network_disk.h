/*
 * Disks of guests that are served over NBD: when one has grown its server has let go of its
 * clients, and QEMU sees the new size when it has connected again and is asked for just that size.
 */
#pragma once

#include "compute/hypervisor.h"
#include "compute/virt.h"

/* The guest sees at least so much, and goes on if an error of that disk has stopped it.
 * ERROR_CONFLICT: the server has not grown yet, or does not take the guest back yet. */
int network_disk_grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
                      struct error *err);
