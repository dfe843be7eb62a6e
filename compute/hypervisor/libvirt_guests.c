/*
 * Lists of this host's guests, and calls to one guest.
 */
#include "common/cleanup.h"
#include "compute/hypervisor/domain_xml.h"
#include "compute/hypervisor/libvirt.private.h"
#include "compute/hypervisor/nbd_probe.h"
#include "compute/hypervisor/resize_guard.h"

#include <stdlib.h>
#include <string.h>

#define DISKS_MOST 64

int libvirt_list_limits(struct hypervisor *hypervisor, struct arena *arena,
                        struct disk_limits **ret, struct error *err) {
    autoconnection virConnectPtr connection = virt_link_share(libvirt_link(hypervisor), err);
    autodomains virDomainPtr *domains = NULL;
    int count;

    if (!connection)
        return -1;
    count = virt.virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    if (count < 0)
        return virt_fail(connection, "listing the domains", err);
    *ret = NULL;
    for (int i = 0; i < count; i++) {
        autofree char *xml = virt.virDomainGetXMLDesc(domains[i], 0);
        const struct disk_limits *before = *ret;
        struct error failure = { 0 };
        char uuid[VIR_UUID_STRING_BUFLEN];

        if (!xml && libvirt_unless_gone(virt_fail(connection, "reading the domain", &failure),
                                        &failure, err) < 0)
            return -1;
        if (!xml)
            continue;
        if (domain_xml_list_limits(xml, arena, ret, err) < 0)
            return -1;
        if (virt.virDomainGetUUIDString(domains[i], uuid) < 0)
            return virt_fail(connection, "reading the domain's UUID", err);
        for (struct disk_limits *disk = *ret; disk != before; disk = disk->next)
            strcpy(disk->disk.instance_uuid, uuid);
    }
    return 0;
}

/* 1: the domain belongs to the list; 0: not; -1: failed. */
typedef int is_wanted(virConnectPtr connection, virDomainPtr domain, struct error *err);

static int list_guests(struct hypervisor *hypervisor, struct arena *arena, is_wanted *wanted,
                       const char *const **ret, struct error *err) {
    autoconnection virConnectPtr connection = virt_link_share(libvirt_link(hypervisor), err);
    autodomains virDomainPtr *domains = NULL;
    const char **uuids;
    int count, used = 0;

    if (!connection)
        return -1;
    count = virt.virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    if (count < 0)
        return virt_fail(connection, "listing the domains", err);
    uuids = arena_alloc(arena, ((size_t)count + 1) * sizeof(*uuids));
    for (int i = 0; i < count; i++) {
        char uuid[VIR_UUID_STRING_BUFLEN];

        if (wanted(connection, domains[i], err) > 0 &&
            virt.virDomainGetUUIDString(domains[i], uuid) == 0)
            uuids[used++] = arena_text(arena, uuid);
    }
    *ret = uuids;
    return 0;
}

static int may_have_guards(virConnectPtr connection, virDomainPtr domain, struct error *err) {
    (void)connection, (void)err;
    return resize_guard_may_remain(domain);
}

int libvirt_list_guarded(struct hypervisor *hypervisor, struct arena *arena,
                         const char *const **ret, struct error *err) {
    return list_guests(hypervisor, arena, may_have_guards, ret, err);
}

/*
 * ---- guests stopped by an error ----
 *
 * libvirt has paused them because a disk had an I/O error (error_policy stop).  The failed requests
 * are repeated when they are resumed; QEMU's NBD client then reconnects to its server.
 */

/* 1, 0; -1: unknown, check again. */
static int stopped_by_error(virConnectPtr connection, virDomainPtr domain, struct error *err) {
    int state, reason;

    if (virt.virDomainGetState(domain, &state, &reason, 0) < 0)
        return virt_fail_query(connection, "reading the domain's state", err);
    return state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_IOERROR;
}

/* 1: the servers of all failed disks are available; 0: another disk has failed, or not yet. */
static int are_served(const struct guest *guest, const virDomainDiskError *errors, int count,
                      struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(guest->domain, 0);

    if (!xml)
        return virt_fail_query(guest->connection, "reading the domain", err);
    for (int i = 0; i < count; i++) {
        struct disk_server server;
        int found = domain_xml_find_server(xml, errors[i].disk, guest->arena, &server, err);

        if (found <= 0 || !nbd_probe(server.socket, server.export))
            return found < 0 ? -1 : 0;
    }
    return count > 0;
}

static int check_disks(const struct guest *guest, struct error *err) {
    virDomainDiskError errors[DISKS_MOST];
    int count = virt.virDomainGetDiskErrors(guest->domain, errors, DISKS_MOST, 0), served;

    if (count < 0)
        return virt_fail_query(guest->connection, "reading the errors of the disks", err);
    served = are_served(guest, errors, count, err);
    for (int i = 0; i < count; i++)
        free(errors[i].disk);
    return served;
}

static int stopped_resume(const struct guest *guest, struct error *err) {
    int stopped = stopped_by_error(guest->connection, guest->domain, err), served;

    if (stopped <= 0)
        return stopped;
    served = check_disks(guest, err);
    if (served <= 0)
        return served;
    /* It may have been resumed by other means meanwhile. */
    stopped = stopped_by_error(guest->connection, guest->domain, err);
    if (stopped <= 0)
        return stopped;
    return virt.virDomainResume(guest->domain) == 0
               ? 1
               : virt_fail(guest->connection, "resuming the instance", err);
}

/* A domain that is gone is not listed. */
int libvirt_list_stopped(struct hypervisor *hypervisor, struct arena *arena,
                         const char *const **ret, struct error *err) {
    return list_guests(hypervisor, arena, stopped_by_error, ret, err);
}

/* Calls `act` unless the guest is being migrated or gone (0). */
static int act_on(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                  int (*act)(const struct guest *guest, struct error *err), struct error *err) {
    autoconnection virConnectPtr connection = virt_link_open(libvirt_link(hypervisor), err);
    autodomain virDomainPtr domain = NULL;
    struct guest guest;
    bool moving;
    int found;

    if (!connection)
        return -1;
    found = libvirt_find_domain(connection, instance_uuid, &domain, err);
    guest = (struct guest){ .connection = connection, .domain = domain, .arena = arena };
    if (found <= 0 || libvirt_check_monitor(connection, domain, &moving, err) < 0)
        return found > 0 ? -1 : found;
    return moving ? 0 : act(&guest, err);
}

int libvirt_remove_guards(struct hypervisor *hypervisor, struct arena *arena,
                          const char *instance_uuid, struct error *err) {
    return act_on(hypervisor, arena, instance_uuid, resize_guard_remove_all, err);
}

int libvirt_resume(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                   struct error *err) {
    return act_on(hypervisor, arena, instance_uuid, stopped_resume, err);
}
