/*
 * Growing the disk of a running guest through a fence that QEMU itself checks (A4, X25).
 *
 * QEMU's block_resize sets any size, also a smaller one, and between a look at the capacity and
 * the resize a process may pause for as long as it likes.  So an attempt puts a pass-through node
 * with a name of its own on top of the disk, takes away the nodes of all other attempts, looks at
 * the capacity only then, and resizes through its own node.  Whoever grows the disk later has
 * taken that node away before: a command that comes late, from a paused agent or out of a queue of
 * libvirtd's, finds no node and QEMU refuses it.  A guest that was started anew has no such node
 * either.
 *
 * libvirt marks a domain of which the monitor was used so as tainted ("custom-monitor").
 */
#pragma once

#include "compute/hypervisor.h"
#include "compute/virt.h"

/* Grows the disk unless it is so large already.  ERROR_CONFLICT: another attempt, or the disk's
 * guest, came in between. */
int fence_grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
               struct error *err);

/* May an attempt have left its fence in the guest?  Not in one of which nobody has used the
 * monitor; who cannot say it may. */
bool fence_may_be_left(virDomainPtr domain);

/* Takes away what attempts of dead agents left in the guest. */
int fence_tidy(const struct guest *guest, struct error *err);
