#include "tests/contract/guests.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SKIPPED 77

/* ThreadSanitizer sees libvirt and glib only from outside: not how they keep their own order. */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void) {
    return "race:libvirt.so.0\nrace:libglib-2.0.so.0\n";
}

/* libvirt forgets the error of a connection (80 bytes), when its daemon hangs up in the moment in
 * which it is closed.  LeakSanitizer sees no more of the way there than this. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void) {
    return "leak:g_malloc0\n";
}

/* ---- the daemon in its own namespaces ---- */

char guests_folder[64];
char guests_uri[160];
static const char *settings; /* more lines of libvirtd.conf */
static int commands = -1;    /* to the first process of the namespace: start, kill, freeze, thaw */
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
               "cgroup_controllers = []\n"
               /* or libvirt asks 370 questions about the processor, of which QEMU reads each letter
                  by letter: most of the time of a start */
               "capability_filters = [\"cpu-unavailable-features\"]\n");
    snprintf(path, sizeof(path), "%s/libvirtd.conf", guests_folder);
    write_file(path,
               "auth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\nunix_sock_dir = \"%s\"\n"
               "log_outputs = \"1:file:%s/log\"\n%s",
               guests_folder, guests_folder, settings);
}

static pid_t start_daemon(void) {
    char config[128];
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    signal(SIGCHLD, SIG_DFL);
    snprintf(config, sizeof(config), "%s/libvirtd.conf", guests_folder);
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

bool daemon_command(char command) {
    char answer = 0;

    return write(commands, &command, 1) == 1 && read(answers, &answer, 1) == 1 && answer == command;
}

bool daemon_await(void) {
    const struct timespec pause = { .tv_nsec = 50000000 };

    for (int i = 0; i < 1200; i++) {
        virConnectPtr connection = virConnectOpen(guests_uri);

        if (connection) {
            virConnectClose(connection);
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

/* ---- guests ---- */

void shell(const char *form, ...) {
    char command[512];
    va_list values;

    va_start(values, form);
    vsnprintf(command, sizeof(command), form, values);
    va_end(values);
    ck_assert_int_eq(system(command), 0);
}

struct scene *scene_new(const char *format) {
    struct scene *scene = calloc(1, sizeof(*scene));

    log_open(-1, LOG_ERROR, LOG_TEXT);
    scene->arena = arena_new();
    scene->hypervisor = hypervisor_libvirt_new(guests_uri);
    scene->control = virConnectOpen(guests_uri);
    ck_assert_ptr_nonnull(scene->control);
    snprintf(scene->image, sizeof(scene->image), "%s/image", guests_folder);
    snprintf(scene->copy, sizeof(scene->copy), "%s/copy", guests_folder);
    shell("qemu-img create -q -f %s %s 64M", format, scene->image);
    return scene;
}

void guest_remove(struct scene *scene, const char *uuid) {
    virDomainPtr domain = virDomainLookupByUUIDString(scene->control, uuid);

    if (!domain)
        return;
    virDomainDestroy(domain);
    virDomainUndefine(domain);
    virDomainFree(domain);
}

void scene_end(struct scene *scene) {
    guest_remove(scene, INSTANCE);
    guest_remove(scene, OTHER);
    virConnectClose(scene->control);
    scene->hypervisor->free(scene->hypervisor);
    arena_free(scene->arena);
    unlink(scene->image);
    unlink(scene->copy);
    free(scene);
}

char *disk_xml(struct scene *scene, const char *format, const char *path, const char *target,
               const char *serial, const char *more) {
    return arena_format(scene->arena,
                        "<disk type='file' device='disk'><driver name='qemu' type='%s'/>"
                        "<source file='%s'/><target dev='%s' bus='virtio'/><serial>%s</serial>%s"
                        "</disk>",
                        format, path, target, serial, more);
}

char *guest_xml(struct scene *scene, const char *uuid, const char *disks) {
    return arena_format(scene->arena,
                        "<domain type='qemu'><name>%s</name><uuid>%s</uuid>"
                        "<memory unit='MiB'>16</memory><vcpu>1</vcpu>"
                        "<os><type arch='x86_64' machine='pc'>hvm</type></os>"
                        "<devices>%s</devices></domain>",
                        uuid, uuid, disks);
}

/* A running guest without a guest system. */
virDomainPtr guest_start(struct scene *scene, const char *disks) {
    virDomainPtr domain = virDomainCreateXML(scene->control, guest_xml(scene, INSTANCE, disks), 0);

    ck_assert_ptr_nonnull(domain);
    return domain;
}

void guest_start_plain(struct scene *scene, const char *format) {
    virDomainFree(guest_start(scene, disk_xml(scene, format, scene->image, "vda", VOLUME, "")));
}

void guest_define_plain(struct scene *scene) {
    virDomainPtr domain = virDomainDefineXML(
        scene->control,
        guest_xml(scene, INSTANCE, disk_xml(scene, "raw", scene->image, "vda", VOLUME, "")));

    ck_assert_ptr_nonnull(domain);
    virDomainFree(domain);
}

int scene_find_volume(struct scene *scene, const char *instance, const char *volume,
                      struct disk *ret) {
    return scene->hypervisor->find_disk(scene->hypervisor, scene->arena, instance, volume, ret,
                                        &scene->err);
}

int scene_find(struct scene *scene, const char *instance, struct disk *ret) {
    return scene_find_volume(scene, instance, VOLUME, ret);
}

struct disk scene_found(struct scene *scene) {
    struct disk disk = { 0 };

    ck_assert_int_eq(scene_find(scene, INSTANCE, &disk), 0);
    ck_assert_int_ne(disk.state, DISK_NOT_HERE);
    return disk;
}

int scene_grow(struct scene *scene, const struct disk *disk, int64_t bytes) {
    return scene->hypervisor->grow_disk(scene->hypervisor, scene->arena, disk, bytes, &scene->err);
}

int scene_has(struct scene *scene, const char *instance) {
    return scene->hypervisor->has_instance(scene->hypervisor, instance, &scene->err);
}

/* QEMU's description of its block nodes. */
char *scene_nodes(struct scene *scene) {
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

/* ---- the program ---- */

/* In a child, so that the tests start without anything of libvirt's. */
static bool start_and_await(void) {
    int status = -1;
    pid_t pid;

    if (!daemon_command('s'))
        return false;
    pid = fork();
    if (pid == 0)
        _exit(freopen("/dev/null", "w", stderr) && daemon_await() ? 0 : 1);
    waitpid(pid, &status, 0);
    return status == 0;
}

static int run_tests(const char *name, const struct guests_test *tests, size_t count) {
    Suite *suite = suite_create(name);
    TCase *cases = tcase_create(name);
    SRunner *runner;
    int failed;

    tcase_set_timeout(cases, 120);
    for (size_t i = 0; i < count; i++)
        tcase_add_loop_test(cases, tests[i].test, 0, tests[i].times);
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int guests_main(const char *name, const char *more_settings, const struct guests_test *tests,
                size_t count) {
    char path[160];
    int result;

    settings = more_settings;
    signal(SIGPIPE, SIG_IGN);
    snprintf(guests_folder, sizeof(guests_folder), "/tmp/scoria-libvirt-XXXXXX");
    if (!mkdtemp(guests_folder))
        return SKIPPED;
    snprintf(guests_uri, sizeof(guests_uri), "qemu+unix:///system?socket=%s/libvirt-sock",
             guests_folder);
    start_namespace();
    result = start_and_await() ? run_tests(name, tests, count) : SKIPPED;
    if (result == SKIPPED)
        fputs("skipped: libvirtd cannot be started here\n", stderr);
    close(commands);
    while (read(answers, path, 1) > 0) /* until the namespace has ended */
        continue;
    snprintf(path, sizeof(path), "rm -rf %s", guests_folder);
    return system(path) == 0 ? result : EXIT_FAILURE;
}
