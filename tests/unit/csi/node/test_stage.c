/*
 * Volumes are staged, and published to pods, step by step; every deviation is refused.
 */
#include "common/image_lock.h"
#include "csi/node/volume_lock.h"
#define NODE_SCENE "1"
#include "tests/unit/csi/node/scene.h"

#include <errno.h>
#include <sys/wait.h>

START_TEST(each_step_of_a_file_system_may_be_repeated) {
    autoimage int file = image(64 * MIB);

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++)
            assert_ok(stage(&ext4));
        ck_assert_int_eq(count_devices(), 1);
        for (int i = 0; i < 2; i++)
            assert_ok(publish("kubelet/pods/a", &ext4, false));
        if (round == 0)
            ck_assert_int_eq(shell("echo data >%s", path_of("kubelet/pods/a/file")), 0);
        ck_assert_int_eq(shell("grep -q data %s", path_of("kubelet/pods/a/file")), 0);
        for (int i = 0; i < 2; i++)
            assert_ok(unpublish("kubelet/pods/a"));
        ck_assert(!exists("kubelet/pods/a"));
        for (int i = 0; i < 2; i++)
            assert_ok(unstage());
        ck_assert_int_eq(count_devices(), 0);
        ck_assert(exists("kubelet/staging"));
    }
}
END_TEST

START_TEST(each_step_of_a_block_volume_may_be_repeated) {
    autoimage int file = image(8 * MIB);
    struct stat status;

    for (int i = 0; i < 2; i++)
        assert_ok(stage(&block));
    for (int i = 0; i < 2; i++)
        assert_ok(publish("kubelet/pods/a", &block, false));
    ck_assert_int_eq(count_devices(), 1);
    ck_assert_int_eq(stat(path_of("kubelet/pods/a"), &status), 0);
    ck_assert(S_ISBLK(status.st_mode));
    ck_assert_int_eq(
        shell("echo data | dd of=%s conv=fsync status=none", path_of("kubelet/pods/a")), 0);
    ck_assert_int_eq(shell("head -c 4 %s | grep -q data", path_of("images/" ID)), 0);
    for (int i = 0; i < 2; i++)
        assert_ok(unpublish("kubelet/pods/a"));
    ck_assert(!exists("kubelet/pods/a"));
    for (int i = 0; i < 2; i++)
        assert_ok(unstage());
    ck_assert(!exists("kubelet/staging/" NODE_DEVICE));
}
END_TEST

