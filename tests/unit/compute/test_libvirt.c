/*
 * libvirt.c over libvirt's own test driver: a domain in this process, without a daemon.  It has no
 * block jobs, so looking at a disk of a running guest fails there, as it does in many words when a
 * guest ends in that moment.
 */
#include "tests/lib/check_main.h"

#include "compute/hypervisor.h"

#include <libvirt/libvirt.h>
#include <string.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define UNKNOWN  "44444444-4444-4444-8444-444444444444"
#define URI      "test:///default"

static const char guest[] = "<domain type='test'><name>guest</name><uuid>" INSTANCE "</uuid>"
                            "<memory>8192</memory><os><type>hvm</type></os><devices>"
                            "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                            "<source file='/nowhere/image'/><target dev='vda' bus='virtio'/>"
                            "<serial>" VOLUME "</serial></disk></devices></domain>";

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

    ck_assert_int_eq(hypervisor_libvirt_new(URI, &scene.hypervisor, &scene.err), 0);
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

START_TEST(a_look_that_fails_is_worth_another) {
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

CHECK_MAIN("libvirt", a_disk_of_a_guest_that_is_off_is_found, a_look_that_fails_is_worth_another)
