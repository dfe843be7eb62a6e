#include "compute/hypervisor.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "compute/blocks.h"
#include "compute/domain_xml.h"
#include "compute/fence.h"
#include "compute/guest_agent.h"
#include "compute/guest_process.h"
#include "compute/iotune.h"
#include "compute/network_disk.h"
#include "compute/virt.h"
#include "compute/virt_link.h"

#include <stdlib.h>
#include <string.h>

/* Refuses to shrink, under the lock of the domain; since libvirt 12.3, older ones refuse the flag
 * and have a fence instead. */
#define RESIZE_EXTEND       4U
#define RESIZE_EXTEND_SINCE 12003000UL

/* Others use a guest's monitor too, but not for so long. */
#define OCCUPIED_MS 1000

struct libvirt {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    struct virt_link *link;
};

static struct virt_link *link_of(struct hypervisor *hypervisor) {
    return ((struct libvirt *)hypervisor)->link;
}

/* 1 with *ret, 0 there is no such domain, -1 failed. */
static int find_domain(virConnectPtr connection, const char *uuid, virDomainPtr *ret,
                       struct error *err) {
    struct error failure = { 0 };

    *ret = virt.virDomainLookupByUUIDString(connection, uuid);
    if (*ret)
        return 1;
    virt_fail(connection, "looking up the instance", &failure);
    if (failure.kind == ERROR_NOT_FOUND)
        return 0;
    return error_pass(err, &failure);
}

static int libvirt_has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                                struct error *err) {
    autoconnection virConnectPtr connection = virt_link_share(link_of(hypervisor), err);
    autodomain virDomainPtr domain = NULL;

    return connection ? find_domain(connection, instance_uuid, &domain, err) : -1;
}

/* A guest of which the monitor is taken would keep whoever asks it, and a thread of libvirtd's. */
static int check_monitor(virConnectPtr connection, virDomainPtr domain, bool *ret_moving,
                         struct error *err) {
    char uuid[VIR_UUID_STRING_BUFLEN];
    virDomainControlInfo info = { .state = VIR_DOMAIN_CONTROL_OK };

    *ret_moving = false;
    if (virt.virDomainGetUUIDString(domain, uuid) < 0 || guest_process_stands_still(uuid))
        return error_set(err, ERROR_UNAVAILABLE, "the instance's process stands still");
    if (virt.virDomainGetControlInfo(domain, &info, 0) < 0)
        return virt.virGetLastErrorCode() == VIR_ERR_NO_SUPPORT
                   ? 0
                   : virt_fail_looking(connection, "looking at the instance's monitor", err);
    if (info.state == VIR_DOMAIN_CONTROL_ERROR ||
        (info.state == VIR_DOMAIN_CONTROL_OCCUPIED && info.stateTime >= OCCUPIED_MS))
        return error_set(err, ERROR_UNAVAILABLE, "the instance's monitor does not answer");
    *ret_moving = info.state == VIR_DOMAIN_CONTROL_JOB;
    return 0;
}

/* While a job runs, and until libvirt has heard of its end, QEMU is not asked about its images. */
static int read_capacity(virConnectPtr connection, virDomainPtr domain, struct disk *disk,
                         struct error *err) {
    virDomainBlockJobInfo job_info;
    virDomainBlockInfo info;
    int job = virt.virDomainGetBlockJobInfo(domain, disk->target, &job_info, 0);

    if (job < 0)
        return virt_fail_looking(connection, "reading the disk's jobs", err);
    disk->job = job > 0 || disk->moving || blocks_job_ends(domain);
    if (job > 0) {
        disk->job_done = (int64_t)job_info.cur;
        disk->job_total = (int64_t)job_info.end;
        return 0;
    }
    if (disk->job && !disk->moving)
        return 0;
    if (virt.virDomainGetBlockInfo(domain, disk->target, &info, 0) < 0)
        return virt_fail_looking(connection, "reading the disk's size", err);
    disk->capacity = (int64_t)info.capacity;
    return 0;
}

