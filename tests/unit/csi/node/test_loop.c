#include "common/loop.h"

#include "common/image_lock.h"
#include "common/loop_identity.h"
#include "tests/unit/csi/node/shown_file.h"

#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* Devices belong to the machine: another run of this test has labels of its own, which its child
 * shares. */
static const char *own_label(void) {
    return arena_format(arena, "scoria:00000000:volume-%d", (int)getpgrp());
}

static bool is(const char *label, const char *of) {
    return strcmp(label, of) == 0;
}

static void assert_found(int file, unsigned number) {
    autoloop struct loop loop = LOOP_NONE;

    ck_assert_int_eq(loop_find(file, "scoria:", &loop, &err), 1);
    ck_assert_uint_eq(loop.number, number);
    ck_assert_str_eq(loop.label, own_label());
}

static void assert_none(int file) {
    struct loop loop;

    ck_assert_int_eq(loop_find(file, "scoria:", &loop, &err), 0);
}

START_TEST(a_device_is_found_by_its_file_whatever_the_name) {
    autoimage int file = image_make("image", 8 * MIB), again = -1;
    struct loop loop, other;
    int64_t bytes;

    assert_none(file);
    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    assert_ok(loop_size(&loop, &bytes, &err));
    ck_assert_int_eq(bytes, 8 * MIB);
    ck_assert(!loop.read_only);
    ck_assert_int_eq(rename(path_of("image"), path_of("renamed")), 0);
    again = open(path_of("renamed"), O_RDWR | O_CLOEXEC);
    assert_found(again, loop.number);
    ck_assert_int_eq(loop_find_label(is, own_label(), &other, &err), 1);
    ck_assert_uint_eq(other.number, loop.number);
    ck_assert_int_eq(loop_find_label(is, arena_join(arena, own_label(), "0", NULL), &other, &err),
                     0);

    /* Another file of the first one's name is another file. */
    autoclose int impostor = image_make("image", 8 * MIB);

    assert_none(impostor);
    ck_assert_int_eq(loop_attach(again, own_label(), &(struct loop_how){ 0 }, &other, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    close(other.fd);
    close(loop.fd);
    wait_for_devices(0);
    assert_none(again);
}
END_TEST

/* As a pod may that has it as a block volume. */
static void write_label(unsigned number, const char *label) {
    char path[LOOP_PATH_SIZE];
    struct loop_info64 info;
    autoclose int fd = -1;

    loop_path(number, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(ioctl(fd, LOOP_GET_STATUS64, &info), 0);
    memset(info.lo_file_name, 0, sizeof info.lo_file_name);
    strcpy((char *)info.lo_file_name, label);
    ck_assert_int_eq(ioctl(fd, LOOP_SET_STATUS64, &info), 0);
}

/* Which device has a label, or -1. */
static int labelled(const char *label) {
    autoloop struct loop loop = LOOP_NONE;

    return loop_find_label(is, label, &loop, &err) > 0 ? (int)loop.number : -1;
}

START_TEST(a_changed_label_does_not_change_the_volume) {
    autoimage int file = image_make("image", 8 * MIB), second = image_make("second", 8 * MIB);
    autoimage int kept = image_make("kept", 0);
    const char *first = arena_format(arena, "scoria:00000000:a-%d", (int)getpid());
    const char *victim = arena_format(arena, "scoria:00000000:b-%d", (int)getpid());
    const char *const written[] = { victim, "nobody's", "" };
    struct loop_name *names;
    struct loop loop;

    loop_identity_set_file(kept);
    assert_ok(loop_attach(file, first, &(struct loop_how){ 0 }, &loop, &err));
    for (size_t i = 0; i < LENGTH(written); i++) {
        autoloop struct loop found = LOOP_NONE;

        write_label(loop.number, written[i]);
        ck_assert_int_eq(labelled(first), (int)loop.number);
        ck_assert_int_eq(labelled(victim), -1);
        ck_assert_int_eq(loop_find(file, "scoria:", &found, &err), 1);
        ck_assert_str_eq(found.label, first);
        ck_assert_int_eq(loop_list(arena, first, &names, &err), 1);
        ck_assert_str_eq(names[0].label, first);
    }

    /* Nor does it when another process begins, and finds the records of this one. */
    loop_identity_set_file(kept);
    ck_assert_int_eq(labelled(first), (int)loop.number);
    write_label(loop.number, victim);
    loop_identity_set_file(kept);
    ck_assert_int_eq(labelled(first), (int)loop.number);
    ck_assert_int_eq(labelled(victim), -1);

    /* The next file with the number is the one reported. */
    close(loop.fd);
    wait_for_devices(0);
    assert_ok(loop_attach(second, victim, &(struct loop_how){ 0 }, &loop, &err));
    ck_assert_int_eq(labelled(victim), (int)loop.number);
    ck_assert_int_eq(labelled(first), -1);
    close(loop.fd);
    loop_identity_set_file(-1);
}
END_TEST

START_TEST(a_device_of_another_program_is_refused) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop loop;

    ck_assert_int_eq(shell("losetup -f %s", path_of("image")), 0);
    ck_assert_int_eq(loop_find(file, "scoria:", &loop, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
    ck_assert_int_eq(shell("losetup -d $(losetup -nO NAME -j %s)", path_of("image")), 0);
    assert_none(file);
}
END_TEST

/* A device that lasts as long as its descriptor. */
static int open_over(const char *name) {
    int fd;

    ck_assert_int_eq(shell("losetup -f %s", path_of(name)), 0);
    ck_assert_int_eq(shell("ln -s $(losetup -nO NAME -j %s) %s", path_of(name), path_of("over")),
                     0);
    fd = open(path_of("over"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(shell("losetup -d %s", path_of("over")), 0);
    return fd;
}

START_TEST(a_stale_device_does_not_block_others) {
    autoimage int file = image_make("image", 8 * MIB), behind = image_make("behind", 8 * MIB);
    pid_t server = show_file("behind", "shown");
    autoclose int dead = open_over("shown");
    struct loop_info64 info;
    struct loop loop, other;

    ck_assert_int_eq(ioctl(dead, LOOP_GET_STATUS64, &info), 0);
    ck_assert_int_eq(kill(server, SIGKILL), 0);
    ck_assert_int_eq(waitpid(server, NULL, 0), server);
    while (ioctl(dead, LOOP_GET_STATUS64, &info) == 0) /* as the kernel has cached for a while */
        usleep(10000);
    ck_assert_int_eq(errno, ENOTCONN);

    assert_none(file);
    ck_assert_int_eq(loop_find_label(is, own_label(), &other, &err), 0);
    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    assert_found(file, loop.number);
    close(loop.fd);
    ck_assert_int_eq(shell("umount -l %s", path_of("shown")), 0);
}
END_TEST

START_TEST(no_device_that_responds_is_detached_as_stale) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop loop;

    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    assert_ok(loop_set_persistent(&loop, true, &err));
    close(loop.fd);
    loop_detach_stale(loop.number); /* the number of one that was stale */
    assert_found(file, loop.number);
    assert_ok(loop_release(loop.number, own_label(), &err));
    assert_none(file);
}
END_TEST

/* Until the server of the file gets a request of the kernel, and does not respond. */
static void wait_for_silence(unsigned number) {
    struct loop loop;

    while (loop_open(number, &loop, &err) > 0) {
        close(loop.fd);
        usleep(10000);
    }
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
}

static void wait_for_answer(unsigned number) {
    struct loop loop;

    while (loop_open(number, &loop, &err) < 0)
        usleep(10000);
    close(loop.fd);
}

static void assert_unresponsive(int found) {
    ck_assert_int_eq(found, -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
}

START_TEST(an_unresponsive_device_does_not_block_others) {
    autoimage int file = image_make("image", 8 * MIB), behind = image_make("behind", 8 * MIB);
    pid_t server = show_file("behind", "shown");
    autoclose int silent = open_over("shown"), namesake = -1, own = -1;
    pid_t own_server;
    struct loop_info64 info;
    struct loop loop, other;
    struct loop_name *names;
    struct stat device;

    ck_assert_int_eq(ioctl(silent, LOOP_GET_STATUS64, &info), 0);
    ck_assert_int_eq(fstat(silent, &device), 0);
    assert_none(file); /* it is seen by the way */
    ck_assert_int_eq(kill(server, SIGSTOP), 0);
    wait_for_silence(minor(device.st_rdev));

    assert_none(file);
    ck_assert_int_eq(loop_find_label(is, own_label(), &other, &err), 0);
    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    assert_found(file, loop.number);
    ck_assert_int_ge(loop_list(arena, own_label(), &names, &err), 1);
    assert_ok(loop_set_persistent(&loop, true, &err));
    close(loop.fd);
    assert_ok(loop_release(loop.number, own_label(), &err));
    assert_unresponsive(loop_find_label(is, (char *)info.lo_file_name, &other, &err));

    /* One that was never seen was not made here, but may be over whatever has its file's name. */
    loop_identity_set_file(-1);
    ck_assert_int_eq(loop_find_label(is, (char *)info.lo_file_name, &other, &err), 0);
    assert_none(file);
    ck_assert_int_eq(mkdir(path_of("elsewhere"), 0700), 0);
    namesake = image_make("elsewhere/shown", MIB);
    assert_unresponsive(loop_find(namesake, "scoria:", &other, &err));
    assert_unresponsive(loop_attach(namesake, own_label(), &(struct loop_how){ 0 }, &other, &err));

    /* A file with a server of its own is none of another path. */
    ck_assert_int_eq(mkdir(path_of("own"), 0700), 0);
    own_server = show_file("image", "own/shown");
    own = open(path_of("own/shown"), O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(own, 0);
    assert_none(own);
    cleanup_close(&own);
    hide_file(own_server, "own/shown");

    ck_assert_int_eq(kill(server, SIGCONT), 0);
    wait_for_answer(minor(device.st_rdev));
    assert_none(namesake);
    ck_assert_int_eq(loop_find_label(is, own_label(), &other, &err), 0);
    hide_file(server, "shown");
}
END_TEST

/* The lock is that of a node of the device: other tests have another one. */
static void own_control_device(void) {
    const char *node = path_of("control");
    struct stat control;

    ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
    ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    ck_assert_int_eq(stat("/dev/loop-control", &control), 0);
    ck_assert_int_eq(mknod(node, S_IFCHR | 0600, control.st_rdev), 0);
    ck_assert_int_eq(mount(node, "/dev/loop-control", NULL, MS_BIND, NULL), 0);
}

/* Another process, that of the driver before or any other, is suspended with the lock. */
START_TEST(a_lock_that_is_never_released_ends_a_search_after_seconds) {
    autoimage int file = image_make("image", 8 * MIB);
    int locked[2];
    struct loop loop;
    pid_t holder;
    char byte;

    own_control_device();
    ck_assert_int_eq(pipe2(locked, O_CLOEXEC), 0);
    holder = fork();
    if (holder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (flock(open("/dev/loop-control", O_RDWR | O_CLOEXEC), LOCK_EX) == 0)
            (void)!write(locked[1], "", 1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(locked[0], &byte, 1), 1);
    assert_unresponsive(loop_find(file, "scoria:", &loop, &err));
    assert_unresponsive(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    ck_assert_int_eq(kill(holder, SIGKILL), 0);
    ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
    assert_none(file);
    ck_assert_int_eq(umount2("/dev/loop-control", MNT_DETACH), 0);
    ck_assert_int_eq(unlink(path_of("control")), 0);
    close(locked[0]);
    close(locked[1]);
}
END_TEST

static void *search_for(void *arg) {
    struct error ignored;
    struct loop loop;

    if (loop_find(*(const int *)arg, "scoria:", &loop, &ignored) > 0)
        close(loop.fd);
    return NULL;
}

/* The kernel waits for the server of the image that is searched for. */
START_TEST(an_unresponsive_image_does_not_block_others) {
    autoimage int file = image_make("image", 8 * MIB), behind = image_make("behind", 8 * MIB);
    pid_t server = show_file("behind", "shown");
    autoclose int silent = open(path_of("shown"), O_RDWR | O_CLOEXEC);
    const struct timespec attributes_are_cached = { .tv_sec = 1, .tv_nsec = 100000000 };
    pthread_t searching;

    ck_assert_int_ge(silent, 0);
    ck_assert_int_eq(kill(server, SIGSTOP), 0);
    nanosleep(&attributes_are_cached, NULL);
    ck_assert_int_eq(pthread_create(&searching, NULL, search_for, &silent), 0);
    for (int i = 0; i < 20; i++)
        assert_none(file);
    ck_assert_int_eq(kill(server, SIGCONT), 0);
    ck_assert_int_eq(pthread_join(searching, NULL), 0);
    hide_file(server, "shown");
}
END_TEST

START_TEST(a_device_with_autoclear_is_detached_at_its_last_close) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop loop;

    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    assert_ok(loop_set_persistent(&loop, true, &err));
    close(loop.fd);
    assert_found(file, loop.number);

    ck_assert_int_eq(loop_open(loop.number, &loop, &err), 1);
    assert_ok(loop_set_persistent(&loop, false, &err));
    close(loop.fd);
    wait_for_devices(0);
}
END_TEST

START_TEST(a_device_in_use_is_reported_and_detached_later) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop loop;

    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    assert_ok(loop_set_persistent(&loop, true, &err));
    assert_ok(loop_release(loop.number, "scoria:00000000:volume-2", &err));
    assert_found(file, loop.number);
    ck_assert_int_eq(loop_release(loop.number, own_label(), &err), 1);
    close(loop.fd);
    wait_for_devices(0);
    assert_ok(loop_release(loop.number, own_label(), &err));

    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    assert_ok(loop_set_persistent(&loop, true, &err));
    close(loop.fd);
    assert_ok(loop_release(loop.number, own_label(), &err));
    wait_for_devices(0);
}
END_TEST

START_TEST(a_device_grows_with_its_file_and_never_by_itself) {
    autoimage int file = image_make("image", 8 * MIB);
    autoloop struct loop loop = LOOP_NONE;
    int64_t bytes;

    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
    ck_assert_int_eq(ftruncate(file, 16 * MIB), 0);
    assert_ok(loop_size(&loop, &bytes, &err));
    ck_assert_int_eq(bytes, 8 * MIB);
    assert_ok(loop_grow(&loop, &err));
    assert_ok(loop_size(&loop, &bytes, &err));
    ck_assert_int_eq(bytes, 16 * MIB);
}
END_TEST

/* The file system that is mounted there shares blocks. */
static void mount_storage(void) {
    ck_assert_int_eq(shell("cd %s && truncate -s 512M disk && mkfs.xfs -q -m reflink=1 disk && "
                           "mkdir storage && mount -o loop disk storage",
                           base),
                     0);
}

START_TEST(sectors_are_those_of_the_first_time_whatever_the_image_shares) {
    int sector;

    mount_storage();
    close(image_make("storage/image", 8 * MIB));
    ck_assert_int_eq(
        shell("cd %s/storage && dd if=/dev/urandom of=image bs=1M count=1 conv=notrunc "
              "2>/dev/null && cp --reflink=always image clone",
              base),
        0);
    for (int i = 0; i < 2; i++) {
        autoimage int file =
            open(path_of(i == 0 ? "storage/image" : "storage/clone"), O_RDWR | O_CLOEXEC);
        autoloop struct loop loop = LOOP_NONE;

        assert_ok(loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err));
        ck_assert_int_eq(ioctl(loop.fd, BLKSSZGET, &sector), 0);
        ck_assert_int_eq(sector, 512);
    }
    wait_for_devices(1); /* that of the storage */
    ck_assert_int_eq(shell("umount %s/storage", base), 0);
}
END_TEST

START_TEST(a_read_only_device_takes_no_write) {
    autoimage int file = image_make("image", 8 * MIB), device = -1;
    autoloop struct loop loop = LOOP_NONE;
    char path[LOOP_PATH_SIZE];

    assert_ok(loop_attach(file, own_label(), &(struct loop_how){ .read_only = true }, &loop, &err));
    loop_path(loop.number, path);
    ck_assert(loop.read_only);
    device = open(path, O_RDWR | O_CLOEXEC); /* some kernels let it be opened all the same */
    ck_assert(device < 0 || (pwrite(device, (char[512]){ 0 }, 512, 0) < 0 && errno == EPERM));
}
END_TEST

/* A child attaches, executes its orders, and is killed. */
static void attach_and_die(bool persistent) {
    int status;
    pid_t child = fork();

    if (child == 0) {
        int file = open(path_of("image"), O_RDWR | O_CLOEXEC);
        struct loop loop;

        if (image_lock_writer(file, true, &err) != IMAGE_LOCKED ||
            loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err) < 0 ||
            (persistent && loop_set_persistent(&loop, true, &err) < 0))
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
}

static int write_as_guest(void) {
    return shell("qemu-io -f raw -c 'write 0 4k' %s >/dev/null 2>&1", path_of("image"));
}

/* With a descriptor of its own, as the locks of one open file are no hindrance to itself. */
static void assert_hold(bool alone, enum image_hold hold) {
    autoimage int file = open(path_of("image"), O_RDWR | O_CLOEXEC);

    ck_assert_int_eq(image_lock_writer(file, alone, &err), hold);
}

START_TEST(writers_that_share_may_be_many) {
    autoimage int file = image_make("image", 8 * MIB);

    ck_assert_int_eq(image_lock_writer(file, false, &err), IMAGE_LOCKED);
    assert_hold(false, IMAGE_LOCKED);
    assert_hold(true, IMAGE_HELD);
    assert_hold(false, IMAGE_LOCKED);
}
END_TEST

START_TEST(locks_live_as_long_as_the_device) {
    autoimage int file = image_make("image", 8 * MIB);
    struct loop loop;

    attach_and_die(true);
    ck_assert_int_eq(loop_find(file, "scoria:", &loop, &err), 1);
    ck_assert_int_ne(write_as_guest(), 0);
    ck_assert_int_ne(shell("qemu-img resize -q -f raw %s 16M 2>/dev/null", path_of("image")), 0);
    ck_assert_int_eq(image_lock_still(file, &err), IMAGE_HELD);
    assert_hold(true, IMAGE_HELD);
    assert_hold(false, IMAGE_HELD);
    /* But the service may make the image larger. */
    ck_assert_int_eq(image_lock(file, &err), IMAGE_LOCKED);
    close(loop.fd);
    close(file);
    file = -1;
    assert_ok(loop_release(loop.number, own_label(), &err));
    ck_assert_int_eq(write_as_guest(), 0);
}
END_TEST

START_TEST(a_kill_before_the_device_is_persistent_leaves_nothing) {
    autoimage int file = image_make("image", 8 * MIB);

    attach_and_die(false);
    wait_for_devices(0);
    assert_none(file);
    ck_assert_int_eq(write_as_guest(), 0);
}
END_TEST

#define GUEST                                                                                 \
    "exec qemu-system-x86_64 -S -display none -monitor none -serial none -net none -machine " \
    "accel=tcg -drive if=virtio,format=raw,file="

static pid_t start_guest(void) {
    pid_t guest = fork();

    if (guest == 0) {
        execl("/bin/sh", "sh", "-c", arena_format(arena, GUEST "%s 2>/dev/null", path_of("image")),
              NULL);
        _exit(127);
    }
    return guest;
}

/* The last lock that it takes is "I share writing with no other"; probing takes none. */
static bool has_begun(int file) {
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 201, .l_len = 1 };

    ck_assert_int_eq(fcntl(file, F_OFD_GETLK, &lock), 0);
    return lock.l_type != F_UNLCK;
}

START_TEST(an_image_that_a_guest_has_open_is_held) {
    autoimage int file = image_make("image", 8 * MIB);
    pid_t guest = start_guest();

    while (!has_begun(file))
        usleep(10000);
    assert_hold(true, IMAGE_HELD);
    assert_hold(false, IMAGE_HELD);
    ck_assert_int_eq(image_lock_still(file, &err), IMAGE_HELD);
    kill(guest, SIGKILL);
    ck_assert_int_eq(waitpid(guest, NULL, 0), guest);
}
END_TEST

START_TEST(no_guest_gets_an_image_that_a_node_has_open) {
    autoimage int file = image_make("image", 8 * MIB);
    int status;

    for (int alone = 0; alone < 2; alone++) {
        autoclose int node = open(path_of("image"), O_RDWR | O_CLOEXEC);

        ck_assert_int_eq(image_lock_writer(node, alone, &err), IMAGE_LOCKED);
        ck_assert_int_gt(waitpid(start_guest(), &status, 0), 0);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    }
}
END_TEST

/* Processes that want a device for the same file at once, beside one that takes and ends others. */
static int contend(int file) {
    for (int i = 0; i < 50; i++) {
        autoloop struct loop loop = LOOP_NONE;
        int found = loop_find(file, "scoria:", &loop, &err);

        if (found < 0)
            return 1;
        if (found == 0 &&
            loop_attach(file, own_label(), &(struct loop_how){ 0 }, &loop, &err) < 0 &&
            err.kind != ERROR_CONFLICT)
            return 1;
        if (count_devices() > 1)
            return 2;
    }
    return 0;
}

START_TEST(concurrent_attaches_create_one_device) {
    autoimage int file = image_make("image", 8 * MIB);
    pid_t children[4];
    int status;

    for (size_t i = 0; i < LENGTH(children); i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(contend(open(path_of("image"), O_RDWR | O_CLOEXEC)));
    }
    for (size_t i = 0; i < LENGTH(children); i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
    }
}
END_TEST

NODE_MAIN("loop", a_device_is_found_by_its_file_whatever_the_name,
          a_changed_label_does_not_change_the_volume, a_device_of_another_program_is_refused,
          a_stale_device_does_not_block_others, no_device_that_responds_is_detached_as_stale,
          an_unresponsive_device_does_not_block_others,
          a_lock_that_is_never_released_ends_a_search_after_seconds,
          an_unresponsive_image_does_not_block_others,
          a_device_with_autoclear_is_detached_at_its_last_close,
          a_device_in_use_is_reported_and_detached_later,
          a_device_grows_with_its_file_and_never_by_itself,
          sectors_are_those_of_the_first_time_whatever_the_image_shares,
          a_read_only_device_takes_no_write, locks_live_as_long_as_the_device,
          writers_that_share_may_be_many, no_guest_gets_an_image_that_a_node_has_open,
          a_kill_before_the_device_is_persistent_leaves_nothing,
          an_image_that_a_guest_has_open_is_held, concurrent_attaches_create_one_device)
