/*
 * A node that dies between any two steps, or loses its device, is succeeded.
 */
#define NODE_SCENE "4"
#include "tests/unit/csi/node/storage.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

static bool is_step(uint64_t call) {
    static const int steps[] = { SYS_ioctl,      SYS_fcntl,  SYS_mkdirat,   SYS_unlinkat,
                                 SYS_umount2,    SYS_fsopen, SYS_fsconfig,  SYS_fsmount,
                                 SYS_move_mount, SYS_clone,  SYS_open_tree, SYS_mount_setattr,
                                 SYS_wait4 };

    for (size_t i = 0; i < LENGTH(steps); i++)
        if (call == (uint64_t)steps[i])
            return true;
    return false;
}

/* The child before its step number `number`; false: it ended by itself, and well. */
static bool kill_at(pid_t child, unsigned number) {
    struct __ptrace_syscall_info info;
    unsigned seen = 0;
    int status;

    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (seen == 0)
            ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
        if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) > 0 &&
            info.op == PTRACE_SYSCALL_INFO_ENTRY && is_step(info.entry.nr) && ++seen == number)
            kill(child, SIGKILL);
        ptrace(PTRACE_SYSCALL, child, NULL, 0);
    }
    if (WIFEXITED(status))
        ck_assert_int_eq(WEXITSTATUS(status), 0);
    return !WIFEXITED(status);
}

typedef int node_step(const struct node_capability *capability);

/* false: the whole step was done before that. */
static bool run_until(node_step *step, const struct node_capability *capability, unsigned number) {
    pid_t child = fork();

    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(step(capability) == 0 ? 0 : 1);
    }
    return kill_at(child, number);
}

/* The same.  A published volume has its device: the number of one that has gone is another volume's
 * at once. */
static bool die_in(node_step *step, const struct node_capability *capability, unsigned number) {
    bool died = run_until(step, capability, number);

    if (count_mounts() > 0)
        ck_assert_int_eq(count_devices(), 1);
    return died;
}

static int step_publish(const struct node_capability *capability) {
    return publish("kubelet/pods/a", capability, false);
}

static int step_unpublish(const struct node_capability *capability) {
    (void)capability;
    return unpublish("kubelet/pods/a");
}

static int step_unstage(const struct node_capability *capability) {
    (void)capability;
    return unstage();
}

/* A child of the killed process may be alive for a moment, and have the device open. */
static void repeat(node_step *step, const struct node_capability *capability) {
    int result;

    for (int i = 0; (result = step(capability)) < 0 && i < 1000; i++)
        usleep(10000);
    ck_assert_msg(result == 0, "%s", err.message);
    ck_assert_int_le(count_devices(), 1);
}

/* Every step of each call is the last one once; the same call is then made again, or its
 * opposite. */
static void die_everywhere(const struct node_capability *capability, bool back) {
    bool may_continue = true;
    unsigned i;

    for (i = WALK_FIRST + 1; may_continue; i += WALK_STEP) {
        may_continue = die_in(stage, capability, i);
        if (!back) {
            repeat(stage, capability);
            may_continue |= die_in(step_publish, capability, i);
            repeat(step_publish, capability);
            may_continue |= die_in(step_unpublish, capability, i);
        }
        repeat(step_unpublish, capability);
        ck_assert(!exists("kubelet/pods/a"));
        if (!back)
            may_continue |= die_in(step_unstage, capability, i);
        repeat(step_unstage, capability);
        ck_assert_int_eq(count_mounts(), 0);
        wait_for_devices(0);
    }
    ck_assert_uint_gt(i, 10);
}

START_TEST(a_kill_at_any_step_of_a_file_system_is_recovered) {
    autoimage int file = image(64 * MIB);

    assert_ok(stage(&ext4));
    assert_ok(unstage());
    die_everywhere(&ext4, false);
    die_everywhere(&ext4, true);
}
END_TEST

/* The kubelet stages a volume once, so the next publish completes an interrupted remount. */
START_TEST(a_kill_at_any_step_of_a_remount_is_recovered) {
    static const struct node_capability several = { .type = "ext4",
                                                    .mode = NODE_SINGLE_MULTI_WRITER };
    autoimage int file = image(64 * MIB);
    bool may_continue = true;
    struct stat status;
    unsigned i;

    for (i = WALK_FIRST + 1; may_continue; i += WALK_STEP) {
        assert_ok(stage(&several));
        ck_assert_int_eq(stat(path_of("kubelet/staging"), &status), 0);
        ck_assert_int_eq(
            shell("echo test >/sys/fs/ext4/loop%u/trigger_fs_error", minor(status.st_dev)), 0);
        may_continue = die_in(step_publish, &several, i);
        repeat(step_publish, &several);
        ck_assert_int_eq(shell("echo data >%s", path_of("kubelet/pods/a/file")), 0);
        repeat(step_unpublish, &several);
        repeat(step_unstage, &several);
        ck_assert_int_eq(count_mounts(), 0);
        wait_for_devices(0);
    }
    ck_assert_uint_gt(i, 10);
}
END_TEST