/* Whether the guest holds the disk now, and whether something else is busy with it. */
static int read_state(virConnectPtr connection, virDomainPtr domain, struct disk *disk,
                      struct error *err) {
    int active = virt.virDomainIsActive(domain), state, reason;

    if (active < 0 || virt.virDomainGetState(domain, &state, &reason, 0) < 0)
        return virt_fail_looking(connection, "reading the domain's state", err);
    disk->state = active ? DISK_RUNNING : DISK_OFF;
    if (!active)
        return 0;
    if (check_monitor(connection, domain, &disk->moving, err) < 0)
        return -1;
    if (disk->moving) { /* it would answer at the end of that only */
        disk->job = true;
        return 0;
    }
    disk->moving = state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_MIGRATION;
    return read_capacity(connection, domain, disk, err);
}

/* A domain that is gone by then has no such disk (0). */
static int unless_gone(int found, const struct error *failure, struct error *err) {
    if (found < 0 && failure->kind == ERROR_NOT_FOUND)
        return 0;
    return found < 0 ? error_pass(err, failure) : found;
}

/* Asks libvirt alone, not the guest: 1 with *ret, 0 the domain has no such disk (or is gone), -1
 * failed. */
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
    return unless_gone(found, &failure, err);
}

/* The same with what the guest says of it. */
static int read_disk(virConnectPtr connection, virDomainPtr domain, const char *volume_id,
                     struct disk *ret, struct error *err) {
    struct error failure = { 0 };
    struct disk disk;
    int found = describe_disk(connection, domain, volume_id, &disk, err);

    if (found <= 0)
        return found;
    if (read_state(connection, domain, &disk, &failure) < 0)
        return unless_gone(-1, &failure, err);
    *ret = disk;
    return 1;
}

/* Only the guest that has the disk is asked: others may not answer. */
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

static int libvirt_find_disk(struct hypervisor *hypervisor, struct arena *arena,
                             const char *instance_uuid, const char *volume_id, struct disk *ret,
                             struct error *err) {
    autoconnection virConnectPtr connection = virt_link_open(link_of(hypervisor), err);
    autodomain virDomainPtr domain = NULL;
    struct disk disk = { .state = DISK_NOT_HERE };
    int found;

    (void)arena;
    if (!connection)
        return -1;
    if (instance_uuid) {
        found = find_domain(connection, instance_uuid, &domain, err);
        if (found > 0)
            found = read_disk(connection, domain, volume_id, &disk, err);
    } else {
        found = find_anywhere(connection, volume_id, &disk, err);
    }
    if (found >= 0)
        *ret = disk;
    return found < 0 ? -1 : 0;
}

static bool refuses_to_shrink(virConnectPtr connection) {
    unsigned long version = 0;

    return virt.virConnectGetLibVersion(connection, &version) == 0 &&
           version >= RESIZE_EXTEND_SINCE;
}

/* The image's path belongs to this volume alone; a target can be another's meanwhile. */
static int resize(const struct guest *guest, const struct disk *disk, int64_t bytes,
                  struct error *err) {
    const char *name = disk->source[0] ? disk->source : disk->target;
    virDomainBlockInfo info;

    if (virt.virDomainGetBlockInfo(guest->domain, name, &info, 0) < 0)
        return virt_fail(guest->connection, "reading the disk's size", err);
    if ((int64_t)info.capacity >= bytes)
        return 0;
    if (virt.virDomainBlockResize(guest->domain, name, (unsigned long long)bytes,
                                  VIR_DOMAIN_BLOCK_RESIZE_BYTES | RESIZE_EXTEND) < 0)
        return virt_fail(guest->connection, "resizing the disk", err);
    return 0;
}

static int grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
                struct error *err) {
    if (disk->network)
        return network_disk_grow(guest, disk, bytes, err);
    return refuses_to_shrink(guest->connection) ? resize(guest, disk, bytes, err)
                                                : fence_grow(guest, disk, bytes, err);
}

