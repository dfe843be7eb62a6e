/*
 * Finds the disk of a volume in any guest, and reads its state.
 */
#include "common/cleanup.h"
#include "compute/hypervisor/blocks.h"
#include "compute/hypervisor/domain_xml.h"
#include "compute/hypervisor/libvirt.private.h"
#include "compute/hypervisor/monitor.h"

/* Does a running guest have the disk, and is it busy? */
static int read_state(const struct guest *guest, struct disk *disk, struct error *err) {
    virConnectPtr connection = guest->connection;
    virDomainPtr domain = guest->domain;
    int active = virt.virDomainIsActive(domain), state, reason, job;
    virDomainBlockJobInfo job_info;
    const json_t *block;

    if (active < 0 || virt.virDomainGetState(domain, &state, &reason, 0) < 0)
        return virt_fail_query(connection, "reading the domain's state", err);
    disk->state = active ? DISK_RUNNING : DISK_OFF;
    if (!active)
        return 0;
    if (libvirt_check_monitor(connection, domain, &disk->moving, err) < 0)
        return -1;
    if (disk->moving) { /* it would respond after the migration only */
        disk->job = true;
        return 0;
    }
    disk->moving = state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_MIGRATION;
    /* The capacity is read only after libvirt has processed the end of the last block job. */
    job = virt.virDomainGetBlockJobInfo(domain, disk->target, &job_info, 0);
    if (job < 0)
        return virt_fail_query(connection, "reading the disk's jobs", err);
    disk->job = job > 0 || disk->moving || blocks_job_ends(domain);
    if (job > 0) {
        disk->job_done = (int64_t)job_info.cur;
        disk->job_total = (int64_t)job_info.end;
        return 0;
    }
    if (disk->job && !disk->moving)
        return 0;
    block = monitor_find_block(guest, disk->device, err);
    if (block)
        return monitor_read_capacity(block, &disk->capacity, err);
    if (err->kind == ERROR_BACKEND)
        err->kind = ERROR_CONFLICT; /* as by virt_fail_query() */
    return -1;
}

/* Queries libvirt alone, not the guest: 1 with *ret; 0: the domain has no such disk (or is gone);
 * -1: failed. */
static int describe_disk(virConnectPtr connection, virDomainPtr domain, const char *volume_id,
                         struct disk *ret, struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(domain, 0);
    struct error failure = { 0 };
    struct disk disk = { .state = DISK_NOT_HERE };
    int found = xml ? domain_xml_find_disk(xml, volume_id, &disk, &failure)
                    : virt_fail(connection, "reading the domain", &failure);

    if (found > 0 && virt.virDomainGetUUIDString(domain, disk.instance_uuid) < 0)
        found = virt_fail(connection, "reading the domain's UUID", &failure);
    if (found > 0)
        *ret = disk;
    return libvirt_unless_gone(found, &failure, err);
}

/* The same with the state read from the guest. */
static int read_disk(const struct guest *guest, const char *volume_id, struct disk *ret,
                     struct error *err) {
    struct error failure = { 0 };
    struct disk disk;
    int found = describe_disk(guest->connection, guest->domain, volume_id, &disk, err);

    if (found <= 0)
        return found;
    if (read_state(guest, &disk, &failure) < 0)
        return libvirt_unless_gone(-1, &failure, err);
    *ret = disk;
    return 1;
}

/* Only the guest that has the disk is queried: others may be unresponsive. */
static int find_anywhere(struct guest *guest, const char *volume_id, struct disk *ret,
                         struct error *err) {
    virConnectPtr connection = guest->connection;
    autodomains virDomainPtr *domains = NULL;
    int count = virt.virConnectListAllDomains(connection, &domains, 0), total = 0;

    if (count < 0)
        return virt_fail(connection, "listing the domains", err);
    for (int i = 0; i < count; i++) {
        struct disk disk;
        int found = describe_disk(connection, domains[i], volume_id, &disk, err);

        if (found < 0)
            return -1;
        if (found > 0)
            guest->domain = domains[i];
        total += found;
    }
    if (total > 1)
        return error_set(err, ERROR_BACKEND, "%d domains have a disk of volume %s", total,
                         volume_id);
    return total ? read_disk(guest, volume_id, ret, err) : 0;
}

int libvirt_find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                      const char *volume_id, struct disk *ret, struct error *err) {
    autoconnection virConnectPtr connection = virt_link_open(libvirt_link(hypervisor), err);
    autodomain virDomainPtr domain = NULL;
    struct disk disk = { .state = DISK_NOT_HERE };
    struct guest guest = { .connection = connection, .arena = arena };
    int found;

    if (!connection)
        return -1;
    if (instance_uuid) {
        found = libvirt_find_domain(connection, instance_uuid, &domain, err);
        guest.domain = domain;
        if (found > 0)
            found = read_disk(&guest, volume_id, &disk, err);
    } else {
        found = find_anywhere(&guest, volume_id, &disk, err);
    }
    if (found >= 0)
        *ret = disk;
    return found < 0 ? -1 : 0;
}
