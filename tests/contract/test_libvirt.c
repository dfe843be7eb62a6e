/*
 * libvirt.c against a real libvirtd with real QEMU guests.  The daemon is the test's own: it runs
 * in namespaces of its own (mounts, processes), so it sees no other daemon's domains and nothing of
 * it is left behind when the test ends, however it ends.  Exit status 77 (skipped) without root or
 * without libvirtd.
 */
#include "common/cleanup.h"
#include "common/log.h"
#include "compute/agent.h"
#include "compute/hypervisor.h"
#include "compute/patience.h"
#include "compute/resize.h"
#include "tests/lib/exchange.h"
#include "tests/lib/script_server.h"

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#define SKIPPED  77
#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define OTHER    "33333333-3333-4333-8333-333333333333"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define UNKNOWN  "44444444-4444-4444-8444-444444444444"
#define MIB      (INT64_C(1) << 20)

/* ThreadSanitizer sees libvirt and glib only from outside: not how they keep their own order. */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void) {
    return "race:libvirt.so.0\nrace:libglib-2.0.so.0\n";
}

/* ---- the daemon in its own namespaces ---- */

static char folder[64]; /* the daemon's socket, images */
static char uri[160];
static int commands = -1; /* to the first process of the namespace: start, kill, freeze, thaw */
static int answers = -1;

static const char *const own_folders[] = { "/run", "/var/lib/libvirt", "/var/log/libvirt",
                                           "/var/cache/libvirt", "/etc/libvirt" };

static void write_file(const char *path, const char *form, ...)
    __attribute__((format(printf, 2, 3)));

static void write_file(const char *path, const char *form, ...) {
    FILE *file = fopen(path, "w");
    va_list values;

    if (!file)
        _exit(SKIPPED);
    va_start(values, form);
    vfprintf(file, form, values);
    va_end(values);
    fclose(file);
}

static void prepare_namespace(void) {
    char path[128];

    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(SKIPPED);
    for (size_t i = 0; i < LENGTH(own_folders); i++)
        if (mount("tmpfs", own_folders[i], "tmpfs", 0, "mode=755") < 0)
            _exit(SKIPPED);
    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        _exit(SKIPPED);
    write_file("/etc/libvirt/qemu.conf",
               "security_driver = \"none\"\nstdio_handler = \"file\"\nuser = \"root\"\n"
               "group = \"root\"\ndynamic_ownership = 0\nnamespaces = []\n"
               "cgroup_controllers = []\n");
    snprintf(path, sizeof(path), "%s/libvirtd.conf", folder);
    write_file(path,
               "auth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\nunix_sock_dir = \"%s\"\n"
               "log_outputs = \"4:file:/dev/null\"\n",
               folder);
}

static pid_t start_daemon(void) {
    char config[128];
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    signal(SIGCHLD, SIG_DFL);
    snprintf(config, sizeof(config), "%s/libvirtd.conf", folder);
    execlp("libvirtd", "libvirtd", "-f", config, NULL);
    _exit(SKIPPED);
}

static void kill_daemon(pid_t daemon) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    kill(daemon, SIGKILL);
    while (kill(daemon, 0) == 0)
        nanosleep(&pause, NULL);
}

/* Takes commands until the test is gone; then the kernel ends everything in the namespace. */
static void run_init(int in, int out) {
    pid_t daemon = -1;
    char command;

    signal(SIGCHLD, SIG_IGN); /* QEMU's processes become ours and must not stay as zombies */
    prepare_namespace();
    while (read(in, &command, 1) == 1) {
        if (command == 's')
            daemon = start_daemon();
        if (command == 'k')
            kill_daemon(daemon);
        if (command == 'f')
            kill(daemon, SIGSTOP);
        if (command == 't')
            kill(daemon, SIGCONT);
        if (write(out, &command, 1) != 1)
            break;
    }
    _exit(0);
}

static void start_namespace(void) {
    int to[2], from[2];
    pid_t outer, inner;

    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        exit(SKIPPED);
    outer = fork();
    if (outer == 0) {
        close(to[1]);
        close(from[0]);
        if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET) < 0)
            _exit(SKIPPED);
        inner = fork();
        if (inner == 0)
            run_init(to[0], from[1]);
        _exit(0);
    }
    waitpid(outer, NULL, 0);
    close(to[0]);
    close(from[1]);
    commands = to[1];
    answers = from[0];
}

static bool command_daemon(char command) {
    char answer = 0;

    return write(commands, &command, 1) == 1 && read(answers, &answer, 1) == 1 && answer == command;
}

