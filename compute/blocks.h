/*
 * The chain of images below a running guest's disk, and what libvirt does to it.
 *
 * Each call names the disk by the image that it is believed to write to, not by its target: libvirt
 * looks for that under its own lock of the domain, so a call that comes late, after another
 * snapshot of the disk, finds no such disk and changes nothing.  Nor does one whose images are
 * gone.
 */
#pragma once

#include "compute/hypervisor.h"
#include "compute/virt.h"

/* As in hypervisor.h. */
int blocks_list(const struct guest *guest, const struct disk *disk, const char *const **ret,
                struct error *err);
int blocks_snapshot(const struct guest *guest, const struct disk_overlay *overlays, unsigned count,
                    struct error *err);
int blocks_merge(const struct guest *guest, const struct disk *disk, const char *top,
                 const char *base, struct error *err);
int blocks_forget(const struct guest *guest, const struct disk *disk, struct error *err);

/*
 * Is a job of the guest's ending just now, on any of its disks?  Until libvirt has taken note of
 * that, QEMU 7.2 crashes when it is asked for its block nodes, as virDomainGetBlockInfo() does.
 * Who cannot say it says no.
 */
bool blocks_job_ends(virDomainPtr domain);
