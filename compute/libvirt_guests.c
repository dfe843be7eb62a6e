/*
 * Lists of this host's guests, and calls to one guest.
 */
#include "common/cleanup.h"
#include "compute/domain_xml.h"
#include "compute/libvirt.private.h"
#include "compute/resize_guard.h"
#include "compute/stopped.h"

#include <string.h>

/* Prepends the domain's disks to the list; none if it is gone. */
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
