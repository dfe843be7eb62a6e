/*
 * What the files over libvirt that are one hypervisor share.
 */
#pragma once

#include "compute/hypervisor.h"
#include "compute/virt.h"
#include "compute/virt_link.h"

struct libvirt {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    struct virt_link *link;
};

static inline struct virt_link *libvirt_link(struct hypervisor *hypervisor) {
    return ((struct libvirt *)hypervisor)->link;
}

/* 1 with *ret, 0 there is no such domain, -1 failed. */
int libvirt_find_domain(virConnectPtr connection, const char *uuid, virDomainPtr *ret,
                        struct error *err);
/* A domain that is gone by then has no such thing (0). */
int libvirt_unless_gone(int found, const struct error *failure, struct error *err);
/* ERROR_UNAVAILABLE: the guest would not answer.  *ret_moving: it would at the end of its move. */
int libvirt_check_monitor(virConnectPtr connection, virDomainPtr domain, bool *ret_moving,
                          struct error *err);

/* Members of struct hypervisor: a disk (libvirt_find.c), and guests (libvirt_guests.c). */
int libvirt_find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                      const char *volume_id, struct disk *ret, struct error *err);
int libvirt_list_limits(struct hypervisor *hypervisor, struct arena *arena,
                        struct disk_limits **ret, struct error *err);
int libvirt_list_used(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                      struct error *err);
int libvirt_tidy(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                 struct error *err);
int libvirt_list_stopped(struct hypervisor *hypervisor, struct arena *arena,
                         const char *const **ret, struct error *err);
int libvirt_go_on(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                  struct error *err);
