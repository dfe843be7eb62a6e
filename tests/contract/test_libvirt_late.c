/* Agents of real guests that are held in the middle of their work, and go on late. */
#include "common/cleanup.h"
#include "compute/hypervisor/virt_library.h"
#include "tests/contract/guests.h"
#include "tests/lib/check_main.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

/* ---- an agent that pauses ---- */

/*
 * The calls of libvirt.c that query a disk or change it go through here: a thread of which
 * `points_left` is n is held before or behind the (n + 1) / 2-th of them until it is released.
 */
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t late_changed = PTHREAD_COND_INITIALIZER;
static bool late_waits, late_may_go, late_ended;
static _Thread_local int points_left;

static void pass_point(void) {
    if (points_left == 0 || --points_left > 0)
        return;
    pthread_mutex_lock(&late_lock);
    late_waits = true;
    pthread_cond_broadcast(&late_changed);
    while (!late_may_go)
        pthread_cond_wait(&late_changed, &late_lock);
    pthread_mutex_unlock(&late_lock);
}

#define HELD(library, name, parameters, arguments)                                          \
    static int held_##name parameters {                                                     \
        static int(*_Atomic call) parameters; /* several threads may be the first */        \
        int result;                                                                         \
                                                                                            \
        if (!call)                                                                          \
            call = (int(*) parameters)dlsym(dlopen(library, RTLD_NOW | RTLD_LOCAL), #name); \
        pass_point();                                                                       \
        result = call arguments;                                                            \
        pass_point();                                                                       \
        return result;                                                                      \
    }

/* clang-format off */
HELD("libvirt-qemu.so.0", virDomainQemuMonitorCommand,
     (virDomainPtr domain, const char *command, char **result_text, unsigned flags),
     (domain, command, result_text, flags))
HELD("libvirt.so.0", virDomainGetBlockInfo,
     (virDomainPtr domain, const char *disk, virDomainBlockInfoPtr info, unsigned flags),
     (domain, disk, info, flags))
HELD("libvirt.so.0", virDomainBlockResize,
     (virDomainPtr domain, const char *disk, unsigned long long size, unsigned flags),
     (domain, disk, size, flags))
/* clang-format on */

static void hold_calls(void) {
    virt.virDomainQemuMonitorCommand = held_virDomainQemuMonitorCommand;
    virt.virDomainGetBlockInfo = held_virDomainGetBlockInfo;
    virt.virDomainBlockResize = held_virDomainBlockResize;
}

/* Another agent, in its own process for all that libvirt knows, that grows the disk. */
struct late {
    pthread_t thread;
    struct hypervisor *hypervisor;
    struct disk disk;
    int64_t bytes;
    int points;
    bool passed; /* it came to its end without being held */
    struct error err;
};

static void *run_late(void *arg) {
    struct late *late = arg;
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };

    points_left = late->points;
    late->hypervisor->grow_disk(late->hypervisor, arena, &late->disk, late->bytes, &err);
    pthread_mutex_lock(&late_lock);
    late_ended = true;
    pthread_cond_broadcast(&late_changed);
    pthread_mutex_unlock(&late_lock);
    return NULL;
}

/* Returns when it is held, or through. */
static void late_start(struct late *late, const struct disk *disk, int64_t bytes, int points) {
    static pthread_once_t held = PTHREAD_ONCE_INIT;

    *late = (struct late){ .disk = *disk, .bytes = bytes, .points = points };
    late_waits = late_may_go = late_ended = false;
    ck_assert_int_eq(virt_library_load(&late->err), 0);
    late->hypervisor = hypervisor_libvirt_new(guests_uri);
    pthread_once(&held, hold_calls);
    ck_assert_int_eq(pthread_create(&late->thread, NULL, run_late, late), 0);
    pthread_mutex_lock(&late_lock);
    while (!late_waits && !late_ended)
        pthread_cond_wait(&late_changed, &late_lock);
    late->passed = !late_waits;
    pthread_mutex_unlock(&late_lock);
}

static void late_wake(struct late *late) {
    pthread_mutex_lock(&late_lock);
    late_may_go = true;
    pthread_cond_broadcast(&late_changed);
    pthread_mutex_unlock(&late_lock);
    pthread_join(late->thread, NULL);
    late->hypervisor->free(late->hypervisor);
}

#define POINTS_MOST 60

/* The extend to an old size is held anywhere; meanwhile the same guest gets a larger disk. */
START_TEST(a_late_agent_does_not_shrink_a_disk_grown_by_another) {
    static const char *const formats[] = { "raw", "qcow2" };
    struct scene *scene = scene_new(formats[_i]);
    struct late late = { .passed = false };
    int points = 1 + (int)WALK_FIRST;

    guest_start_plain(scene, formats[_i]);
    for (; !late.passed && points <= POINTS_MOST; points += (int)WALK_STEP) {
        struct disk disk = scene_found(scene);
        int64_t old = disk.capacity + 1 * MIB, newer = disk.capacity + 2 * MIB;

        late_start(&late, &disk, old, points);
        while (!late.passed && scene_grow(scene, &disk, newer) < 0)
            ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
        late_wake(&late);
        ck_assert_int_eq(scene_found(scene).capacity, late.passed ? old : newer);
        ck_assert_ptr_null(strstr(scene_nodes(scene), "\"scoria-"));
    }
    ck_assert(late.passed && points - (int)WALK_STEP > 6);
    scene_end(scene);
}
END_TEST