static bool await_daemon(void) {
    const struct timespec pause = { .tv_nsec = 50000000 };

    for (int i = 0; i < 1200; i++) {
        virConnectPtr connection = virConnectOpen(uri);

        if (connection) {
            virConnectClose(connection);
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

/* ---- guests ---- */

struct scene {
    struct hypervisor *hypervisor;
    struct arena *arena;
    virConnectPtr control; /* the test's own */
    struct error err;
    char image[128], copy[128];
};

static void run(const char *form, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *form, ...) {
    char command[512];
    va_list values;

    va_start(values, form);
    vsnprintf(command, sizeof(command), form, values);
    va_end(values);
    ck_assert_int_eq(system(command), 0);
}

static struct scene *scene_new(const char *format) {
    struct scene *scene = calloc(1, sizeof(*scene));

    log_open(-1, LOG_ERROR, LOG_TEXT);
    scene->arena = arena_new();
    ck_assert_int_eq(hypervisor_libvirt_new(uri, &scene->hypervisor, &scene->err), 0);
    scene->control = virConnectOpen(uri);
    ck_assert_ptr_nonnull(scene->control);
    snprintf(scene->image, sizeof(scene->image), "%s/image", folder);
    snprintf(scene->copy, sizeof(scene->copy), "%s/copy", folder);
    run("qemu-img create -q -f %s %s 64M", format, scene->image);
    return scene;
}

static void remove_guest(struct scene *scene, const char *uuid) {
    virDomainPtr domain = virDomainLookupByUUIDString(scene->control, uuid);

    if (!domain)
        return;
    virDomainDestroy(domain);
    virDomainUndefine(domain);
    virDomainFree(domain);
}

static void scene_end(struct scene *scene) {
    remove_guest(scene, INSTANCE);
    remove_guest(scene, OTHER);
    virConnectClose(scene->control);
    scene->hypervisor->free(scene->hypervisor);
    arena_free(scene->arena);
    unlink(scene->image);
    unlink(scene->copy);
    free(scene);
}

static char *disk_xml(struct scene *scene, const char *format, const char *path, const char *target,
                      const char *serial, const char *more) {
    return arena_format(scene->arena,
                        "<disk type='file' device='disk'><driver name='qemu' type='%s'/>"
                        "<source file='%s'/><target dev='%s' bus='virtio'/><serial>%s</serial>%s"
                        "</disk>",
                        format, path, target, serial, more);
}

static char *guest_xml(struct scene *scene, const char *uuid, const char *disks) {
    return arena_format(scene->arena,
                        "<domain type='qemu'><name>%s</name><uuid>%s</uuid>"
                        "<memory unit='MiB'>16</memory><vcpu>1</vcpu>"
                        "<os><type arch='x86_64' machine='pc'>hvm</type></os>"
                        "<devices>%s</devices></domain>",
                        uuid, uuid, disks);
}

/* A running guest without a guest system. */
static virDomainPtr start_guest(struct scene *scene, const char *disks) {
    virDomainPtr domain = virDomainCreateXML(scene->control, guest_xml(scene, INSTANCE, disks), 0);

    ck_assert_ptr_nonnull(domain);
    return domain;
}

static void start_plain_guest(struct scene *scene, const char *format) {
    virDomainFree(start_guest(scene, disk_xml(scene, format, scene->image, "vda", VOLUME, "")));
}

static void define_plain_guest(struct scene *scene) {
    virDomainPtr domain = virDomainDefineXML(
        scene->control,
        guest_xml(scene, INSTANCE, disk_xml(scene, "raw", scene->image, "vda", VOLUME, "")));

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
}

static int find(struct scene *scene, const char *instance, struct disk *ret) {
    return scene->hypervisor->find_disk(scene->hypervisor, scene->arena, instance, VOLUME, ret,
                                        &scene->err);
}

static struct disk found(struct scene *scene) {
    struct disk disk = { 0 };

    ck_assert_int_eq(find(scene, INSTANCE, &disk), 0);
    ck_assert_int_ne(disk.state, DISK_NOT_HERE);
    return disk;
}

static int grow(struct scene *scene, const struct disk *disk, int64_t bytes) {
    return scene->hypervisor->grow_disk(scene->hypervisor, scene->arena, disk, bytes, &scene->err);
}

static int has(struct scene *scene, const char *instance) {
    return scene->hypervisor->has_instance(scene->hypervisor, instance, &scene->err);
}

/* ---- an agent that pauses ---- */

/*
 * The calls of libvirt.c that look at a disk or change it go through here: a thread of which
 * `points_left` is n is held before or behind the (n + 1) / 2-th of them until it is let go.
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
    int name parameters {                                                                   \
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

/* Another agent, in its own process for all that libvirt knows, that grows the disk. */
struct late {
    pthread_t thread;
    struct hypervisor *hypervisor;
    struct disk disk;
    int64_t bytes;
    int points;
    bool passed; /* it came to its end without being held */
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
    struct error err = { 0 };

    *late = (struct late){ .disk = *disk, .bytes = bytes, .points = points };
    late_waits = late_may_go = late_ended = false;
    ck_assert_int_eq(hypervisor_libvirt_new(uri, &late->hypervisor, &err), 0);
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

/* What QEMU says of its block nodes. */
static char *nodes_of(struct scene *scene) {
    virDomainPtr domain = virDomainLookupByUUIDString(scene->control, INSTANCE);
    char *text = NULL, *kept;

    ck_assert_int_eq(
        virDomainQemuMonitorCommand(domain, "{\"execute\": \"query-named-block-nodes\"}", &text, 0),
        0);
    virDomainFree(domain);
    kept = arena_text(scene->arena, text);
    free(text);
    return kept;
}

/* ---- guests that do not answer ---- */

#define HUNG_MOST 24

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

    run("qemu-img create -q -f raw %s 1M", image);
    domain = virDomainCreateXML(
        scene->control, guest_xml(scene, uuid, disk_xml(scene, "raw", image, "vda", uuid, "")), 0);
    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    *ret_pid = process_of(uuid);
    kill(*ret_pid, SIGSTOP);
}

static int find_hung(struct scene *scene, int i, struct disk *ret) {
    const char *uuid = hung_uuid(scene, i);

    return scene->hypervisor->find_disk(scene->hypervisor, scene->arena, uuid, uuid, ret,
                                        &scene->err);
}

static void await_growth(struct scene *scene, struct disk *disk, int64_t bytes) {
    const struct timespec pause = { .tv_nsec = 50000000 };

    while (grow(scene, disk, bytes) < 0) {
        ck_assert(scene->err.kind == ERROR_UNAVAILABLE || scene->err.kind == ERROR_CONFLICT);
        nanosleep(&pause, NULL);
    }
}

static void await_hung(struct scene *scene, int i, struct disk *ret) {
    const struct timespec pause = { .tv_nsec = 50000000 };

    while (find_hung(scene, i, ret) < 0)
        nanosleep(&pause, NULL);
}

/* `count` guests stand still and an extend of each was asked for: another guest grows, then they
 * do. */
static void check_hung_guests(int count, bool hidden) {
    struct scene *scene = scene_new("raw");
    pid_t pids[HUNG_MOST];
    struct disk disk, hung;

    scene->hypervisor = patience_new(scene->hypervisor, 1000);
    start_plain_guest(scene, "raw");
    for (int i = 0; i < count; i++)
        start_hung(scene, i, &pids[i]);
    processes_hidden = hidden;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < count; i++) {
            ck_assert_int_eq(find_hung(scene, i, &hung), -1);
            ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
        }
    while (find(scene, NULL, &disk) < 0)
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    await_growth(scene, &disk, 128 * MIB);
    ck_assert_int_eq(has(scene, hung_uuid(scene, 0)), 1);
    ck_assert_int_eq(has(scene, UNKNOWN), 0);
    for (int i = 0; i < count; i++)
        kill(pids[i], SIGCONT);
    for (int i = 0; i < count; i++) {
        await_hung(scene, i, &hung);
        ck_assert_int_eq(hung.capacity, 1 * MIB);
        await_growth(scene, &hung, 2 * MIB);
        await_hung(scene, i, &hung);
        ck_assert_int_eq(hung.capacity, 2 * MIB);
        remove_guest(scene, hung_uuid(scene, i));
        unlink(hung.source);
    }
    ck_assert_int_eq(found(scene).capacity, 128 * MIB);
    scene_end(scene);
}

/* ---- what must hold ---- */

/* More than libvirtd has threads. */
START_TEST(hung_guests_cost_their_own_disks_only) {
    check_hung_guests(HUNG_MOST, false);
}
END_TEST

/* Nobody sees that they stand still: each keeps a thread of libvirtd's, and of ours. */
START_TEST(guests_that_do_not_answer_cost_their_own_disks_only) {
    check_hung_guests(8, true);
}
END_TEST

/* It takes the connection, and that is all. */
START_TEST(a_daemon_that_never_answers_is_given_up) {
    char path[128], address[160];
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    struct hypervisor *hypervisor;
    struct error err = { 0 };
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    log_open(-1, LOG_ERROR, LOG_TEXT);
    snprintf(path, sizeof(path), "%s/silent", folder);
    snprintf(name.sun_path, sizeof(name.sun_path), "%s/silent", folder);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    ck_assert_int_eq(listen(fd, 64), 0);
    snprintf(address, sizeof(address), "qemu+unix:///system?socket=%s", path);
    ck_assert_int_eq(hypervisor_libvirt_new(address, &hypervisor, &err), 0);
    hypervisor = patience_new(hypervisor, 200);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(hypervisor->has_instance(hypervisor, INSTANCE, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    }
    hypervisor->free(hypervisor); /* does not wait for it */
    unlink(path);
}
END_TEST

START_TEST(a_running_disk_is_found_and_grows) {
    static const char *const formats[] = { "raw", "qcow2" };
    struct scene *scene = scene_new(formats[_i]);
    struct disk disk;

    start_plain_guest(scene, formats[_i]);
    disk = found(scene);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    ck_assert_str_eq(disk.instance_uuid, INSTANCE);
    ck_assert_str_eq(disk.target, "vda");
    ck_assert_str_eq(disk.source, scene->image);
    ck_assert_str_eq(disk.format, formats[_i]);
    ck_assert_int_eq(disk.capacity, 64 * MIB);
    ck_assert(!disk.job && !disk.read_only);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(found(scene).capacity, 128 * MIB);
    scene_end(scene);
}
END_TEST

START_TEST(nothing_shrinks) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    start_plain_guest(scene, "raw");
    disk = found(scene);
    ck_assert_int_eq(grow(scene, &disk, 32 * MIB), 0);
    ck_assert_int_eq(grow(scene, &disk, 64 * MIB), 0);
    ck_assert_int_eq(found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

#define POINTS_MOST 60

/* The extend to an old size is held anywhere; meanwhile the same guest gets a larger disk. */
START_TEST(a_late_agent_does_not_shrink_what_another_has_grown) {
    static const char *const formats[] = { "raw", "qcow2" };
    struct scene *scene = scene_new(formats[_i]);
    struct late late = { .passed = false };
    int points = 0;

    start_plain_guest(scene, formats[_i]);
    while (!late.passed && points++ < POINTS_MOST) {
        struct disk disk = found(scene);
        int64_t old = disk.capacity + 1 * MIB, newer = disk.capacity + 2 * MIB;

        late_start(&late, &disk, old, points);
        while (!late.passed && grow(scene, &disk, newer) < 0)
            ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
        late_wake(&late);
        ck_assert_int_eq(found(scene).capacity, late.passed ? old : newer);
        ck_assert_ptr_null(strstr(nodes_of(scene), "\"scoria-"));
    }
    ck_assert(late.passed && points > 6);
    scene_end(scene);
}
END_TEST

/* The guest goes, its disk grows without it, the guest is started again: then the agent wakes. */
START_TEST(a_late_agent_does_not_shrink_what_grew_without_the_guest) {
    struct scene *scene = scene_new("raw");
    struct late late = { .passed = false };
    int points = 0;

    start_plain_guest(scene, "raw");
    while (!late.passed && points++ < POINTS_MOST) {
        struct disk disk = found(scene);
        int64_t old = disk.capacity + 1 * MIB, newer = disk.capacity + 2 * MIB;
        struct stat status;

        late_start(&late, &disk, old, points);
        if (!late.passed) {
            remove_guest(scene, INSTANCE);
            run("qemu-img resize -q -f raw %s %jd", scene->image, (intmax_t)newer);
            start_plain_guest(scene, "raw");
        }
        late_wake(&late);
        ck_assert_int_eq(found(scene).capacity, late.passed ? old : newer);
        ck_assert_int_eq(stat(scene->image, &status), 0);
        ck_assert_int_eq(status.st_size, late.passed ? old : newer);
    }
    ck_assert(late.passed && points > 6);
    scene_end(scene);
}
END_TEST

#define FENCE_STANDS 4 /* the disk's node was asked for, the fence was added */

static void assert_left(struct scene *scene, bool left) {
    const char *const *uuids;

    ck_assert_int_eq(
        scene->hypervisor->list_used(scene->hypervisor, scene->arena, &uuids, &scene->err), 0);
    ck_assert(uuids[0] && strcmp(uuids[0], INSTANCE) == 0 && !uuids[1]);
    ck_assert_int_eq(strstr(nodes_of(scene), "\"scoria-") != NULL, left);
}

START_TEST(a_new_agent_tidies_up) {
    struct scene *scene = scene_new("raw");
    struct late late;
    struct disk disk;

    start_plain_guest(scene, "raw");
    disk = found(scene);
    late_start(&late, &disk, 128 * MIB, FENCE_STANDS);
    assert_left(scene, true);
    ck_assert_int_eq(
        scene->hypervisor->tidy(scene->hypervisor, scene->arena, INSTANCE, &scene->err), 0);
    assert_left(scene, false);
    ck_assert_int_eq(scene->hypervisor->tidy(scene->hypervisor, scene->arena, UNKNOWN, &scene->err),
                     0);
    late_wake(&late);
    ck_assert_int_eq(found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

/* A disk that its guest lets go of at once. */
static char *scsi_disk(struct scene *scene) {
    return arena_format(scene->arena,
                        "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                        "<source file='%s'/><target dev='sda' bus='scsi'/><serial>" VOLUME
                        "</serial></disk>",
                        scene->image);
}

/* Held there, or killed there and another one started: afterwards nobody holds the image. */
START_TEST(a_disk_that_is_detached_meanwhile_is_let_go) {
    struct scene *scene = scene_new("raw");
    char *xml = scsi_disk(scene);
    virDomainPtr domain = start_guest(
        scene, arena_format(scene->arena,
                            "<controller type='scsi' index='0' model='virtio-scsi'/>%s", xml));
    struct disk disk = found(scene);
    struct late late;

    ck_assert_str_eq(disk.target, "sda");
    late_start(&late, &disk, 128 * MIB, FENCE_STANDS);
    ck_assert_int_eq(virDomainDetachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    if (_i == 1)
        ck_assert_int_eq(
            scene->hypervisor->tidy(scene->hypervisor, scene->arena, INSTANCE, &scene->err), 0);
    else
        late_wake(&late);
    run("qemu-img resize -q -f raw %s 192M", scene->image);
    ck_assert_ptr_null(strstr(nodes_of(scene), scene->image));
    if (_i == 1)
        late_wake(&late);
    ck_assert_int_eq(virDomainAttachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(found(scene).capacity, 192 * MIB);
    virDomainFree(domain);
    scene_end(scene);
}
END_TEST

/* Another volume has taken the place of the one that the agent found. */
START_TEST(a_late_agent_leaves_another_volume_alone) {
    struct scene *scene = scene_new("raw");
    char *xml = scsi_disk(scene), *other;
    virDomainPtr domain = start_guest(
        scene, arena_format(scene->arena,
                            "<controller type='scsi' index='0' model='virtio-scsi'/>%s", xml));
    struct disk disk = found(scene), now = { .state = DISK_OFF };
    struct stat status;

    run("qemu-img create -q -f raw %s 64M", scene->copy);
    other = arena_format(scene->arena,
                         "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                         "<source file='%s'/><target dev='sda' bus='scsi'/><serial>" OTHER
                         "</serial></disk>",
                         scene->copy);
    ck_assert_int_eq(virDomainDetachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(find(scene, INSTANCE, &now), 0);
    ck_assert_int_eq(now.state, DISK_NOT_HERE);
    ck_assert_int_eq(virDomainAttachDeviceFlags(domain, other, VIR_DOMAIN_AFFECT_LIVE), 0);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(stat(scene->copy, &status), 0);
    ck_assert_int_eq(status.st_size, 64 * MIB);
    ck_assert_ptr_null(strstr(nodes_of(scene), "\"scoria-"));
    virDomainFree(domain);
    scene_end(scene);
}
END_TEST

/* What the guest calls its device tells which of QEMU's nodes is meant, on every bus. */
START_TEST(disks_grow_on_every_bus) {
    static const char *const buses[][2] = {
        { "sda", "scsi" }, { "sda", "usb" }, { "sda", "sata" }, { "vda", "virtio" }
    };

    for (size_t i = 0; i < LENGTH(buses); i++) {
        struct scene *scene = scene_new("raw");
        struct disk disk;

        virDomainFree(start_guest(
            scene, arena_format(scene->arena,
                                "<controller type='scsi' index='0' model='virtio-scsi'/>"
                                "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
                                "<source file='%s'/><target dev='%s' bus='%s'/><serial>" VOLUME
                                "</serial></disk>",
                                scene->image, buses[i][0], buses[i][1])));
        disk = found(scene);
        ck_assert_int_eq(grow(scene, &disk, 128 * MIB), 0);
        ck_assert_int_eq(found(scene).capacity, 128 * MIB);
        scene_end(scene);
    }
}
END_TEST

/* Bytes that the file takes on its disk. */
static int64_t bytes_taken(const char *path) {
    struct stat status;

    ck_assert_int_eq(stat(path, &status), 0);
    return (int64_t)status.st_blocks * 512;
}

START_TEST(what_was_grown_is_sparse_even_behind_what_was_thick) {
    struct scene *scene = scene_new("raw");
    int64_t before;
    struct disk disk;

    run("qemu-img create -q -f raw -o preallocation=falloc %s 64M", scene->image);
    before = bytes_taken(scene->image);
    ck_assert_int_ge(before, 64 * MIB);
    start_plain_guest(scene, "raw");
    disk = found(scene);
    ck_assert_int_eq(grow(scene, &disk, 1024 * MIB), 0);
    ck_assert_int_eq(found(scene).capacity, 1024 * MIB);
    ck_assert_int_lt(bytes_taken(scene->image), before + 2 * MIB);
    scene_end(scene);
}
END_TEST

/* {the overlay, the image below it} as qemu-img sees them, in MiB. */
static void assert_chain(struct scene *scene, int64_t above_mib, int64_t below_mib) {
    const char *const files[] = { scene->copy, scene->image };
    const int64_t sizes[] = { above_mib, below_mib };

    for (size_t i = 0; i < LENGTH(files); i++)
        run("qemu-img info -U --output=json %s | grep -q '^    \"virtual-size\": %jd,'", files[i],
            (intmax_t)(sizes[i] * MIB));
}

START_TEST(an_overlay_grows_and_the_image_below_it_stays) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    run("qemu-img create -q -f qcow2 -F raw -b %s %s", scene->image, scene->copy);
    assert_chain(scene, 64, 64);
    virDomainFree(start_guest(scene, disk_xml(scene, "qcow2", scene->copy, "vda", VOLUME, "")));
    disk = found(scene);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(found(scene).capacity, 128 * MIB);
    ck_assert_int_eq(grow(scene, &disk, 32 * MIB), 0); /* below both */
    remove_guest(scene, INSTANCE);
    assert_chain(scene, 128, 64);
    scene_end(scene);
}
END_TEST

START_TEST(a_paused_guest_holds_its_disk) {
    struct scene *scene = scene_new("raw");
    struct disk disk;
    virDomainPtr domain =
        start_guest(scene, disk_xml(scene, "raw", scene->image, "vda", VOLUME, ""));

    ck_assert_int_eq(virDomainSuspend(domain), 0);
    virDomainFree(domain);
    disk = found(scene);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    ck_assert(!disk.job);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(found(scene).capacity, 128 * MIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_guest_that_is_off_is_told_apart) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    define_plain_guest(scene);
    ck_assert_int_eq(has(scene, INSTANCE), 1);
    disk = found(scene);
    ck_assert_int_eq(disk.state, DISK_OFF);
    ck_assert_str_eq(disk.source, scene->image);
    ck_assert_str_eq(disk.format, "raw");
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    scene_end(scene);
}
END_TEST

START_TEST(a_guest_that_has_left_is_a_conflict) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    start_plain_guest(scene, "raw");
    disk = found(scene);
    remove_guest(scene, INSTANCE);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    scene_end(scene);
}
END_TEST

START_TEST(what_is_not_here_is_not_found) {
    struct scene *scene = scene_new("raw");
    struct disk disk = { .state = DISK_OFF };

    ck_assert_int_eq(has(scene, INSTANCE), 0);
    ck_assert_int_eq(find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    ck_assert_int_eq(find(scene, NULL, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    virDomainFree(start_guest(scene, disk_xml(scene, "raw", scene->image, "vda", OTHER, "")));
    ck_assert_int_eq(has(scene, INSTANCE), 1);
    ck_assert_int_eq(has(scene, UNKNOWN), 0);
    ck_assert_int_eq(find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_NOT_HERE);
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_is_found_in_any_instance) {
    struct scene *scene = scene_new("raw");
    virDomainPtr domain = virDomainDefineXML(scene->control, guest_xml(scene, OTHER, ""));
    struct disk disk = { 0 };

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    start_plain_guest(scene, "raw");
    ck_assert_int_eq(find(scene, NULL, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    ck_assert_str_eq(disk.instance_uuid, INSTANCE);
    scene_end(scene);
}
END_TEST

START_TEST(a_serial_in_two_instances_is_refused_unless_one_is_named) {
    struct scene *scene = scene_new("raw");
    virDomainPtr domain = virDomainDefineXML(
        scene->control,
        guest_xml(scene, OTHER, disk_xml(scene, "raw", scene->copy, "vda", VOLUME, "")));
    struct disk disk = { .state = DISK_OFF, .target = "before" };

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    start_plain_guest(scene, "raw");
    ck_assert_int_eq(find(scene, NULL, &disk), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    ck_assert_str_eq(disk.target, "before");
    ck_assert_int_eq(find(scene, INSTANCE, &disk), 0);
    ck_assert_int_eq(disk.state, DISK_RUNNING);
    scene_end(scene);
}
END_TEST

START_TEST(a_serial_on_two_disks_is_refused) {
    struct scene *scene = scene_new("raw");
    struct disk disk;
    char *disks;

    run("qemu-img create -q -f raw %s 64M", scene->copy);
    disks =
        arena_format(scene->arena, "%s%s", disk_xml(scene, "raw", scene->image, "vda", VOLUME, ""),
                     disk_xml(scene, "raw", scene->copy, "vdb", VOLUME, ""));
    virDomainFree(start_guest(scene, disks));
    ck_assert_int_eq(find(scene, INSTANCE, &disk), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    scene_end(scene);
}
END_TEST

START_TEST(a_read_only_disk_is_seen_and_refused) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    virDomainFree(
        start_guest(scene, disk_xml(scene, "raw", scene->image, "vda", VOLUME, "<readonly/>")));
    disk = found(scene);
    ck_assert(disk.read_only);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    ck_assert_int_eq(found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_block_job_is_seen) {
    struct scene *scene = scene_new("raw");
    virDomainPtr domain =
        start_guest(scene, disk_xml(scene, "raw", scene->image, "vda", VOLUME, ""));
    char *copy = arena_format(scene->arena,
                              "<disk type='file'><driver type='raw'/><source file='%s'/></disk>",
                              scene->copy);
    struct disk disk;

    ck_assert_int_eq(
        virDomainBlockCopy(domain, "vda", copy, NULL, 0, VIR_DOMAIN_BLOCK_COPY_TRANSIENT_JOB), 0);
    disk = found(scene);
    ck_assert(disk.job);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_ne(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(virDomainBlockJobAbort(domain, "vda", 0), 0);
    virDomainFree(domain);
    disk = found(scene);
    ck_assert(!disk.job);
    ck_assert_int_eq(disk.capacity, 64 * MIB);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_size_beyond_qemu_is_refused_untouched) {
    struct scene *scene = scene_new("raw");
    struct disk disk;

    start_plain_guest(scene, "raw");
    disk = found(scene);
    ck_assert_int_eq(grow(scene, &disk, INT64_MAX), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BACKEND);
    ck_assert_int_eq(found(scene).capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

/* A daemon that has just started answers before it has found its guests again. */
static bool await_guest(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 50000000 };
    struct disk disk = { .state = DISK_NOT_HERE };

    for (int i = 0; i < 1200 && disk.state != DISK_RUNNING; i++) {
        if (find(scene, INSTANCE, &disk) < 0 || disk.state != DISK_RUNNING)
            nanosleep(&pause, NULL);
    }
    return disk.state == DISK_RUNNING;
}

START_TEST(a_daemon_that_died_is_unavailable_until_it_is_back) {
    struct scene *scene = scene_new("raw");
    struct disk disk, other;

    start_plain_guest(scene, "raw");
    disk = found(scene);
    virConnectClose(scene->control);
    ck_assert(command_daemon('k'));
    ck_assert_int_eq(has(scene, INSTANCE), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(find(scene, INSTANCE, &other), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert(command_daemon('s'));
    ck_assert(await_daemon() && await_guest(scene));
    ck_assert_int_eq(has(scene, INSTANCE), 1);
    ck_assert_int_eq(grow(scene, &disk, 128 * MIB), 0);
    ck_assert_int_eq(found(scene).capacity, 128 * MIB);
    scene->control = virConnectOpen(uri);
    scene_end(scene);
}
END_TEST

START_TEST(a_daemon_that_hangs_is_given_up) {
    struct scene *scene = scene_new("raw");

    start_plain_guest(scene, "raw");
    ck_assert_int_eq(has(scene, INSTANCE), 1);
    ck_assert(command_daemon('f'));
    ck_assert_int_eq(has(scene, INSTANCE), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert(command_daemon('t'));
    ck_assert_int_eq(has(scene, INSTANCE), 1);
    scene_end(scene);
}
END_TEST

START_TEST(nobody_at_the_address_is_unavailable) {
    struct hypervisor *hypervisor;
    struct error err = { 0 };

    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_int_eq(
        hypervisor_libvirt_new("qemu+unix:///system?socket=/nowhere", &hypervisor, &err), 0);
    for (int i = 0; i < 2; i++) {
        memset(&err, 0, sizeof(err));
        ck_assert_int_eq(hypervisor->has_instance(hypervisor, INSTANCE, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(err.message, "/nowhere"));
    }
    hypervisor->free(hypervisor);
}
END_TEST

/* ---- resize.c over it ---- */

static const struct remote_volume extending = {
    .id = VOLUME, .status = "extending", .size_gb = 1, .has_target = true, .target_gb = 2
};

static void resize_and_check(struct scene *scene) {
    struct resize resize = { .hypervisor = scene->hypervisor,
                             .host = "here",
                             .instance_uuid = INSTANCE,
                             .volume = &extending };

    ck_assert_int_eq(resize_to_target(&resize, scene->arena, &scene->err), RESIZE_DONE);
    ck_assert_int_eq(resize.disk.capacity, 2048 * MIB);
    ck_assert(resize_reached_target(&resize, scene->arena));
    ck_assert_int_eq(resize_to_target(&resize, scene->arena, &scene->err), RESIZE_DONE);
}

START_TEST(an_extend_reaches_a_running_guest) {
    struct scene *scene = scene_new("qcow2");

    start_plain_guest(scene, "qcow2");
    resize_and_check(scene);
    scene_end(scene);
}
END_TEST

START_TEST(an_extend_reaches_a_guest_that_is_off) {
    struct scene *scene = scene_new("raw");

    define_plain_guest(scene);
    resize_and_check(scene);
    scene_end(scene);
}
END_TEST

/* The whole agent over it, on the stacks of its own threads. */
START_TEST(an_event_reaches_a_guest_and_its_end_is_reported) {
    static const struct http_header headers[] = { { "OpenStack-API-Version", "compute 2.93" },
                                                  { 0 } };
    struct scene *scene = scene_new("raw");
    struct script_server *server = script_server_new();
    const char *url = arena_format(scene->arena, "%s/v3", script_server_url(server));
    struct agent_settings settings = { .host = "here",
                                       .volume_url = url,
                                       .own_url = "http://here/v2.1",
                                       .hypervisor = scene->hypervisor };
    struct test_exchange *test = test_exchange_new(
        "POST", "/v2.1/os-server-external-events", headers,
        "{\"events\": [{\"name\": \"volume-extended\", \"server_uuid\": \"" INSTANCE
        "\", \"tag\": \"" VOLUME "\"}]}");
    struct agent *agent;

    script_server_add(server,
                      &(struct script_rule){ .path = "/v3/volumes/" VOLUME,
                                             .status = 200,
                                             .body = "{\"volume\": {\"id\": \"" VOLUME
                                                     "\", \"status\": \"extending\", \"size\": 1,"
                                                     " \"metadata\": {\"extend_new_size\":"
                                                     " \"2\"}}}" });
    script_server_add(server, &(struct script_rule){ .status = 202 });
    start_plain_guest(scene, "raw");
    ck_assert_int_eq(agent_start(&settings, &agent, &scene->err), 0);
    agent_handle(agent, test_exchange_of(test));
    ck_assert_int_eq(test_exchange_await(test), 200);
    ck_assert(script_server_await(server, "POST", "/v3/volumes/" VOLUME "/action", 1));
    ck_assert_ptr_nonnull(
        strstr(script_server_request(server, "POST", "/v3/volumes/" VOLUME "/action", 0)->body,
               "\"error\": false"));
    ck_assert_int_eq(found(scene).capacity, 2048 * MIB);
    agent_stop(agent);
    test_exchange_free(test);
    script_server_free(server);
    scene_end(scene);
}
END_TEST

/* Somebody else's guest holds the image that our domain, being off, only names. */
START_TEST(an_image_that_another_guest_holds_is_busy) {
    struct scene *scene = scene_new("raw");
    struct resize resize = { .hypervisor = scene->hypervisor,
                             .host = "here",
                             .instance_uuid = INSTANCE,
                             .volume = &extending };
    virDomainPtr domain = virDomainCreateXML(
        scene->control,
        guest_xml(scene, OTHER, disk_xml(scene, "raw", scene->image, "vda", OTHER, "")), 0);

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
    define_plain_guest(scene);
    ck_assert_int_eq(resize_to_target(&resize, scene->arena, &scene->err), RESIZE_BUSY);
    ck_assert_int_eq(resize.disk.capacity, 64 * MIB);
    scene_end(scene);
}
END_TEST

/* In a child, so that the tests start without anything of libvirt's. */
static bool start_and_await(void) {
    int status = -1;
    pid_t pid;

    if (!command_daemon('s'))
        return false;
    pid = fork();
    if (pid == 0)
        _exit(freopen("/dev/null", "w", stderr) && await_daemon() ? 0 : 1);
    waitpid(pid, &status, 0);
    return status == 0;
}

static int run_tests(void) {
    const TTest *const tests[] = {
        nothing_shrinks,
        a_late_agent_does_not_shrink_what_grew_without_the_guest,
        a_new_agent_tidies_up,
        a_late_agent_leaves_another_volume_alone,
        disks_grow_on_every_bus,
        what_was_grown_is_sparse_even_behind_what_was_thick,
        an_overlay_grows_and_the_image_below_it_stays,
        a_paused_guest_holds_its_disk,
        a_guest_that_is_off_is_told_apart,
        a_guest_that_has_left_is_a_conflict,
        what_is_not_here_is_not_found,
        a_disk_is_found_in_any_instance,
        a_serial_in_two_instances_is_refused_unless_one_is_named,
        a_serial_on_two_disks_is_refused,
        a_read_only_disk_is_seen_and_refused,
        a_block_job_is_seen,
        a_size_beyond_qemu_is_refused_untouched,
        a_daemon_that_died_is_unavailable_until_it_is_back,
        a_daemon_that_hangs_is_given_up,
        nobody_at_the_address_is_unavailable,
        a_daemon_that_never_answers_is_given_up,
        hung_guests_cost_their_own_disks_only,
        guests_that_do_not_answer_cost_their_own_disks_only,
        an_extend_reaches_a_running_guest,
        an_extend_reaches_a_guest_that_is_off,
        an_event_reaches_a_guest_and_its_end_is_reported,
        an_image_that_another_guest_holds_is_busy,
    };
    Suite *suite = suite_create("libvirt");
    TCase *cases = tcase_create("libvirt");
    SRunner *runner;
    int failed;

    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, a_running_disk_is_found_and_grows, 0, 2);
    tcase_add_loop_test(cases, a_disk_that_is_detached_meanwhile_is_let_go, 0, 2);
    tcase_add_loop_test(cases, a_late_agent_does_not_shrink_what_another_has_grown, 0, 2);
    for (size_t i = 0; i < LENGTH(tests); i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void) {
    char path[160];
    int result;

    signal(SIGPIPE, SIG_IGN);
    snprintf(folder, sizeof(folder), "/tmp/scoria-libvirt-XXXXXX");
    if (!mkdtemp(folder))
        return SKIPPED;
    snprintf(uri, sizeof(uri), "qemu+unix:///system?socket=%s/libvirt-sock", folder);
    start_namespace();
    result = start_and_await() ? run_tests() : SKIPPED;
    if (result == SKIPPED)
        fputs("skipped: libvirtd cannot be started here\n", stderr);
    close(commands);
    while (read(answers, path, 1) > 0) /* until the namespace has ended */
        continue;
    snprintf(path, sizeof(path), "rm -rf %s", folder);
    return system(path) == 0 ? result : EXIT_FAILURE;
}
