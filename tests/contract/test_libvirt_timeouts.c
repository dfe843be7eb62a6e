/* Real guests and a real libvirtd that do not answer. */
#include "common/cleanup.h"
#include "common/log.h"
#include "compute/hypervisor/timed_hypervisor.h"
#include "tests/contract/guests.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- guests that do not answer ---- */

#define WORKERS   "10" /* threads of this libvirtd */
#define HUNG_MOST 12

static _Atomic bool processes_hidden; /* from libvirt.c, as another host's would be */

DIR *opendir(const char *path) {
    static DIR *(*_Atomic call)(const char *path);

    if (!call)
        call =
            (DIR * (*)(const char *)) dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL), "opendir");
    return processes_hidden && strcmp(path, "/proc") == 0 ? NULL : call(path);
}

/* Its process is looked for in all of the machine, where other such tests may run. */
static const char *hung_uuid(struct scene *scene, int i) {
    return arena_format(scene->arena, "%08x-5555-4555-8555-%012x", (unsigned)i, (unsigned)getpid());
}

static bool is_process_of(const char *pid, const char *uuid) {
    char path[300], command[8192];
    autoclose int fd = -1;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    length = fd < 0 ? 0 : read(fd, command, sizeof(command));
    return length > 0 && memmem(command, (size_t)length, uuid, strlen(uuid));
}

static pid_t process_of(const char *uuid) {
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    pid_t pid = 0;

    while (pid == 0 && (entry = readdir(processes)))
        if (atoi(entry->d_name) > 0 && is_process_of(entry->d_name, uuid))
            pid = atoi(entry->d_name);
    closedir(processes);
    ck_assert_int_gt(pid, 0);
    return pid;
}

static void start_hung(struct scene *scene, int i, pid_t *ret_pid) {
    const char *uuid = hung_uuid(scene, i);
    const char *image = arena_format(scene->arena, "%s.%d", scene->image, i);
    virDomainPtr domain;

    shell("qemu-img create -q -f raw %s 1M", image);
    domain = virDomainCreateXML(
        scene->control, guest_xml(scene, uuid, disk_xml(scene, "raw", image, "vda", uuid, "")), 0);
    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    *ret_pid = process_of(uuid);
    kill(*ret_pid, SIGSTOP);
}

static int find_hung(struct scene *scene, int i, struct disk *ret) {
    const char *uuid = hung_uuid(scene, i);

    return scene_find_volume(scene, uuid, uuid, ret);
}

static void await_growth(struct scene *scene, struct disk *disk, int64_t bytes) {
    const struct timespec pause = { .tv_nsec = 50000000 };

    while (scene_grow(scene, disk, bytes) < 0) {
        ck_assert(scene->err.kind == ERROR_UNAVAILABLE || scene->err.kind == ERROR_CONFLICT);
        nanosleep(&pause, NULL);
    }
}

static void await_hung(struct scene *scene, int i, struct disk *ret) {
    const struct timespec pause = { .tv_nsec = 50000000 };

    while (find_hung(scene, i, ret) < 0)
        nanosleep(&pause, NULL);
}

/* `count` guests stand still and an extend of each was requested: another guest grows, then they
 * do. */
static void check_hung_guests(int count, bool hidden) {
    struct scene *scene = scene_new("raw");
    pid_t pids[HUNG_MOST];
    struct disk disk, hung;

    scene->hypervisor = timed_hypervisor_new(scene->hypervisor, 1000);
    guest_start_plain(scene, "raw");
    for (int i = 0; i < count; i++)
        start_hung(scene, i, &pids[i]);
    processes_hidden = hidden;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < count; i++) {
            ck_assert_int_eq(find_hung(scene, i, &hung), -1);
            ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
        }
    while (scene_find(scene, NULL, &disk) < 0)
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    await_growth(scene, &disk, 128 * MIB);
    ck_assert_int_eq(scene_has(scene, hung_uuid(scene, 0)), 1);
    ck_assert_int_eq(scene_has(scene, UNKNOWN), 0);
    for (int i = 0; i < count; i++)
        kill(pids[i], SIGCONT);
    for (int i = 0; i < count; i++) {
        await_hung(scene, i, &hung);
        ck_assert_int_eq(hung.capacity, 1 * MIB);
        await_growth(scene, &hung, 2 * MIB);
        await_hung(scene, i, &hung);
        ck_assert_int_eq(hung.capacity, 2 * MIB);
        guest_remove(scene, hung_uuid(scene, i));
        unlink(hung.source);
    }
    ck_assert_int_eq(scene_found(scene).capacity, 128 * MIB);
    scene_end(scene);
}

