/*
 * libvirt.c over libvirt's own test driver: a domain in this process, without a daemon.  It has no
 * block jobs, so looking at a disk of a running guest fails there, as it does in many words when a
 * guest ends in that moment.
 */
#include "tests/lib/check_main.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/virt_library.h"
#include "compute/hypervisor/virt_link.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define UNKNOWN  "44444444-4444-4444-8444-444444444444"
#define URI      "test:///default"

static const char guest[] = "<domain type='test'><name>guest</name><uuid>" INSTANCE "</uuid>"
                            "<memory>8192</memory><os><type>hvm</type></os><devices>"
                            "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                            "<source file='/nowhere/image'/><target dev='vda' bus='virtio'/>"
                            "<serial>" VOLUME "</serial></disk></devices></domain>";

/* A libvirt of another version, that only notes its calls. */
static unsigned long lib_version;
static unsigned requested_flags, requested_times;

static int noted_version(virConnectPtr connection, unsigned long *version) {
    (void)connection;
    *version = lib_version;
    return 0;
}

static int noted_info(virDomainPtr domain, const char *disk, virDomainBlockInfoPtr info,
                      unsigned flags) {
    (void)domain;
    (void)disk;
    (void)flags;
    *info = (virDomainBlockInfo){ .capacity = 64 };
    return 0;
}

static int noted_resize(virDomainPtr domain, const char *disk, unsigned long long size,
                        unsigned flags) {
    (void)domain;
    ck_assert_str_eq(disk, "/nowhere/image");
    ck_assert_uint_eq(size, 128);
    requested_flags = flags;
    requested_times++;
    return 0;
}

struct scene {
    virConnectPtr control;
    virDomainPtr domain;
    struct hypervisor *hypervisor;
    struct arena *arena;
    struct error err;
    struct disk disk;
};

static struct scene scene_new(void) {
    struct scene scene = { .arena = arena_new() };

    ck_assert_int_eq(virt_library_load(&scene.err), 0);
    scene.hypervisor = hypervisor_libvirt_new(URI);
    virt.virConnectGetLibVersion = noted_version;
    virt.virDomainGetBlockInfo = noted_info;
    virt.virDomainBlockResize = noted_resize;
    scene.control = virConnectOpen(URI);
    ck_assert_ptr_nonnull(scene.control);
    scene.domain = virDomainDefineXML(scene.control, guest);
    ck_assert_ptr_nonnull(scene.domain);
    return scene;
}

static void scene_end(struct scene *scene) {
    virDomainDestroy(scene->domain);
    virDomainUndefine(scene->domain);
    virDomainFree(scene->domain);
    virConnectClose(scene->control);
    scene->hypervisor->free(scene->hypervisor);
    arena_free(scene->arena);
}

static int find(struct scene *scene, const char *instance) {
    return scene->hypervisor->find_disk(scene->hypervisor, scene->arena, instance, VOLUME,
                                        &scene->disk, &scene->err);
}

START_TEST(a_disk_of_a_guest_that_is_off_is_found) {
    struct scene scene = scene_new();

    ck_assert_int_eq(find(&scene, INSTANCE), 0);
    ck_assert_int_eq(scene.disk.state, DISK_OFF);
    ck_assert_str_eq(scene.disk.source, "/nowhere/image");
    ck_assert_str_eq(scene.disk.target, "vda");
    ck_assert_int_eq(find(&scene, NULL), 0);
    ck_assert_int_eq(scene.disk.state, DISK_OFF);
    ck_assert_int_eq(find(&scene, UNKNOWN), 0);
    ck_assert_int_eq(scene.disk.state, DISK_NOT_HERE);
    scene_end(&scene);
}
END_TEST

START_TEST(a_failed_query_may_be_repeated) {
    static const char *const instances[] = { INSTANCE, NULL };
    struct scene scene = scene_new();

    ck_assert_int_eq(virDomainCreate(scene.domain), 0);
    for (size_t i = 0; i < LENGTH(instances); i++) {
        scene.err = (struct error){ 0 };
        ck_assert_int_eq(find(&scene, instances[i]), -1);
        ck_assert_int_eq(scene.err.kind, ERROR_CONFLICT);
        ck_assert_ptr_nonnull(strstr(scene.err.message, "reading the disk's jobs"));
    }
    virDomainDestroy(scene.domain);
    ck_assert_int_eq(find(&scene, INSTANCE), 0);
    ck_assert_int_eq(scene.disk.state, DISK_OFF);
    scene_end(&scene);
}
END_TEST