START_TEST(different_arguments_are_reported) {
    static char *const flags[] = { "noatime" };
    const struct node_capability other = {
        .mode = NODE_SINGLE_WRITER_NODE, .type = "", .flags = flags, .flag_count = 1
    };
    autoimage int file = image(64 * MIB);

    assert_ok(stage(&ext4));
    ck_assert_int_eq(stage(&other), NODE_DIFFERS);
    ck_assert_int_eq(stage(&block), NODE_DIFFERS);
    ck_assert_int_eq(stage(&reader), NODE_DIFFERS);
    assert_ok(publish("kubelet/pods/a", &ext4, false));
    ck_assert_int_eq(publish("kubelet/pods/a", &ext4, true), NODE_DIFFERS);
    ck_assert_int_eq(publish("kubelet/pods/a", &other, false), NODE_DIFFERS);
    assert_ok(publish("kubelet/pods/a", &ext4, false));
    assert_ok(unpublish("kubelet/pods/a"));
    assert_refused(publish("kubelet/pods/a", &other, false), PRECONDITION);
    ck_assert(!exists("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

START_TEST(readers_have_it_read_only) {
    autoimage int file = image(64 * MIB);

    assert_refused(stage(&reader), PRECONDITION); /* blank */
    assert_ok(stage(&ext4));
    assert_ok(unstage());
    assert_ok(stage(&reader));
    assert_ok(publish("kubelet/pods/a", &reader, false));
    assert_ok(publish("kubelet/pods/b", &reader, true));
    assert_ok(publish("kubelet/pods/b", &reader, true));
    ck_assert_int_ne(shell(": 2>/dev/null >%s", path_of("kubelet/pods/a/file")), 0);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unpublish("kubelet/pods/b"));
    assert_ok(unstage());
}
END_TEST

START_TEST(block_volumes_that_are_written_are_not_shown_read_only) {
    autoimage int file = image(8 * MIB);

    assert_ok(stage(&shared_block));
    assert_refused(publish("kubelet/pods/a", &shared_block, true), PRECONDITION);
    ck_assert(!exists("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

START_TEST(hostile_requests_change_nothing) {
    static const struct node_capability bad[] = {
        { .type = "vfat", .mode = NODE_SINGLE_WRITER_NODE },
        { .type = "", .mode = 0 },
        { .type = "", .mode = 8 },
        { .type = "", .mode = NODE_MULTI_MULTI_WRITER },
    };
    autoimage int file = image(64 * MIB);

    for (size_t i = 0; i < LENGTH(bad); i++) {
        ck_assert_int_eq(stage(&bad[i]), -1);
        ck_assert_int_eq(err.kind, i == 3 ? ERROR_PRECONDITION : ERROR_BAD_REQUEST);
    }
    assert_refused(stage_at("/etc", &ext4, ID), BAD_REQUEST);
    assert_refused(stage_at(path_of("kubelet/../images"), &ext4, ID), BAD_REQUEST);
    assert_refused(stage_at(path_of("kubelet/none/staging"), &ext4, ID), NOT_FOUND);
    assert_refused(stage_at(path_of("kubelet/none"), &ext4, ID), BAD_REQUEST);
    assert_refused(stage_at(path_of("kubelet/staging"), &ext4, "../" ID), NOT_FOUND);
    assert_refused(stage_at(path_of("kubelet/staging"), &ext4, "fake-vol-id"), NOT_FOUND);
    assert_refused(publish("kubelet/pods/a", &ext4, false), PRECONDITION);
    assert_ok(stage(&ext4));
    ck_assert_int_eq(symlink("/etc", path_of("kubelet/pods/link")), 0);
    ck_assert_int_eq(shell("echo data >%s", path_of("kubelet/pods/file")), 0);
    assert_refused(publish("kubelet/pods/link/x", &ext4, false), NOT_FOUND);
    assert_refused(publish("kubelet/pods/link", &ext4, false), PRECONDITION);
    assert_refused(publish("kubelet/pods/file", &ext4, false), PRECONDITION);
    assert_refused(publish("images/x", &ext4, false), BAD_REQUEST);
    assert_refused(unpublish("kubelet/pods/file"), PRECONDITION);
    assert_refused(unpublish("images/x"), BAD_REQUEST);
    ck_assert_int_eq(shell("grep -q data %s", path_of("kubelet/pods/file")), 0);
    assert_ok(unstage());
    ck_assert_int_eq(count_devices(), 0);
}
END_TEST

START_TEST(a_mount_of_a_replaced_image_is_reported) {
    autoimage int file = image(64 * MIB), other = -1;

    assert_ok(stage(&ext4));
    ck_assert_int_eq(unlink(path_of("images/" ID)), 0);
    other = image(64 * MIB);
    assert_refused(stage(&ext4), PRECONDITION);
    assert_ok(unstage());
    assert_ok(stage(&ext4));
    assert_ok(unstage());
}
END_TEST

START_TEST(devices_of_other_programs_are_left_alone) {
    autoimage int file = image_make("of:" ID, 8 * MIB);

    ck_assert_int_eq(shell("losetup -f %s", path_of("of:" ID)), 0);
    assert_ok(unstage());
    ck_assert_int_eq(count_devices(), 1);
    ck_assert_int_eq(shell("losetup -d $(losetup -nO NAME -j %s)", path_of("of:" ID)), 0);
}
END_TEST

START_TEST(mounts_of_other_programs_are_left_alone) {
    autoimage int file = image(64 * MIB);

    ck_assert_int_eq(mount("none", path_of("kubelet/staging"), "tmpfs", 0, NULL), 0);
    assert_refused(stage(&ext4), PRECONDITION);
    assert_refused(unstage(), PRECONDITION);
    ck_assert_int_eq(umount(path_of("kubelet/staging")), 0);
    assert_ok(stage(&ext4));
    /* A wrong id takes no other volume's mount away. */
    ck_assert_int_eq(node_unstage(&node, arena, "another", path_of("kubelet/staging"), &err), -1);
    ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
    assert_ok(publish("kubelet/pods/a", &ext4, false));
    ck_assert_int_eq(node_unpublish(&node, "another", path_of("kubelet/pods/a"), &err), -1);
    ck_assert_int_eq(count_mounts(), 2);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

START_TEST(an_image_that_is_in_use_elsewhere_is_refused) {
    autoimage int file = image(64 * MIB), other = open(path_of("images/" ID), O_RDWR | O_CLOEXEC);

    ck_assert_int_eq(image_lock_writer(other, false, &err), IMAGE_LOCKED);
    assert_refused(stage(&ext4), PRECONDITION);
    assert_refused(stage(&block), PRECONDITION);
    ck_assert_int_eq(count_devices(), 0);
    assert_ok(stage(&shared_block));
    assert_ok(unstage());
    close(other);
    other = -1;
    assert_ok(stage(&ext4));
    assert_ok(unstage());
}
END_TEST

/* A process of its own has the image's locks, and releases them when the stage may have begun. */
static int stage_while_locked(void) {
    autoclose int other = open(path_of("images/" ID), O_RDWR | O_CLOEXEC);
    pid_t child;
    int result;

    ck_assert_int_eq(image_lock_writer(other, false, &err), IMAGE_LOCKED);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        usleep(50000);
        _exit(0);
    }
    close(take_fd(other)); /* the child's descriptor keeps them */
    result = stage(&ext4);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    return result;
}

/* The kernel releases the locks of a detached device a moment later.  A child that is late by more
 * than a second is tried again. */
START_TEST(a_stage_waits_for_the_locks_of_a_detached_device) {
    autoimage int file = image(64 * MIB);
    int result = -1;

    for (int i = 0; i < 5 && result < 0; i++)
        result = stage_while_locked();
    assert_ok(result);
    assert_ok(unstage());
}
END_TEST

START_TEST(concurrent_calls_for_one_volume_are_refused) {
    autoimage int file = image(64 * MIB);
    struct volume_lock lock, other;

    ck_assert(volume_lock_try(&lock, ID));
    assert_refused(stage(&ext4), CONFLICT);
    assert_refused(unstage(), CONFLICT);
    assert_refused(publish("kubelet/pods/a", &ext4, false), CONFLICT);
    assert_refused(unpublish("kubelet/pods/a"), CONFLICT);
    ck_assert(!volume_lock_wait(&other, ID, 0));
    volume_lock_release(&lock);
    ck_assert(volume_lock_wait(&other, ID, 0));
    volume_lock_release(&other);
    assert_ok(stage(&ext4));
    assert_ok(unstage());
}
END_TEST

#define COPY "6f9f3b4e-0000-4000-8000-00000000000c"

static int stage_copy(const char *mode, const struct node_capability *capability) {
    const struct text_pair context[] = { { "driver_volume_type", "local" },
                                         { "format", "raw" },
                                         { "access_mode", mode },
                                         { "device_path", path_of("images/" COPY) } };

    return stage_from(context, LENGTH(context), path_of("kubelet/pods"), capability, COPY);
}

static void unstage_copy(void) {
    assert_ok(node_unstage(&node, arena, COPY, path_of("kubelet/pods"), &err));
}

/* As a snapshot below a running pod is. */
START_TEST(a_copy_with_a_dirty_journal_is_read_by_many) {
    const struct node_capability xfs_reader = { .type = "xfs", .mode = NODE_MULTI_READER_ONLY };
    const struct node_capability *const kinds[] = { &ext4, &xfs };
    const struct node_capability *const readers[] = { &reader, &xfs_reader };
    static const char *const modes[] = { "rw", "ro" };
    autoimage int file = image(320 * MIB);

    for (size_t i = 0; i < LENGTH(kinds) * LENGTH(modes); i++) {
        const struct node_capability *capability = readers[i / LENGTH(modes)];
        autoimage int other = -1;

        ck_assert_int_eq(ftruncate(file, 0), 0);
        ck_assert_int_eq(ftruncate(file, 320 * MIB), 0);
        assert_ok(stage(kinds[i / LENGTH(modes)]));
        ck_assert_int_eq(shell("cd %s && echo data >file && sync file && mv file renamed && "
                               "sync renamed && cp --sparse=always %s/images/%s %s/images/%s",
                               path_of("kubelet/staging"), base, ID, base, COPY),
                         0);

        other = open(path_of("images/" COPY), O_RDWR | O_CLOEXEC); /* another node reads it */
        ck_assert_int_eq(image_lock_still(other, &err), IMAGE_LOCKED);
        ck_assert_int_eq(stage_copy(modes[i % LENGTH(modes)], capability), -1);
        ck_assert_int_eq(err.kind, ERROR_CONFLICT);
        close(other);
        other = -1;
        for (int again = 0; again < 2; again++) {
            assert_ok(stage_copy(modes[i % LENGTH(modes)], capability));
            ck_assert_int_eq(shell("cd %s && grep -q data renamed && ! touch x 2>/dev/null",
                                   path_of("kubelet/pods")),
                             0);
            unstage_copy();
        }
        assert_ok(unstage());
        wait_for_devices(0);
    }
}
END_TEST

START_TEST(the_present_type_is_used_when_none_is_given) {
    static char option[] = "largeio";
    char *flags[] = { option };
    const struct node_capability any = { .type = "", .mode = NODE_SINGLE_MULTI_WRITER };
    const struct node_capability of_xfs = {
        .type = "", .mode = NODE_SINGLE_MULTI_WRITER, .flags = flags, .flag_count = 1
    };
    const struct node_capability named = { .type = "ext4", .mode = NODE_SINGLE_MULTI_WRITER };
    autoimage int file = image(320 * MIB);

    assert_ok(stage(&xfs));
    ck_assert_int_eq(shell("echo data >%s", path_of("kubelet/staging/file")), 0);
    assert_ok(unstage());
    for (int i = 0; i < 2; i++) {
        const struct node_capability *capability = i ? &of_xfs : &any;

        assert_ok(stage(capability));
        assert_ok(stage(capability));
        assert_ok(publish("kubelet/pods/a", capability, false));
        ck_assert_int_eq(shell("grep -q data %s", path_of("kubelet/pods/a/file")), 0);
        ck_assert_int_eq(stage(&named), NODE_DIFFERS);
        assert_ok(unpublish("kubelet/pods/a"));
        assert_ok(unstage());
    }
    assert_refused(stage(&named), PRECONDITION);

    /* A blank one becomes the usual one, which has no such flag. */
    ck_assert_int_eq(ftruncate(file, 0), 0);
    ck_assert_int_eq(ftruncate(file, 320 * MIB), 0);
    assert_refused(stage(&of_xfs), BAD_REQUEST);
    assert_ok(stage(&any));
    assert_ok(stage(&named));
    assert_ok(unstage());
}
END_TEST

/* ---- blocks that are the volume's from the beginning ---- */

static int64_t blocks(int file) {
    struct stat status;

    ck_assert_int_eq(fsync(file), 0);
    ck_assert_int_eq(fstat(file, &status), 0);
    return status.st_blocks * 512;
}

static int stage_thick(const struct node_capability *capability) {
    const struct text_pair context[] = { { "driver_volume_type", "local" },
                                         { "format", "raw" },
                                         { "discard", "false" },
                                         { "device_path", path_of("images/" ID) } };

    return stage_from(context, LENGTH(context), path_of("kubelet/staging"), capability, ID);
}

START_TEST(a_thick_volume_keeps_its_blocks) {
    autoimage int file = image(0);
    const struct node_capability *const all[] = { &ext4, &xfs, &block };

    for (size_t i = 0; i < LENGTH(all); i++) {
        const char *name = all[i] == &block ? "kubelet/staging/" NODE_DEVICE : "kubelet/staging";

        ck_assert_int_eq(ftruncate(file, 0), 0);
        ck_assert_int_eq(posix_fallocate(file, 0, 320 * MIB), 0);
        assert_ok(stage_thick(all[i]));
        if (all[i] == &block)
            ck_assert_int_ne(shell("blkdiscard -f %s 2>/dev/null", path_of(name)), 0);
        else
            ck_assert_int_ne(shell("fstrim %s 2>/dev/null", path_of(name)), 0);
        ck_assert_int_eq(shell("sync"), 0);
        ck_assert_int_ge(blocks(file), 320 * MIB);
        assert_ok(unstage());
        ck_assert_int_ge(blocks(file), 320 * MIB);
    }

    /* The next one with that device's number takes discards again, whatever made it. */
    ck_assert_int_eq(
        shell("cd %s && truncate -s 8M other && device=$(losetup -f --show other) && "
              "blkdiscard -f $device 2>/dev/null; result=$?; losetup -d $device; exit $result",
              base),
        0);
    ck_assert_int_eq(ftruncate(file, 0), 0);
    ck_assert_int_eq(posix_fallocate(file, 0, 320 * MIB), 0);
    assert_ok(stage(&block));
    ck_assert_int_eq(shell("blkdiscard -f %s 2>/dev/null", path_of("kubelet/staging/" NODE_DEVICE)),
                     0);
    assert_ok(unstage());
    ck_assert_int_lt(blocks(file), 320 * MIB);
}
END_TEST

/* ---- shares ---- */

static int stage_shared(void) {
    const struct text_pair context[] = {
        { "driver_volume_type", "nfs" }, { "format", "raw" }, { "export", "s:/v" }, { "name", ID }
    };

    return stage_from(context, LENGTH(context), path_of("kubelet/staging"), &ext4, ID);
}

START_TEST(a_share_is_unmounted_after_a_failure_or_a_kill) {
    const char *program = share_program();
    autoimage int file = image_make("export/" ID, 64 * MIB);
    const char *share;

    node.places.mount_program = program;
    ck_assert_int_eq(image_lock_writer(file, true, &err), IMAGE_LOCKED);
    assert_refused(stage_shared(), PRECONDITION);
    ck_assert_int_eq(count_mounts(), 0);
    close(file);
    file = -1;

    /* It has died when it had ended the device, or had none yet. */
    share = path_of("shares/0123456789abcdef0123456789abcdef");
    ck_assert_int_eq(shell("mkdir -p %1$s && %2$s -t nfs -o x s:/v %1$s", share, program), 0);
    ck_assert_int_eq(count_mounts(), 1);
    assert_ok(unstage());
    ck_assert_int_eq(count_mounts(), 0);

    for (int i = 0; i < 2; i++)
        assert_ok(stage_shared());
    ck_assert_int_eq(count_mounts(), 2);
    assert_ok(unstage());
    ck_assert_int_eq(rmdir(path_of("shares")), 0);
}
END_TEST

/* ---- outdated publications ---- */

static void write_info(const char *text) {
    autofile FILE *file = fopen(path_of("images/" ID ".info"), "we");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
}

/* The image has become a snapshot's since: a write to it would change that. */
START_TEST(an_image_below_another_is_not_staged) {
    static const char *const refused[] = {
        "{\"active\": \"" ID ".1\", \"1\": \"" ID ".1\"}", /* a snapshot was taken */
        "{\"deleted\": \"" ID "\"}",
        "{\"active\": 7}",
        "{}",
        "",
        "no JSON",
    };
    autoimage int file = image(64 * MIB);
    const struct node_capability *const modes[] = { &ext4, &block, &reader };

    for (size_t i = 0; i < LENGTH(refused) * LENGTH(modes); i++) {
        write_info(refused[i % LENGTH(refused)]);
        assert_refused(stage(modes[i / LENGTH(refused)]), PRECONDITION);
        ck_assert_int_eq(count_devices(), 0);
    }
    ck_assert_int_eq(symlink("/etc/passwd", path_of("images/link")), 0);
    ck_assert_int_eq(rename(path_of("images/link"), path_of("images/" ID ".info")), 0);
    assert_refused(stage(&ext4), BACKEND);
    ck_assert_int_eq(unlink(path_of("images/" ID ".info")), 0);
    write_info("{\"active\": \"" ID "\", \"unknown\": {}}"); /* its snapshots have gone again */
    assert_ok(stage(&ext4));
    write_info(refused[0]); /* this never happens below a node; a device that is there goes on */
    assert_ok(stage(&ext4));
    assert_ok(unstage());
}
END_TEST

/* The program that puts an overlay above it has begun, and the info does not show it yet. */
START_TEST(snapshots_that_are_being_changed_are_waited_for) {
    autoimage int file = image(64 * MIB);
    struct flock alone = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = IMAGE_CHAIN_BYTE, .l_len = 1
    };
    int other = open(path_of("images/" ID), O_RDWR | O_CLOEXEC);

    ck_assert_int_eq(fcntl(other, F_OFD_SETLK, &alone), 0);
    assert_refused(stage(&ext4), CONFLICT);
    ck_assert_int_eq(count_devices(), 0);
    close(other);
    assert_ok(stage(&ext4));
    other = open(path_of("images/" ID), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(fcntl(other, F_OFD_SETLK, &alone), 0); /* it is not kept */
    close(other);
    assert_ok(unstage());
}
END_TEST

NODE_SCENE_MAIN("node_stage", each_step_of_a_file_system_may_be_repeated,
                each_step_of_a_block_volume_may_be_repeated, different_arguments_are_reported,
                readers_have_it_read_only, block_volumes_that_are_written_are_not_shown_read_only,
                hostile_requests_change_nothing, a_mount_of_a_replaced_image_is_reported,
                devices_of_other_programs_are_left_alone, mounts_of_other_programs_are_left_alone,
                an_image_that_is_in_use_elsewhere_is_refused,
                a_stage_waits_for_the_locks_of_a_detached_device,
                concurrent_calls_for_one_volume_are_refused,
                a_copy_with_a_dirty_journal_is_read_by_many,
                the_present_type_is_used_when_none_is_given, a_thick_volume_keeps_its_blocks,
                a_share_is_unmounted_after_a_failure_or_a_kill,
                an_image_below_another_is_not_staged,
                snapshots_that_are_being_changed_are_waited_for)
