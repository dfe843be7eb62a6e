/*
 * Declarations shared by the files that implement the libvirt hypervisor.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/virt.h"
#include "compute/hypervisor/virt_link.h"

struct libvirt {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    struct virt_link *link;
};

static inline struct virt_link *libvirt_link(struct hypervisor *hypervisor) {
    return ((struct libvirt *)hypervisor)->link;
}

/* 1 with *ret; 0: no such domain; -1: failed. */
int libvirt_find_domain(virConnectPtr connection, const char *uuid, virDomainPtr *ret,
                        struct error *err);
/* 0 when the failure is that the domain is gone. */
int libvirt_unless_gone(int found, const struct error *failure, struct error *err);
/* ERROR_UNAVAILABLE: the guest would not respond.  *ret_moving: it would respond after its
 * migration only. */
int libvirt_check_monitor(virConnectPtr connection, virDomainPtr domain, bool *ret_moving,
                          struct error *err);

/* Members of struct hypervisor: disks (libvirt_find.c) and guests (libvirt_guests.c). */
int libvirt_find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                      const char *volume_id, struct disk *ret, struct error *err);
int libvirt_list_limits(struct hypervisor *hypervisor, struct arena *arena,
                        struct disk_limits **ret, struct error *err);
int libvirt_list_guarded(struct hypervisor *hypervisor, struct arena *arena,
                         const char *const **ret, struct error *err);
int libvirt_remove_guards(struct hypervisor *hypervisor, struct arena *arena,
                          const char *instance_uuid, struct error *err);
int libvirt_list_stopped(struct hypervisor *hypervisor, struct arena *arena,
                         const char *const **ret, struct error *err);
int libvirt_resume(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                   struct error *err);
