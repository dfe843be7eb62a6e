/*
 * A file system or a device that has failed below a pod: it is reported, unmounted, and staged
 * again.
 */
#define NODE_SCENE "7"
#include "tests/unit/csi/node/storage.h"

#include <errno.h>
#include <sys/sysmacros.h>

static const struct node_capability ext4_shared = { .type = "ext4",
                                                    .mode = NODE_SINGLE_MULTI_WRITER };
/* Both kinds of file system, for several pods of one node. */
static const struct node_capability *const kinds[] = { &ext4_shared, &xfs };

/* The kernel finds an error in an ext4, and makes it read-only. */
static void find_error(const char *name) {
    struct stat status;

    ck_assert_int_eq(stat(path_of(name), &status), 0);
    ck_assert_int_eq(shell("echo test >/sys/fs/ext4/loop%u/trigger_fs_error", minor(status.st_dev)),
                     0);
}

static void stop(const struct node_capability *kind, const char *name) {
    if (kind == &xfs)
        shut_down(name);
    else
        find_error(name);
}

static bool takes_writes(const char *name) {
    return shell("echo more 2>/dev/null >%s", path_of(name)) == 0;
}

static const char *fault(const char *name) {
    struct node_usage usage;

    memset(&err, 0, sizeof(err));
    assert_ok(node_usage(&node, ID, path_of(name), &usage, &err));
    return usage.fault;
}

static void stage_with_data(const struct node_capability *kind) {
    assert_ok(stage(kind));
    assert_ok(publish("kubelet/pods/a", kind, false));
    ck_assert_int_eq(shell("echo data >%1$s && sync %1$s", path_of("kubelet/pods/a/file")), 0);
    ck_assert_ptr_null(fault("kubelet/pods/a"));
}

static void empty(int file) {
    ck_assert_int_eq(ftruncate(file, 0), 0);
    ck_assert_int_eq(ftruncate(file, 320 * MIB), 0);
}

static void assert_whole(const struct node_capability *kind) {
    assert_ok(stage(kind));
    assert_ok(publish("kubelet/pods/a", kind, false));
    ck_assert_int_eq(shell("grep -q data %s", path_of("kubelet/pods/a/file")), 0);
    ck_assert(takes_writes("kubelet/pods/a/other"));
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
}

START_TEST(a_file_system_that_has_shut_down_is_reported_and_unmounted) {
    autoimage int file = image(320 * MIB);

    for (size_t i = 0; i < LENGTH(kinds); i++) {
        empty(file);
        stage_with_data(kinds[i]);
        shut_down("kubelet/pods/a");
        ck_assert_ptr_nonnull(fault("kubelet/pods/a"));
        ck_assert_ptr_nonnull(fault("kubelet/staging"));
        ck_assert_int_eq(node_unpublish(&node, "another", path_of("kubelet/pods/a"), &err), -1);
        assert_ok(unpublish("kubelet/pods/a"));
        ck_assert(!exists("kubelet/pods/a"));
        assert_ok(unstage());
        ck_assert_int_eq(count_mounts(), 0);
        wait_for_devices(0);
        assert_whole(kinds[i]);
    }
}
END_TEST

START_TEST(the_next_pod_gets_a_file_system_that_takes_writes) {
    autoimage int file = image(320 * MIB);

    for (size_t i = 0; i < LENGTH(kinds); i++) {
        for (int again = 0; again < 2; again++) { /* published again, or staged again before */
            empty(file);
            stage_with_data(kinds[i]);
            stop(kinds[i], "kubelet/pods/a");
            assert_ok(unpublish("kubelet/pods/a"));
            if (again)
                assert_ok(stage(kinds[i]));
            assert_ok(publish("kubelet/pods/b", kinds[i], false));
            ck_assert(takes_writes("kubelet/pods/b/other"));
            ck_assert_ptr_null(fault("kubelet/pods/b"));
            assert_ok(unpublish("kubelet/pods/b"));
            assert_ok(unstage());
            assert_whole(kinds[i]);
        }
    }
}
END_TEST

