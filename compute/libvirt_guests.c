/*
 * The guests of this host, whatever disks they have: which are to be looked at, and what is done to
 * one.
 */
#include "common/cleanup.h"
#include "compute/domain_xml.h"
#include "compute/fence.h"
#include "compute/libvirt.private.h"
#include "compute/stopped.h"

#include <string.h>

/* Puts the domain's in front of the list; one that has gone has none. */
static int list_domain(virConnectPtr connection, virDomainPtr domain, struct arena *arena,
                       struct disk_limits **list, struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(domain, 0);
    const struct disk_limits *before = *list;
    struct error failure = { 0 };
    char uuid[VIR_UUID_STRING_BUFLEN];

    if (!xml)
        return libvirt_unless_gone(virt_fail(connection, "reading the domain", &failure), &failure,
                                   err);
    if (domain_xml_list_limits(xml, arena, list, err) < 0)
        return -1;
    if (virt.virDomainGetUUIDString(domain, uuid) < 0)
        return virt_fail(connection, "reading the domain's UUID", err);
    for (struct disk_limits *disk = *list; disk != before; disk = disk->next)
        strcpy(disk->disk.instance_uuid, uuid);
    return 0;
}

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
    for (int i = 0; i < count; i++)
        if (list_domain(connection, domains[i], arena, ret, err) < 0)
            return -1;
    return 0;
}

/* 1: it is one of those; 0; -1. */
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

static int has_left(virConnectPtr connection, virDomainPtr domain, struct error *err) {
    (void)connection, (void)err;
    return fence_may_be_left(domain);
}

int libvirt_list_used(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                      struct error *err) {
    return list_guests(hypervisor, arena, has_left, ret, err);
}

/* One that has gone meanwhile is none. */
int libvirt_list_stopped(struct hypervisor *hypervisor, struct arena *arena,
                         const char *const **ret, struct error *err) {
    return list_guests(hypervisor, arena, stopped_by_error, ret, err);
}

/* What is done to a guest, unless it is being moved or has gone (0). */
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

int libvirt_tidy(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                 struct error *err) {
    return act_on(hypervisor, arena, instance_uuid, fence_tidy, err);
}

int libvirt_go_on(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                  struct error *err) {
    return act_on(hypervisor, arena, instance_uuid, stopped_go_on, err);
}
