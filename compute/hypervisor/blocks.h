/*
 * The chain of images below a running guest's disk, and libvirt's operations on it.
 *
 * Each call names the disk by its expected current image, not by its target: libvirt looks that up
 * under its own lock of the domain, so a call that is delayed until after another snapshot of the
 * disk finds no such disk and changes nothing.  The same holds for a call about missing images.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/virt.h"

/* See hypervisor.h. */
int blocks_list(const struct guest *guest, const struct disk *disk, const char *const **ret,
                struct error *err);
int blocks_snapshot(const struct guest *guest, const struct disk_overlay *overlays, unsigned count,
                    struct error *err);
int blocks_merge(const struct guest *guest, const struct disk *disk, const char *top,
                 const char *base, struct error *err);
int blocks_forget(const struct guest *guest, const struct disk *disk, struct error *err);

/*
 * Is a block job of the guest ending, on any of its disks?  Until libvirt has processed that, the
 * definition of the domain has the former chain.  False when it cannot be determined.
 */
bool blocks_job_ends(virDomainPtr domain);