/* What a call does to the guest that has the disk. */
struct act {
    int (*run)(const struct guest *guest, const struct act *act, struct error *err);
    const struct disk *disk;
    int64_t bytes;
    const char *top, *base;
    const struct disk_overlay *overlays;
    unsigned count;
    const struct io_limits *limits;
    const char *const **ret;
};

static int ask_and_act(const struct guest *guest, const struct act *act, struct error *err) {
    bool moving;

    if (check_monitor(guest->connection, guest->domain, &moving, err) < 0)
        return -1;
    return moving ? error_set(err, ERROR_CONFLICT, "the instance is being moved")
                  : act->run(guest, act, err);
}

static int act_on_guest(struct hypervisor *hypervisor, struct arena *arena, const struct act *act,
                        struct error *err) {
    autoconnection virConnectPtr connection = virt_link_open(link_of(hypervisor), err);
    autodomain virDomainPtr domain = NULL;
    struct error failure = { 0 };
    struct guest guest;
    int found;

    if (!connection)
        return -1;
    found = find_domain(connection, act->disk->instance_uuid, &domain, err);
    if (found < 0)
        return -1;
    guest = (struct guest){ .connection = connection, .domain = domain, .arena = arena };
    if (found > 0 && ask_and_act(&guest, act, &failure) == 0)
        return 0;
    if (found == 0 || failure.kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_CONFLICT, "the instance has left this host");
    return error_pass(err, &failure);
}

static int act_grow(const struct guest *guest, const struct act *act, struct error *err) {
    return grow(guest, act->disk, act->bytes, err);
}

static int libvirt_grow_disk(struct hypervisor *hypervisor, struct arena *arena,
                             const struct disk *disk, int64_t bytes, struct error *err) {
    const struct act act = { .run = act_grow, .disk = disk, .bytes = bytes };

    return act_on_guest(hypervisor, arena, &act, err);
}

static int act_list(const struct guest *guest, const struct act *act, struct error *err) {
    return blocks_list(guest, act->disk, act->ret, err);
}

static int libvirt_list_chain(struct hypervisor *hypervisor, struct arena *arena,
                              const struct disk *disk, const char *const **ret, struct error *err) {
    const struct act act = { .run = act_list, .disk = disk, .ret = ret };

    return act_on_guest(hypervisor, arena, &act, err);
}

static int act_snapshot(const struct guest *guest, const struct act *act, struct error *err) {
    return blocks_snapshot(guest, act->overlays, act->count, err);
}

static int libvirt_snapshot_disks(struct hypervisor *hypervisor, struct arena *arena,
                                  const struct disk_overlay *overlays, unsigned count,
                                  struct error *err) {
    const struct act act = {
        .run = act_snapshot, .disk = overlays[0].disk, .overlays = overlays, .count = count
    };

    return act_on_guest(hypervisor, arena, &act, err);
}

static int act_merge(const struct guest *guest, const struct act *act, struct error *err) {
    return blocks_merge(guest, act->disk, act->top, act->base, err);
}

static int libvirt_merge_disk(struct hypervisor *hypervisor, struct arena *arena,
                              const struct disk *disk, const char *top, const char *base,
                              struct error *err) {
    const struct act act = { .run = act_merge, .disk = disk, .top = top, .base = base };

    return act_on_guest(hypervisor, arena, &act, err);
}

static int act_forget(const struct guest *guest, const struct act *act, struct error *err) {
    return blocks_forget(guest, act->disk, err);
}

static int libvirt_forget_chain(struct hypervisor *hypervisor, struct arena *arena,
                                const struct disk *disk, struct error *err) {
    const struct act act = { .run = act_forget, .disk = disk };

    return act_on_guest(hypervisor, arena, &act, err);
}

static int act_trim(const struct guest *guest, const struct act *act, struct error *err) {
    return guest_agent_trim(guest, act->disk, err);
}

static int libvirt_trim_disk(struct hypervisor *hypervisor, struct arena *arena,
                             const struct disk *disk, const char *id, struct error *err) {
    const struct act act = { .run = act_trim, .disk = disk };

    (void)id;
    return act_on_guest(hypervisor, arena, &act, err);
}

