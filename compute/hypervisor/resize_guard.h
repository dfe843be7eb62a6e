/*
 * Growing the disk of a running guest under a guard node that QEMU itself checks (A4, X25).
 *
 * QEMU's block_resize sets any size, also a smaller one, and between the check of the capacity and
 * the resize a process may be paused for any time.  So each attempt adds a pass-through node with a
 * unique name on top of the disk, deletes the nodes of all other attempts, reads the capacity only
 * then, and resizes through its own node.  A later attempt has deleted that node: a delayed
 * command, of a paused agent or from a queue of libvirtd, names a missing node and QEMU refuses it.
 * A restarted guest has no such node either.
 *
 * libvirt marks a domain whose monitor was used directly as tainted ("custom-monitor").
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/virt.h"

/* Grows the disk unless it is already large enough.  ERROR_CONFLICT: another attempt or a change by
 * the guest interfered. */
int resize_guard_grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
                      struct error *err);

/* May an attempt have left its guard in the guest?  False only for a guest whose monitor was never
 * used directly. */
bool resize_guard_may_remain(virDomainPtr domain);

/* Deletes the guards that attempts of terminated agents left in the guest. */
int resize_guard_remove_all(const struct guest *guest, struct error *err);