START_TEST(a_stopped_file_system_that_another_pod_uses_is_not_published) {
    autoimage int file = image(320 * MIB);

    for (size_t i = 0; i < LENGTH(kinds); i++) {
        empty(file);
        stage_with_data(kinds[i]);
        stop(kinds[i], "kubelet/pods/a");
        assert_refused(publish("kubelet/pods/b", kinds[i], false), PRECONDITION);
        ck_assert(!exists("kubelet/pods/b"));
        assert_refused(stage(kinds[i]), PRECONDITION);
        ck_assert_int_eq(count_mounts(), 2);
        assert_ok(unpublish("kubelet/pods/a"));
        assert_ok(unstage());
        assert_whole(kinds[i]);
    }
}
END_TEST

/* A file system that was requested read-only has not stopped. */
START_TEST(a_read_only_file_system_is_published_as_it_is) {
    autoimage int file = image(320 * MIB);
    static char option[] = "ro";
    char *flags[] = { option };
    const struct node_capability reading = {
        .type = "xfs", .mode = NODE_SINGLE_MULTI_WRITER, .flags = flags, .flag_count = 1
    };

    stage_with_data(&xfs);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
    assert_ok(stage(&reading));
    assert_ok(publish("kubelet/pods/a", &reading, false));
    assert_ok(publish("kubelet/pods/b", &reading, false));
    assert_ok(unpublish("kubelet/pods/b"));
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

/* A program in place of e2fsck that is killed, as for want of memory. */
static void publish_without_check(const char *target) {
    const char *path = arena_text(arena, getenv("PATH"));

    ck_assert_int_eq(
        shell(
            "mkdir -p %1$s/bin && printf '#!/bin/sh\\nkill -9 $$\\n' >%1$s/bin/e2fsck && chmod 755 %1$s/bin/e2fsck",
            base),
        0);
    setenv("PATH", arena_format(arena, "%s/bin:%s", base, path), 1);
    ck_assert_int_eq(publish(target, &ext4_shared, false), -1);
    setenv("PATH", path, 1);
    ck_assert(!exists(target));
    ck_assert_int_eq(count_mounts(), 0);
    ck_assert_int_eq(count_devices(), 1); /* with its lock of the image */
}

/* The kubelet stages a volume once, for all of its pods. */
START_TEST(a_publish_whose_check_failed_succeeds_when_repeated) {
    autoimage int file = image(320 * MIB);

    stage_with_data(&ext4_shared);
    find_error("kubelet/pods/a");
    assert_ok(unpublish("kubelet/pods/a"));
    publish_without_check("kubelet/pods/b");
    publish_without_check("kubelet/pods/b");
    assert_refused(publish("kubelet/pods/b", &ext4, false), PRECONDITION);
    assert_ok(publish("kubelet/pods/b", &ext4_shared, false));
    ck_assert(takes_writes("kubelet/pods/b/other"));
    ck_assert_ptr_null(fault("kubelet/staging"));
    assert_ok(unpublish("kubelet/pods/b"));
    assert_ok(unstage());
    wait_for_devices(0);
    assert_refused(publish("kubelet/pods/b", &ext4_shared, false), PRECONDITION);
    assert_whole(&ext4_shared);
}
END_TEST

START_TEST(a_volume_whose_check_failed_is_unstaged_or_staged_again) {
    autoimage int file = image(320 * MIB);

    for (int again = 0; again < 2; again++) {
        empty(file);
        stage_with_data(&ext4_shared);
        find_error("kubelet/pods/a");
        assert_ok(unpublish("kubelet/pods/a"));
        publish_without_check("kubelet/pods/b");
        if (again)
            assert_ok(stage(&ext4_shared));
        assert_ok(unstage());
        ck_assert_int_eq(count_mounts(), 0);
        wait_for_devices(0);
        assert_whole(&ext4_shared);
    }
}
END_TEST

/* ---- the file system below the images ---- */

START_TEST(a_device_whose_storage_has_shut_down_is_unmounted) {
    const struct node_capability *const all[] = { &ext4_shared, &xfs, &block };

    for (size_t i = 0; i < LENGTH(all); i++) {
        const char *staged = all[i] == &block ? "kubelet/staging/" NODE_DEVICE : "kubelet/staging";

        mount_storage();
        close(image(320 * MIB));
        assert_ok(stage(all[i]));
        assert_ok(publish("kubelet/pods/a", all[i], false));
        shut_down("images");
        ck_assert_ptr_nonnull(fault("kubelet/pods/a"));
        ck_assert_ptr_nonnull(fault(staged));
        ck_assert_int_eq(node_unpublish(&node, "another", path_of("kubelet/pods/a"), &err),
                         all[i] == &block ? 0 : -1);
        ck_assert_int_eq(stage(all[i]), -1);
        assert_ok(unpublish("kubelet/pods/a"));
        assert_ok(unstage());
        unmount_storage();
    }
}
END_TEST

static void assert_stale(const struct node_capability *kind) {
    int result = publish("kubelet/pods/b", kind, false);

    ck_assert_msg(result == NODE_STALE, "%d: %s", result, err.message);
}

/* The kubelet stages a volume once, for all of its pods. */
START_TEST(a_publish_on_a_stale_device_succeeds_after_a_stage) {
    const struct node_capability *const all[] = { &ext4_shared, &xfs, &block };

    for (size_t i = 0; i < LENGTH(all); i++) {
        int mounts;

        mount_storage();
        close(image(320 * MIB));
        assert_ok(stage(all[i]));
        assert_ok(publish("kubelet/pods/a", all[i], false));
        ck_assert_int_eq(shell("sync"), 0);
        shut_down("images");
        ck_assert_int_eq(publish("kubelet/pods/a", all[i], false), -1); /* below this pod */
        assert_ok(unpublish("kubelet/pods/a"));
        mounts = count_mounts();
        assert_stale(all[i]);
        ck_assert_int_eq(stage(all[i]), -1); /* the storage is not there yet: nothing has changed */
        assert_stale(all[i]);
        ck_assert_int_eq(count_mounts(), mounts);
        ck_assert(!exists("kubelet/pods/b"));
        replace_storage();
        assert_stale(all[i]);
        assert_ok(stage(all[i]));
        assert_ok(publish("kubelet/pods/b", all[i], false));
        ck_assert_ptr_null(fault("kubelet/pods/b"));
        ck_assert(all[i] == &block || takes_writes("kubelet/pods/b/other"));
        assert_ok(unpublish("kubelet/pods/b"));
        assert_ok(unstage());
        unmount_storage();
    }
}
END_TEST

START_TEST(a_bound_device_whose_number_is_that_of_another_file_is_stale) {
    struct stat status;
    unsigned number;

    close(image(8 * MIB));
    assert_ok(stage(&block));
    ck_assert_int_eq(stat(path_of("kubelet/staging/" NODE_DEVICE), &status), 0);
    number = minor(status.st_rdev);
    ck_assert_int_eq(shell("cd %s && truncate -s 8M other && losetup -d /dev/loop%u && "
                           "losetup /dev/loop%u other",
                           base, number, number),
                     0);
    assert_stale(&block);
    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/b", &block, false));
    assert_ok(unpublish("kubelet/pods/b"));
    assert_ok(unstage());
    ck_assert_int_eq(shell("losetup -d /dev/loop%u", number), 0);
}
END_TEST

NODE_SCENE_MAIN("node_failure", a_file_system_that_has_shut_down_is_reported_and_unmounted,
                the_next_pod_gets_a_file_system_that_takes_writes,
                a_stopped_file_system_that_another_pod_uses_is_not_published,
                a_read_only_file_system_is_published_as_it_is,
                a_publish_whose_check_failed_succeeds_when_repeated,
                a_volume_whose_check_failed_is_unstaged_or_staged_again,
                a_device_whose_storage_has_shut_down_is_unmounted,
                a_publish_on_a_stale_device_succeeds_after_a_stage,
                a_bound_device_whose_number_is_that_of_another_file_is_stale)
