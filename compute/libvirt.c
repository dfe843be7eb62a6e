#include "compute/hypervisor.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "compute/domain_xml.h"
#include "compute/fence.h"
#include "compute/virt.h"

#include <assert.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A daemon that is silent for 3 × 3 s counts as gone: its pending calls fail. */
#define KEEPALIVE_SECONDS 3
#define KEEPALIVE_MISSES  3

/* Refuses to shrink, under the lock of the domain; since libvirt 12.3, older ones refuse the flag
 * and have a fence instead. */
#define RESIZE_EXTEND       4U
#define RESIZE_EXTEND_SINCE 12003000UL

static const struct log_context no_request;

struct libvirt {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    char *uri;
    pthread_mutex_t lock; /* guards the connection and `silent`; held while it is opened */
    virConnectPtr connection;
    bool silent; /* the outage is in the log */
};

/* libvirt would write every error to stderr; ours go into the log. */
static void stay_quiet(void *arg, virErrorPtr failure) {
    (void)arg;
    (void)failure;
}

static void *run_events(void *arg) {
    (void)arg;
    while (virEventRunDefaultImpl() == 0)
        continue;
    return NULL;
}

/* libvirt has one event loop for a process; only keepalives go through it. */
static void start_libvirt(void) {
    pthread_t thread;

    virSetErrorFunc(NULL, stay_quiet);
    virInitialize();
    if (virEventRegisterDefaultImpl() == 0 && pthread_create(&thread, NULL, run_events, NULL) == 0)
        pthread_detach(thread);
}

static virConnectPtr open_connection(struct libvirt *libvirt, struct error *err) {
    virConnectPtr connection = virConnectOpen(libvirt->uri);

    if (connection) {
        /* Drivers without a daemon in between have no keepalive and need none. */
        virConnectSetKeepAlive(connection, KEEPALIVE_SECONDS, KEEPALIVE_MISSES);
        if (libvirt->silent)
            log_info(&no_request, "libvirt answers again", "uri", libvirt->uri, NULL);
        libvirt->silent = false;
        return connection;
    }
    virt_fail(NULL, libvirt->uri, err);
    if (err)
        err->kind = ERROR_UNAVAILABLE;
    if (!libvirt->silent)
        log_error(&no_request, "libvirt does not answer", "uri", libvirt->uri, NULL);
    libvirt->silent = true;
    return NULL;
}

/* The connection, opened when it is not there any more; the caller gets a reference of its own. */
static virConnectPtr get_connection(struct libvirt *libvirt, struct error *err) {
    virConnectPtr connection;

    pthread_mutex_lock(&libvirt->lock);
    if (libvirt->connection && virConnectIsAlive(libvirt->connection) != 1) {
        virConnectClose(libvirt->connection);
        libvirt->connection = NULL;
    }
    if (!libvirt->connection)
        libvirt->connection = open_connection(libvirt, err);
    connection = libvirt->connection;
    if (connection)
        virConnectRef(connection);
    pthread_mutex_unlock(&libvirt->lock);
    return connection;
}

/* 1 with *ret, 0 there is no such domain, -1 failed. */
static int find_domain(virConnectPtr connection, const char *uuid, virDomainPtr *ret,
                       struct error *err) {
    struct error failure = { 0 };

    *ret = virDomainLookupByUUIDString(connection, uuid);
    if (*ret)
        return 1;
    virt_fail(connection, "looking up the instance", &failure);
    if (failure.kind == ERROR_NOT_FOUND)
        return 0;
    return error_set(err, failure.kind, "%s", failure.message);
}

static int libvirt_has_instance(struct hypervisor *hypervisor, const char *instance_uuid,
                                struct error *err) {
    struct libvirt *libvirt = (struct libvirt *)hypervisor;
    autoconnection virConnectPtr connection = get_connection(libvirt, err);
    autodomain virDomainPtr domain = NULL;

    return connection ? find_domain(connection, instance_uuid, &domain, err) : -1;
}

