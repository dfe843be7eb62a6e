/*
 * The limits of a running guest's disk, as libvirt has them (hypervisor.h).
 *
 * Ours belong to a throttle group of the volume's name: by it they are known again, also by an
 * agent that has been started anew, and those of anybody else are left alone.
 */
#pragma once

#include "compute/hypervisor.h"
#include "compute/virt.h"

#define IOTUNE_GROUP "scoria-" /* and the volume's id */

int iotune_set(const struct guest *guest, const struct disk *disk, const struct io_limits *limits,
               struct error *err);
