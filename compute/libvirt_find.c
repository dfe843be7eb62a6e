/*
 * Finds the disk of a volume in any guest, and reads its state.
 */
#include "common/cleanup.h"
#include "compute/blocks.h"
#include "compute/domain_xml.h"
#include "compute/libvirt.private.h"

/* While a block job runs, and until libvirt has processed its end, QEMU's images are not
 * queried. */
static int read_capacity(virConnectPtr connection, virDomainPtr domain, struct disk *disk,
                         struct error *err) {
    virDomainBlockJobInfo job_info;
    virDomainBlockInfo info;
    int job = virt.virDomainGetBlockJobInfo(domain, disk->target, &job_info, 0);

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
    if (virt.virDomainGetBlockInfo(domain, disk->target, &info, 0) < 0)
        return virt_fail_query(connection, "reading the disk's size", err);
    disk->capacity = (int64_t)info.capacity;
    return 0;
}

/* Does a running guest have the disk, and is it busy? */
static int read_state(virConnectPtr connection, virDomainPtr domain, struct disk *disk,
                      struct error *err) {
    int active = virt.virDomainIsActive(domain), state, reason;

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
    return read_capacity(connection, domain, disk, err);
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
static int read_disk(virConnectPtr connection, virDomainPtr domain, const char *volume_id,
                     struct disk *ret, struct error *err) {
    struct error failure = { 0 };
    struct disk disk;
    int found = describe_disk(connection, domain, volume_id, &disk, err);

    if (found <= 0)
        return found;
    if (read_state(connection, domain, &disk, &failure) < 0)
        return libvirt_unless_gone(-1, &failure, err);
    *ret = disk;
    return 1;
}

/* Only the guest that has the disk is queried: others may be unresponsive. */
static int find_anywhere(virConnectPtr connection, const char *volume_id, struct disk *ret,
                         struct error *err) {
    autodomains virDomainPtr *domains = NULL;
    int count = virt.virConnectListAllDomains(connection, &domains, 0), total = 0;
    virDomainPtr owner = NULL;

    if (count < 0)
        return virt_fail(connection, "listing the domains", err);
    for (int i = 0; i < count; i++) {
        struct disk disk;
        int found = describe_disk(connection, domains[i], volume_id, &disk, err);

        if (found < 0)
            return -1;
        if (found > 0)
            owner = domains[i];
        total += found;
    }
    if (total > 1)
        return error_set(err, ERROR_BACKEND, "%d domains have a disk with serial %s", total,
                         volume_id);
    return owner ? read_disk(connection, owner, volume_id, ret, err) : 0;
}

int libvirt_find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                      const char *volume_id, struct disk *ret, struct error *err) {
    autoconnection virConnectPtr connection = virt_link_open(libvirt_link(hypervisor), err);
    autodomain virDomainPtr domain = NULL;
    struct disk disk = { .state = DISK_NOT_HERE };
    int found;

    (void)arena;
    if (!connection)
        return -1;
    if (instance_uuid) {
        found = libvirt_find_domain(connection, instance_uuid, &domain, err);
        if (found > 0)
            found = read_disk(connection, domain, volume_id, &disk, err);
    } else {
        found = find_anywhere(connection, volume_id, &disk, err);
    }
    if (found >= 0)
        *ret = disk;
    return found < 0 ? -1 : 0;
}