/* Whether the guest holds the disk now, and whether something else is busy with it. */
static int read_state(virConnectPtr connection, virDomainPtr domain, struct disk *disk,
                      struct error *err) {
    int active = virDomainIsActive(domain), state, reason, job;
    virDomainBlockJobInfo job_info;
    virDomainBlockInfo info;

    if (active < 0 || virDomainGetState(domain, &state, &reason, 0) < 0)
        return virt_fail_looking(connection, "reading the domain's state", err);
    disk->state = active ? DISK_RUNNING : DISK_OFF;
    if (!active)
        return 0;
    job = virDomainGetBlockJobInfo(domain, disk->target, &job_info, 0);
    if (job < 0)
        return virt_fail_looking(connection, "reading the disk's jobs", err);
    if (virDomainGetBlockInfo(domain, disk->target, &info, 0) < 0)
        return virt_fail_looking(connection, "reading the disk's size", err);
    disk->job = job > 0 || (state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_MIGRATION);
    disk->capacity = (int64_t)info.capacity;
    return 0;
}

/* 1 with *ret, 0 the domain has no such disk (or is gone), -1 failed. */
static int read_disk(virConnectPtr connection, virDomainPtr domain, const char *volume_id,
                     struct disk *ret, struct error *err) {
    autofree char *xml = virDomainGetXMLDesc(domain, 0);
    struct error failure = { 0 };
    struct disk disk = { .state = DISK_NOT_HERE };
    int found = xml ? domain_xml_find_disk(xml, volume_id, &disk, &failure)
                    : virt_fail(connection, "reading the domain", &failure);

    if (found > 0 && (virDomainGetUUIDString(domain, disk.instance_uuid) < 0 ||
                      read_state(connection, domain, &disk, &failure) < 0))
        found = -1;
    if (found < 0 && failure.kind == ERROR_NOT_FOUND)
        return 0;
    if (found < 0)
        return error_set(err, failure.kind, "%s", failure.message);
    *ret = disk;
    return found;
}

static int find_anywhere(virConnectPtr connection, const char *volume_id, struct disk *ret,
                         struct error *err) {
    autodomains virDomainPtr *domains = NULL;
    int count = virConnectListAllDomains(connection, &domains, 0), total = 0;

    if (count < 0)
        return virt_fail(connection, "listing the domains", err);
    for (int i = 0; i < count; i++) {
        struct disk disk;
        int found = read_disk(connection, domains[i], volume_id, &disk, err);

        if (found < 0)
            return -1;
        if (found > 0)
            *ret = disk;
        total += found;
    }
    if (total > 1)
        return error_set(err, ERROR_BACKEND, "%d domains have a disk with serial %s", total,
                         volume_id);
    return 0;
}

static int libvirt_find_disk(struct hypervisor *hypervisor, struct arena *arena,
                             const char *instance_uuid, const char *volume_id, struct disk *ret,
                             struct error *err) {
    struct libvirt *libvirt = (struct libvirt *)hypervisor;
    autoconnection virConnectPtr connection = get_connection(libvirt, err);
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

    return virConnectGetLibVersion(connection, &version) == 0 && version >= RESIZE_EXTEND_SINCE;
}

/* The image's path belongs to this volume alone; a target can be another's meanwhile. */
static int resize(const struct guest *guest, const struct disk *disk, int64_t bytes,
                  struct error *err) {
    const char *name = disk->source[0] ? disk->source : disk->target;
    virDomainBlockInfo info;

    if (virDomainGetBlockInfo(guest->domain, name, &info, 0) < 0)
        return virt_fail(guest->connection, "reading the disk's size", err);
    if ((int64_t)info.capacity >= bytes)
        return 0;
    if (virDomainBlockResize(guest->domain, name, (unsigned long long)bytes,
                             VIR_DOMAIN_BLOCK_RESIZE_BYTES | RESIZE_EXTEND) < 0)
        return virt_fail(guest->connection, "resizing the disk", err);
    return 0;
}

