/*
 * Published volumes: a second target, and reasons that keep a volume staged.
 */
#include "common/image_lock.h"
#define NODE_SCENE "2"
#include "tests/unit/csi/node/scene.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

START_TEST(a_second_target_is_for_modes_that_have_one) {
    autoimage int file = image(320 * MIB);

    assert_ok(stage(&ext4));
    assert_ok(publish("kubelet/pods/a", &ext4, false));
    assert_refused(publish("kubelet/pods/b", &ext4, false), PRECONDITION);
    assert_refused(publish("kubelet/pods/b", &ext4, true), PRECONDITION);
    ck_assert(!exists("kubelet/pods/b"));
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(publish("kubelet/pods/b", &ext4, false));
    assert_ok(unpublish("kubelet/pods/b"));
    assert_ok(unstage());
    ck_assert_int_eq(ftruncate(file, 0), 0);
    ck_assert_int_eq(ftruncate(file, 320 * MIB), 0);

    assert_ok(stage(&xfs));
    assert_ok(publish("kubelet/pods/a", &xfs, false));
    assert_ok(publish("kubelet/pods/b", &xfs, true));
    ck_assert_int_eq(shell(": >%s", path_of("kubelet/pods/a/file")), 0);
    ck_assert_int_ne(shell(": 2>/dev/null >%s", path_of("kubelet/pods/b/other")), 0);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unpublish("kubelet/pods/b"));
    assert_ok(unstage());
}
END_TEST

START_TEST(a_volume_that_is_in_use_stays_staged) {
    autoimage int file = image(64 * MIB);
    autoclose int open_file = -1;

    assert_ok(stage(&ext4));
    open_file = open(path_of("kubelet/staging"), O_RDONLY | O_CLOEXEC);
    assert_refused(unstage(), PRECONDITION);
    close(open_file);
    open_file = -1;
    assert_ok(unstage());

    assert_ok(stage(&block));
    open_file = open(path_of("kubelet/staging/" NODE_DEVICE), O_RDONLY | O_CLOEXEC);
    assert_refused(unstage(), PRECONDITION);
    close(open_file);
    open_file = -1;
    assert_ok(unstage());
}
END_TEST

/* A device without an open descriptor would go, and the pod would have its number, which is
 * another's soon. */
START_TEST(a_volume_that_is_published_stays_staged) {
    autoimage int file = image(8 * MIB);

    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/a", &block, false));
    assert_refused(unstage(), PRECONDITION);
    ck_assert_int_eq(count_devices(), 1);
    ck_assert_int_eq(shell("head -c 512 %s >/dev/null", path_of("kubelet/pods/a")), 0);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

/* In a memory volume that another pod mounts as a subPath. */
START_TEST(a_device_node_made_by_a_pod_is_no_publish) {
    autoimage int file = image(8 * MIB);
    struct stat device;
    const char *own;

    assert_ok(stage(&block));
    ck_assert_int_eq(stat(path_of("kubelet/staging/device"), &device), 0);
    ck_assert_int_eq(shell("mkdir %1$s/kubelet/own; mount -t tmpfs none %1$s/kubelet/own", base),
                     0);
    own = arena_format(arena, "%s/kubelet/own/loop%u", base, minor(device.st_rdev));
    ck_assert_int_eq(mknod(own, S_IFBLK | 0600, device.st_rdev), 0);
    ck_assert_int_eq(
        shell("touch %1$s/kubelet/pods/a; mount --bind %2$s %1$s/kubelet/pods/a", base, own), 0);
    assert_ok(unstage());
    ck_assert_int_eq(shell("umount %1$s/kubelet/pods/a %1$s/kubelet/own", base), 0);
}
END_TEST

/* Mounted in another namespace, as in a container that did not get the unmount. */
START_TEST(a_volume_that_is_mounted_elsewhere_is_not_unstaged) {
    autoimage int file = image(64 * MIB);
    int ready[2];
    char byte;
    pid_t other;

    assert_ok(stage(&ext4));
    ck_assert_int_eq(pipe(ready), 0);
    other = fork();
    if (other == 0) {
        unshare(CLONE_NEWNS);
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    for (int i = 0; i < 2; i++)
        assert_refused(unstage(), PRECONDITION);
    ck_assert_int_eq(image_lock_look(file, &err), IMAGE_HELD);
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    assert_ok(unstage());
    close(ready[0]);
    close(ready[1]);
}
END_TEST

NODE_SCENE_MAIN("node_publish", a_second_target_is_for_modes_that_have_one,
                a_volume_that_is_in_use_stays_staged, a_volume_that_is_published_stays_staged,
                a_device_node_made_by_a_pod_is_no_publish,
                a_volume_that_is_mounted_elsewhere_is_not_unstaged)
