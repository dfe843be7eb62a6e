#include "compute/hypervisor/libvirt.private.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "compute/hypervisor/blocks.h"
#include "compute/hypervisor/guest_agent.h"
#include "compute/hypervisor/guest_process.h"
#include "compute/hypervisor/iotune.h"
#include "compute/hypervisor/monitor.h"
#include "compute/hypervisor/network_disk.h"
#include "compute/hypervisor/resize_guard.h"

#include <stdlib.h>

/* Refuses to shrink, under the lock of the domain; since libvirt 12.3.  Older versions refuse the
 * flag and need a resize guard. */
#define RESIZE_EXTEND       4U
#define RESIZE_EXTEND_SINCE 12003000UL

/* Other users of a guest's monitor occupy it for less. */
#define OCCUPIED_MS 1000

int libvirt_find_domain(virConnectPtr connection, const char *uuid, virDomainPtr *ret,
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
    autoconnection virConnectPtr connection = virt_link_share(libvirt_link(hypervisor), err);
    autodomain virDomainPtr domain = NULL;

    return connection ? libvirt_find_domain(connection, instance_uuid, &domain, err) : -1;
}

int libvirt_unless_gone(int found, const struct error *failure, struct error *err) {
    if (found < 0 && failure->kind == ERROR_NOT_FOUND)
        return 0;
    return found < 0 ? error_pass(err, failure) : found;
}

/* A call to a guest whose monitor is occupied would block, with a thread of libvirtd. */
int libvirt_check_monitor(virConnectPtr connection, virDomainPtr domain, bool *ret_moving,
                          struct error *err) {
    char uuid[VIR_UUID_STRING_BUFLEN];
    virDomainControlInfo info = { .state = VIR_DOMAIN_CONTROL_OK };

    *ret_moving = false;
    if (virt.virDomainGetUUIDString(domain, uuid) < 0 || guest_process_is_stopped(uuid))
        return error_set(err, ERROR_UNAVAILABLE, "the instance's process is stopped");
    if (virt.virDomainGetControlInfo(domain, &info, 0) < 0)
        return virt.virGetLastErrorCode() == VIR_ERR_NO_SUPPORT
                   ? 0
                   : virt_fail_query(connection, "querying the instance's monitor", err);
    if (info.state == VIR_DOMAIN_CONTROL_ERROR ||
        (info.state == VIR_DOMAIN_CONTROL_OCCUPIED && info.stateTime >= OCCUPIED_MS))
        return error_set(err, ERROR_UNAVAILABLE, "the instance's monitor does not respond");
    *ret_moving = info.state == VIR_DOMAIN_CONTROL_JOB;
    return 0;
}

/* A call to the guest that has the disk. */
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

static int act_on_guest(struct hypervisor *hypervisor, struct arena *arena, const struct act *act,
                        struct error *err) {
    autoconnection virConnectPtr connection = virt_link_open(libvirt_link(hypervisor), err);
    autodomain virDomainPtr domain = NULL;
    struct error failure = { 0 };
    struct guest guest;
    bool moving;
    int found;

    if (!connection)
        return -1;
    found = libvirt_find_domain(connection, act->disk->instance_uuid, &domain, err);
    if (found < 0)
        return -1;
    guest = (struct guest){ .connection = connection, .domain = domain, .arena = arena };
    if (found > 0 && libvirt_check_monitor(connection, domain, &moving, &failure) == 0 &&
        (moving ? error_set(&failure, ERROR_CONFLICT, "the instance is being migrated")
                : act->run(&guest, act, &failure)) == 0)
        return 0;
    if (found == 0 || failure.kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_CONFLICT, "the instance has left this host");
    return error_pass(err, &failure);
}

/* The image's path is unique to this volume; a target may be reused for another one. */
static int act_grow(const struct guest *guest, const struct act *act, struct error *err) {
    const struct disk *disk = act->disk;
    const char *name = disk->source[0] ? disk->source : disk->target;
    unsigned long version = 0;
    virDomainBlockInfo info;

    if (disk->network)
        return network_disk_grow(guest, disk, act->bytes, err);
    if (virt.virConnectGetLibVersion(guest->connection, &version) != 0 ||
        version < RESIZE_EXTEND_SINCE)
        return resize_guard_grow(guest, disk, act->bytes, err);
    if (virt.virDomainGetBlockInfo(guest->domain, name, &info, 0) < 0)
        return virt_fail(guest->connection, "reading the disk's size", err);
    if ((int64_t)info.capacity >= act->bytes)
        return 0;
    if (virt.virDomainBlockResize(guest->domain, name, (unsigned long long)act->bytes,
                                  VIR_DOMAIN_BLOCK_RESIZE_BYTES | RESIZE_EXTEND) < 0)
        return virt_fail(guest->connection, "resizing the disk", err);
    return 0;
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

static int act_flush(const struct guest *guest, const struct act *act, struct error *err) {
    return monitor_flush_disk(guest, act->disk->device, err);
}

static int libvirt_flush_disk(struct hypervisor *hypervisor, struct arena *arena,
                              const struct disk *disk, struct error *err) {
    const struct act act = { .run = act_flush, .disk = disk };

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
                             const struct disk *disk, const struct disk_trim *trim,
                             struct error *err) {
    const struct act act = { .run = act_trim, .disk = disk };

    (void)trim;
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

static void libvirt_free(struct hypervisor *hypervisor) {
    virt_link_free(libvirt_link(hypervisor));
    free(hypervisor);
}

struct hypervisor *hypervisor_libvirt_new(const char *uri) {
    struct libvirt *libvirt = heap_new(sizeof(*libvirt));

    libvirt->hypervisor = (struct hypervisor){
        .has_instance = libvirt_has_instance,
        .find_disk = libvirt_find_disk,
        .grow_disk = libvirt_grow_disk,
        .list_chain = libvirt_list_chain,
        .snapshot_disks = libvirt_snapshot_disks,
        .merge_disk = libvirt_merge_disk,
        .flush_disk = libvirt_flush_disk,
        .forget_chain = libvirt_forget_chain,
        .trim_disk = libvirt_trim_disk,
        .list_limits = libvirt_list_limits,
        .limit_disk = libvirt_limit_disk,
        .list_guarded = libvirt_list_guarded,
        .remove_guards = libvirt_remove_guards,
        .list_stopped = libvirt_list_stopped,
        .resume = libvirt_resume,
        .free = libvirt_free,
    };
    libvirt->link = virt_link_new(uri);
    return &libvirt->hypervisor;
}