static int grow(const struct guest *guest, const struct disk *disk, int64_t bytes,
                struct error *err) {
    return refuses_to_shrink(guest->connection) ? resize(guest, disk, bytes, err)
                                                : fence_grow(guest, disk, bytes, err);
}

static int libvirt_grow_disk(struct hypervisor *hypervisor, struct arena *arena,
                             const struct disk *disk, int64_t bytes, struct error *err) {
    struct libvirt *libvirt = (struct libvirt *)hypervisor;
    autoconnection virConnectPtr connection = get_connection(libvirt, err);
    autodomain virDomainPtr domain = NULL;
    struct error failure = { 0 };
    struct guest guest;
    int found;

    if (!connection)
        return -1;
    found = find_domain(connection, disk->instance_uuid, &domain, err);
    if (found < 0)
        return -1;
    guest = (struct guest){ .connection = connection, .domain = domain, .arena = arena };
    if (found > 0 && grow(&guest, disk, bytes, &failure) == 0)
        return 0;
    if (found == 0 || failure.kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_CONFLICT, "the instance has left this host");
    return error_set(err, failure.kind, "%s", failure.message);
}

static int libvirt_list_used(struct hypervisor *hypervisor, struct arena *arena,
                             const char *const **ret, struct error *err) {
    struct libvirt *libvirt = (struct libvirt *)hypervisor;
    autoconnection virConnectPtr connection = get_connection(libvirt, err);
    autodomains virDomainPtr *domains = NULL;
    const char **uuids;
    int count, used = 0;

    if (!connection)
        return -1;
    count = virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    if (count < 0)
        return virt_fail(connection, "listing the domains", err);
    uuids = arena_alloc(arena, ((size_t)count + 1) * sizeof(*uuids));
    for (int i = 0; i < count; i++) {
        char uuid[VIR_UUID_STRING_BUFLEN];

        if (fence_may_be_left(domains[i]) && virDomainGetUUIDString(domains[i], uuid) == 0)
            uuids[used++] = arena_text(arena, uuid);
    }
    *ret = uuids;
    return 0;
}

static int libvirt_tidy(struct hypervisor *hypervisor, struct arena *arena,
                        const char *instance_uuid, struct error *err) {
    struct libvirt *libvirt = (struct libvirt *)hypervisor;
    autoconnection virConnectPtr connection = get_connection(libvirt, err);
    autodomain virDomainPtr domain = NULL;
    struct guest guest;
    int found;

    if (!connection)
        return -1;
    found = find_domain(connection, instance_uuid, &domain, err);
    guest = (struct guest){ .connection = connection, .domain = domain, .arena = arena };
    return found > 0 ? fence_tidy(&guest, err) : found;
}

static void libvirt_free(struct hypervisor *hypervisor) {
    struct libvirt *libvirt = (struct libvirt *)hypervisor;

    if (libvirt->connection)
        virConnectClose(libvirt->connection);
    pthread_mutex_destroy(&libvirt->lock);
    free(libvirt->uri);
    free(libvirt);
}

/* The connection is opened by the first call that needs it. */
int hypervisor_libvirt_new(const char *uri, struct hypervisor **ret, struct error *err) {
    static pthread_once_t started = PTHREAD_ONCE_INIT;
    struct libvirt *libvirt = calloc(1, sizeof(*libvirt));

    (void)err;
    assert(libvirt);
    pthread_once(&started, start_libvirt);
    libvirt->hypervisor = (struct hypervisor){
        .has_instance = libvirt_has_instance,
        .find_disk = libvirt_find_disk,
        .grow_disk = libvirt_grow_disk,
        .list_used = libvirt_list_used,
        .tidy = libvirt_tidy,
        .free = libvirt_free,
    };
    libvirt->uri = strdup(uri);
    assert(libvirt->uri);
    pthread_mutex_init(&libvirt->lock, NULL);
    *ret = &libvirt->hypervisor;
    return 0;
}