/* As the driver's call does. */
static int step_publish_anew(const struct node_capability *capability) {
    int result = step_publish(capability);

    if (result == NODE_STALE)
        result = stage(capability) == 0 ? step_publish(capability) : -1;
    return result;
}

/* The staged device has lost its storage: a publish replaces it, or the volume is unstaged. */
START_TEST(a_kill_at_any_step_of_a_replacement_is_recovered) {
    static const struct node_capability several = { .type = "ext4",
                                                    .mode = NODE_SINGLE_MULTI_WRITER };
    static const struct node_capability *const kinds[] = { &several, &block };
    unsigned i = 0;

    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        bool may_continue = true;

        for (i = WALK_FIRST + 1; may_continue; i += WALK_STEP) {
            mount_storage();
            close(image(64 * MIB));
            assert_ok(stage(kinds[kind]));
            ck_assert_int_eq(shell("sync"), 0);
            shut_down("images");
            replace_storage();
            may_continue = run_until(step_publish_anew, kinds[kind], i);
            if (i % 2 || !may_continue) {
                ck_assert_int_eq(step_publish_anew(kinds[kind]), 0);
                ck_assert_int_eq(shell("dd if=/dev/zero of=%s bs=4096 count=1 status=none "
                                       "conv=fsync,notrunc",
                                       path_of(kinds[kind] == &block ? "kubelet/pods/a"
                                                                     : "kubelet/pods/a/file")),
                                 0);
            }
            assert_ok(step_unpublish(kinds[kind]));
            assert_ok(step_unstage(kinds[kind]));
            unmount_storage();
        }
    }
    ck_assert_uint_gt(i, 10);
}
END_TEST

START_TEST(a_kill_at_any_step_of_a_block_volume_is_recovered) {
    autoimage int file = image(64 * MIB);

    die_everywhere(&block, false);
    die_everywhere(&block, true);
}
END_TEST

/* The rest of a block volume when the machine has started again: an empty file. */
START_TEST(a_reboot_leaves_no_obstacle) {
    autoimage int file = image(8 * MIB);

    ck_assert_int_eq(
        shell(": >%s; : >%s", path_of("kubelet/staging/" NODE_DEVICE), path_of("kubelet/pods/a")),
        0);
    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/a", &block, false));
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
    ck_assert_int_eq(
        shell(": >%s; : >%s", path_of("kubelet/staging/" NODE_DEVICE), path_of("kubelet/pods/a")),
        0);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
    ck_assert(!exists("kubelet/staging/" NODE_DEVICE));
}
END_TEST

/* Another program may have the free number for a while. */
static void attach_at(const char *device, const char *path) {
    int status = -1;

    for (int i = 0; i < 6000 && status != 0; i++) {
        status = shell("losetup %s %s 2>/dev/null", device, path);
        if (status != 0)
            usleep(10000);
    }
    ck_assert_int_eq(status, 0);
}

/* The device has gone while it was bound, and its number is another's now. */
START_TEST(a_detached_device_is_replaced) {
    autoimage int file = image(8 * MIB), stranger = image_make("stranger", 8 * MIB);
    struct stat status;
    char device[64];

    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/a", &block, false));
    ck_assert_int_eq(stat(path_of("kubelet/staging/" NODE_DEVICE), &status), 0);
    snprintf(device, sizeof(device), "/dev/loop%u", (unsigned)(status.st_rdev & 0xff));
    ck_assert_int_eq(shell("losetup -d %s", device), 0);
    attach_at(device, path_of("stranger"));
    assert_ok(stage(&block));
    ck_assert_int_eq(publish("kubelet/pods/a", &block, false), NODE_DIFFERS);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(publish("kubelet/pods/a", &block, false));
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
    ck_assert_int_eq(count_devices(), 1);
    ck_assert_int_eq(shell("losetup -d %s", device), 0);
}
END_TEST

NODE_SCENE_MAIN("node_death", a_kill_at_any_step_of_a_file_system_is_recovered,
                a_kill_at_any_step_of_a_remount_is_recovered,
                a_kill_at_any_step_of_a_replacement_is_recovered,
                a_kill_at_any_step_of_a_block_volume_is_recovered, a_reboot_leaves_no_obstacle,
                a_detached_device_is_replaced)