static int grow(struct scene *scene, int64_t bytes) {
    return scene->hypervisor->grow_disk(scene->hypervisor, scene->arena, &scene->disk, bytes,
                                        &scene->err);
}

START_TEST(a_libvirt_that_can_refuse_to_shrink_does) {
    struct scene scene = scene_new();

    lib_version = 12003000;
    ck_assert_int_eq(find(&scene, INSTANCE), 0);
    ck_assert_int_eq(virDomainCreate(scene.domain), 0);
    ck_assert_int_eq(grow(&scene, 128), 0);
    ck_assert_uint_eq(requested_flags, VIR_DOMAIN_BLOCK_RESIZE_BYTES | 4);
    ck_assert_int_eq(grow(&scene, 64), 0);
    ck_assert_uint_eq(requested_times, 1);
    scene_end(&scene);
}
END_TEST

/* No flag, no QEMU of which the monitor could be used: nothing is tried. */
START_TEST(a_hypervisor_that_could_shrink_is_not_called) {
    struct scene scene = scene_new();

    lib_version = 12002999;
    ck_assert_int_eq(find(&scene, INSTANCE), 0);
    ck_assert_int_eq(virDomainCreate(scene.domain), 0);
    ck_assert_int_eq(grow(&scene, 128), -1);
    ck_assert_int_eq(scene.err.kind, ERROR_BACKEND);
    ck_assert_ptr_nonnull(strstr(scene.err.message, "monitor"));
    ck_assert_uint_eq(requested_times, 0);
    scene_end(&scene);
}
END_TEST

/* ---- hosts without it ---- */

static bool is_there;
static virConnectPtr (*real_open)(const char *uri);

static virConnectPtr open_when_there(const char *uri) {
    return real_open(is_there ? uri : "qemu+unix:///system?socket=/nowhere/libvirt");
}

static const char *logged(struct arena *arena, int log) {
    char *text = arena_alloc(arena, 4096);
    ssize_t size = pread(log, text, 4095, 0);

    ck_assert_int_ge(size, 0);
    text[size] = '\0';
    return text;
}

/* A libvirt that was never there is no failure; one that was, and answers no more, is one. */
START_TEST(a_host_without_libvirt_is_no_error) {
    autoarena struct arena *arena = arena_new();
    int log = memfd_create("log", MFD_CLOEXEC);
    struct virt_link *link;
    virConnectPtr connection;
    struct error err;

    ck_assert_int_eq(virt_library_load(&err), 0);
    log_open(log, LOG_INFO, LOG_TEXT);
    real_open = virt.virConnectOpen;
    virt.virConnectOpen = open_when_there;
    link = virt_link_new(URI);
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(virt_link_open(link, &err));
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    }
    ck_assert_ptr_nonnull(strstr(logged(arena, log), " INFO no libvirt on this host"));
    ck_assert_ptr_null(strstr(logged(arena, log), "ERROR"));

    is_there = true;
    connection = virt_link_open(link, &err);
    ck_assert_ptr_nonnull(connection);
    virt.virConnectClose(connection);
    ck_assert_ptr_null(strstr(logged(arena, log), "ERROR"));
    is_there = false;
    ck_assert_ptr_null(virt_link_open(link, &err));
    ck_assert_ptr_nonnull(strstr(logged(arena, log), " ERROR libvirt does not respond"));
    virt.virConnectOpen = real_open;
    virt_link_free(link);
    close(log);
}
END_TEST

CHECK_MAIN("libvirt", a_host_without_libvirt_is_no_error, a_disk_of_a_guest_that_is_off_is_found,
           a_failed_query_may_be_repeated, a_libvirt_that_can_refuse_to_shrink_does,
           a_hypervisor_that_could_shrink_is_not_called)
