/*
 * libvirt's I/O limits of a running guest's disk (hypervisor.h).
 *
 * Limits of the agent use a throttle group with the volume's id in its name, which identifies them,
 * also for a restarted agent; other limits stay untouched.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/virt.h"

#define IOTUNE_GROUP "scoria-" /* followed by the volume's id */

int iotune_set(const struct guest *guest, const struct disk *disk, const struct io_limits *limits,
               struct error *err);