/* The guest goes, its disk grows without it, the guest is started again: then the agent wakes. */
START_TEST(a_late_agent_does_not_shrink_a_disk_grown_offline) {
    struct scene *scene = scene_new("raw");
    struct late late = { .passed = false };
    int points = 1 + (int)WALK_FIRST;

    guest_start_plain(scene, "raw");
    for (; !late.passed && points <= POINTS_MOST; points += (int)WALK_STEP) {
        struct disk disk = scene_found(scene);
        int64_t old = disk.capacity + 1 * MIB, newer = disk.capacity + 2 * MIB;
        struct stat status;

        late_start(&late, &disk, old, points);
        if (!late.passed) {
            guest_remove(scene, INSTANCE);
            shell("qemu-img resize -q -f raw %s %jd", scene->image, (intmax_t)newer);
            guest_start_plain(scene, "raw");
        }
        late_wake(&late);
        ck_assert_int_eq(scene_found(scene).capacity, late.passed ? old : newer);
        ck_assert_int_eq(stat(scene->image, &status), 0);
        ck_assert_int_eq(status.st_size, late.passed ? old : newer);
    }
    ck_assert(late.passed && points - (int)WALK_STEP > 6);
    scene_end(scene);
}
END_TEST

#define FENCE_STANDS 4 /* the disk's node was queried, the fence was added */

static void assert_left(struct scene *scene, bool left) {
    const char *const *uuids;

    ck_assert_int_eq(
        scene->hypervisor->list_guarded(scene->hypervisor, scene->arena, &uuids, &scene->err), 0);
    ck_assert(uuids[0] && strcmp(uuids[0], INSTANCE) == 0 && !uuids[1]);
    ck_assert_int_eq(strstr(scene_nodes(scene), "\"scoria-") != NULL, left);
}

START_TEST(a_new_agent_removes_leftovers) {
    struct scene *scene = scene_new("raw");
    struct late late;
    struct disk disk;

    guest_start_plain(scene, "raw");
    disk = scene_found(scene);
    late_start(&late, &disk, 128 * MIB, FENCE_STANDS);
    assert_left(scene, true);
    ck_assert_int_eq(
        scene->hypervisor->remove_guards(scene->hypervisor, scene->arena, INSTANCE, &scene->err),
        0);
    assert_left(scene, false);
    ck_assert_int_eq(
        scene->hypervisor->remove_guards(scene->hypervisor, scene->arena, UNKNOWN, &scene->err), 0);
    late_wake(&late);
    ck_assert_int_eq(scene_found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

/* A disk that its guest releases at once. */
static char *scsi_disk(struct scene *scene) {
    return arena_format(scene->arena,
                        "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                        "<source file='%s'/><target dev='sda' bus='scsi'/><serial>" VOLUME
                        "</serial></disk>",
                        scene->image);
}

/* Held there, or killed there and another one started: afterwards the image is not held. */
START_TEST(a_disk_detached_meanwhile_is_released) {
    struct scene *scene = scene_new("raw");
    char *xml = scsi_disk(scene);
    virDomainPtr domain = guest_start(
        scene, arena_format(scene->arena,
                            "<controller type='scsi' index='0' model='virtio-scsi'/>%s", xml));
    struct disk disk = scene_found(scene);
    struct late late;

    ck_assert_str_eq(disk.target, "sda");
    late_start(&late, &disk, 128 * MIB, FENCE_STANDS);
    ck_assert_int_eq(virDomainDetachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(scene_find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    if (_i == 1)
        ck_assert_int_eq(scene->hypervisor->remove_guards(scene->hypervisor, scene->arena, INSTANCE,
                                                          &scene->err),
                         0);
    else
        late_wake(&late);
    shell("qemu-img resize -q -f raw %s 192M", scene->image);
    ck_assert_ptr_null(strstr(scene_nodes(scene), scene->image));
    if (_i == 1)
        late_wake(&late);
    ck_assert_int_eq(virDomainAttachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(scene_found(scene).capacity, 192 * MIB);
    virDomainFree(domain);
    scene_end(scene);
}
END_TEST

/* Another volume has taken the place of the one that the agent found. */
START_TEST(a_late_agent_leaves_another_volume_alone) {
    struct scene *scene = scene_new("raw");
    char *xml = scsi_disk(scene), *other;
    virDomainPtr domain = guest_start(
        scene, arena_format(scene->arena,
                            "<controller type='scsi' index='0' model='virtio-scsi'/>%s", xml));
    struct disk disk = scene_found(scene), now = { .state = DISK_OFF };
    struct stat status;

    shell("qemu-img create -q -f raw %s 64M", scene->copy);
    other = arena_format(scene->arena,
                         "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                         "<source file='%s'/><target dev='sda' bus='scsi'/><serial>" OTHER
                         "</serial></disk>",
                         scene->copy);
    ck_assert_int_eq(virDomainDetachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(scene_find(scene, INSTANCE, &now), 0);
    ck_assert_int_eq(now.state, DISK_NOT_HERE);
    ck_assert_int_eq(virDomainAttachDeviceFlags(domain, other, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(stat(scene->copy, &status), 0);
    ck_assert_int_eq(status.st_size, 64 * MIB);
    ck_assert_ptr_null(strstr(scene_nodes(scene), "\"scoria-"));
    virDomainFree(domain);
    scene_end(scene);
}
END_TEST

/* clang-format off */
GUESTS_MAIN("libvirt_late", "",
            { a_late_agent_does_not_shrink_a_disk_grown_by_another, 2 },
            { a_late_agent_does_not_shrink_a_disk_grown_offline, 1 },
            { a_new_agent_removes_leftovers, 1 },
            { a_disk_detached_meanwhile_is_released, 2 },
            { a_late_agent_leaves_another_volume_alone, 1 })
/* clang-format on */