static int act_limit(const struct guest *guest, const struct act *act, struct error *err) {
    return iotune_set(guest, act->disk, act->limits, err);
}

static int libvirt_limit_disk(struct hypervisor *hypervisor, struct arena *arena,
                              const struct disk *disk, const struct io_limits *limits,
                              struct error *err) {
    const struct act act = { .run = act_limit, .disk = disk, .limits = limits };

    return act_on_guest(hypervisor, arena, &act, err);
}

/* Puts the domain's in front of the list; one that has gone has none. */
static int list_domain(virConnectPtr connection, virDomainPtr domain, struct arena *arena,
                       struct disk_limits **list, struct error *err) {
    autofree char *xml = virt.virDomainGetXMLDesc(domain, 0);
    const struct disk_limits *before = *list;
    struct error failure = { 0 };
    char uuid[VIR_UUID_STRING_BUFLEN];

    if (!xml)
        return unless_gone(virt_fail(connection, "reading the domain", &failure), &failure, err);
    if (domain_xml_list_limits(xml, arena, list, err) < 0)
        return -1;
    if (virt.virDomainGetUUIDString(domain, uuid) < 0)
        return virt_fail(connection, "reading the domain's UUID", err);
    for (struct disk_limits *disk = *list; disk != before; disk = disk->next)
        strcpy(disk->disk.instance_uuid, uuid);
    return 0;
}

static int libvirt_list_limits(struct hypervisor *hypervisor, struct arena *arena,
                               struct disk_limits **ret, struct error *err) {
    autoconnection virConnectPtr connection = virt_link_share(link_of(hypervisor), err);
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

static int libvirt_list_used(struct hypervisor *hypervisor, struct arena *arena,
                             const char *const **ret, struct error *err) {
    autoconnection virConnectPtr connection = virt_link_share(link_of(hypervisor), err);
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

        if (fence_may_be_left(domains[i]) && virt.virDomainGetUUIDString(domains[i], uuid) == 0)
            uuids[used++] = arena_text(arena, uuid);
    }
    *ret = uuids;
    return 0;
}

static int libvirt_tidy(struct hypervisor *hypervisor, struct arena *arena,
                        const char *instance_uuid, struct error *err) {
    autoconnection virConnectPtr connection = virt_link_open(link_of(hypervisor), err);
    autodomain virDomainPtr domain = NULL;
    struct guest guest;
    bool moving;
    int found;

    if (!connection)
        return -1;
    found = find_domain(connection, instance_uuid, &domain, err);
    guest = (struct guest){ .connection = connection, .domain = domain, .arena = arena };
    if (found <= 0 || check_monitor(connection, domain, &moving, err) < 0)
        return found > 0 ? -1 : found;
    return moving ? 0 : fence_tidy(&guest, err);
}

static void libvirt_free(struct hypervisor *hypervisor) {
    virt_link_free(link_of(hypervisor));
    free(hypervisor);
}

int hypervisor_libvirt_new(const char *uri, struct hypervisor **ret, struct error *err) {
    struct libvirt *libvirt;

    if (virt_library_load(err) < 0)
        return -1;
    libvirt = heap_new(sizeof(*libvirt));
    libvirt->hypervisor = (struct hypervisor){
        .has_instance = libvirt_has_instance,
        .find_disk = libvirt_find_disk,
        .grow_disk = libvirt_grow_disk,
        .list_chain = libvirt_list_chain,
        .snapshot_disks = libvirt_snapshot_disks,
        .merge_disk = libvirt_merge_disk,
        .forget_chain = libvirt_forget_chain,
        .trim_disk = libvirt_trim_disk,
        .list_limits = libvirt_list_limits,
        .limit_disk = libvirt_limit_disk,
        .list_used = libvirt_list_used,
        .tidy = libvirt_tidy,
        .free = libvirt_free,
    };
    libvirt->link = virt_link_new(uri);
    *ret = &libvirt->hypervisor;
    return 0;
}