/* ---- invariants ---- */

/* More than libvirtd has threads. */
START_TEST(hung_guests_delay_only_their_own_disks) {
    check_hung_guests(HUNG_MOST, false);
}
END_TEST

/* Their suspension is unnoticed: each keeps a thread of libvirtd's, and of ours. */
START_TEST(unresponsive_guests_delay_only_their_own_disks) {
    check_hung_guests(4, true);
}
END_TEST

/* It takes the connection, and that is all. */
START_TEST(a_daemon_that_never_answers_times_out) {
    char path[128], address[160];
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    struct hypervisor *hypervisor;
    struct error err = { 0 };
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    log_open(-1, LOG_ERROR, LOG_TEXT);
    snprintf(path, sizeof(path), "%s/silent", guests_folder);
    snprintf(name.sun_path, sizeof(name.sun_path), "%s/silent", guests_folder);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    ck_assert_int_eq(listen(fd, 64), 0);
    snprintf(address, sizeof(address), "qemu+unix:///system?socket=%s", path);
    hypervisor = timed_hypervisor_new(hypervisor_libvirt_new(address), 200);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(hypervisor->has_instance(hypervisor, INSTANCE, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    }
    hypervisor->free(hypervisor); /* does not wait for it */
    unlink(path);
}
END_TEST

/* A daemon that has just started answers before it has found its guests again. */
static bool await_guest(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 50000000 };
    struct disk disk = { .state = DISK_NOT_HERE };

    for (int i = 0; i < 1200 && disk.state != DISK_RUNNING; i++) {
        if (scene_find(scene, INSTANCE, &disk) < 0 || disk.state != DISK_RUNNING)
            nanosleep(&pause, NULL);
    }
    return disk.state == DISK_RUNNING;
}

START_TEST(a_daemon_that_died_is_unavailable_until_it_is_back) {
    struct scene *scene = scene_new("raw");
    struct disk disk, other;

    guest_start_plain(scene, "raw");
    disk = scene_found(scene);
    virConnectClose(scene->control);
    ck_assert(daemon_command('k'));
    ck_assert_int_eq(scene_has(scene, INSTANCE), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(scene_find(scene, INSTANCE, &other), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert(daemon_command('s'));
    ck_assert(daemon_await() && await_guest(scene));
    ck_assert_int_eq(scene_has(scene, INSTANCE), 1);
    ck_assert_int_eq(scene_grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(scene_found(scene).capacity, 128 * MIB);
    scene->control = virConnectOpen(guests_uri);
    scene_end(scene);
}
END_TEST

START_TEST(a_daemon_that_hangs_times_out) {
    struct scene *scene = scene_new("raw");

    guest_start_plain(scene, "raw");
    ck_assert_int_eq(scene_has(scene, INSTANCE), 1);
    ck_assert(daemon_command('f'));
    ck_assert_int_eq(scene_has(scene, INSTANCE), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert(daemon_command('t'));
    ck_assert_int_eq(scene_has(scene, INSTANCE), 1);
    scene_end(scene);
}
END_TEST

START_TEST(an_address_without_a_listener_is_unavailable) {
    struct hypervisor *hypervisor;
    struct error err = { 0 };

    log_open(-1, LOG_ERROR, LOG_TEXT);
    hypervisor = hypervisor_libvirt_new("qemu+unix:///system?socket=/nowhere");
    for (int i = 0; i < 2; i++) {
        memset(&err, 0, sizeof(err));
        ck_assert_int_eq(hypervisor->has_instance(hypervisor, INSTANCE, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(err.message, "/nowhere"));
    }
    hypervisor->free(hypervisor);
}
END_TEST

/* clang-format off */
GUESTS_MAIN("libvirt_timeouts", "max_workers = " WORKERS "\n",
            { hung_guests_delay_only_their_own_disks, 1 },
            { unresponsive_guests_delay_only_their_own_disks, 1 },
            { a_daemon_that_never_answers_times_out, 1 },
            { a_daemon_that_died_is_unavailable_until_it_is_back, 1 },
            { a_daemon_that_hangs_times_out, 1 },
            { an_address_without_a_listener_is_unavailable, 1 })
/* clang-format on */
