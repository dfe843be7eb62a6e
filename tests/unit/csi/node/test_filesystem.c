#include "csi/node/filesystem.h"

#include "common/loop.h"
#include "csi/node/mount.h"
#include "tests/unit/csi/node/node_test.h"

#include <errno.h>
#include <sys/statvfs.h>

static char device[LOOP_PATH_SIZE];
static struct loop loop = LOOP_NONE;

static int attach(int64_t bytes, bool read_only) {
    int file = image_make("image", bytes);

    assert_ok(loop_attach(file, "scoria:00000000:v", &(struct loop_how){ .read_only = read_only },
                          &loop, &err));
    loop_path(loop.number, device);
    return file;
}

static void detach(int file) {
    close(file);
    close(loop.fd);
    wait_for_devices(0);
}

static void assert_type(const char *type) {
    char found[FILESYSTEM_TYPE_SIZE];

    assert_ok(filesystem_probe(device, found, &err));
    ck_assert_str_eq(found, type);
}

static void assert_refused(const char *type, bool read_only, enum error_kind kind) {
    ck_assert_int_eq(filesystem_prepare(arena, device, type, read_only, &err), -1);
    ck_assert_int_eq(err.kind, kind);
}

static void mount_it(const char *type) {
    autopath struct kubelet_path path = PATH_NONE;
    struct mount_flags flags;
    int tree;

    assert_ok(mount_flags_parse(type, NULL, 0, &flags, &err));
    assert_ok(kubelet_path_open(base, path_of("m"), &path, &err));
    assert_ok(kubelet_path_make(&path, true, &err));
    assert_ok(mount_device(device, type, &flags, &tree, &err));
    assert_ok(mount_put(tree, &path, &err));
    close(tree);
}

static void unmount_it(void) {
    ck_assert_int_eq(umount2(path_of("m"), UMOUNT_NOFOLLOW), 0);
}

static int64_t space(void) {
    struct statvfs status;

    ck_assert_int_eq(statvfs(path_of("m"), &status), 0);
    return (int64_t)status.f_blocks * (int64_t)status.f_frsize;
}

START_TEST(only_a_blank_device_is_formatted) {
    static const char *const types[] = { "ext4", "xfs" };

    for (size_t i = 0; i < LENGTH(types); i++) {
        int file = attach(320 * MIB, false);
        const char *other = types[1 - i];

        assert_type("");
        assert_ok(filesystem_prepare(arena, device, types[i], false, &err));
        assert_type(types[i]);
        mount_it(types[i]);
        ck_assert_int_eq(shell("echo data >%s", path_of("m/file")), 0);
        unmount_it();
        assert_refused(other, false, ERROR_PRECONDITION);
        assert_ok(filesystem_prepare(arena, device, types[i], false, &err));
        mount_it(types[i]);
        ck_assert_int_eq(shell("grep -q data %s", path_of("m/file")), 0);
        /* While it is mounted nothing is checked or made. */
        assert_ok(filesystem_prepare(arena, device, types[i], false, &err));
        unmount_it();
        detach(file);
        ck_assert_int_eq(unlink(path_of("image")), 0);
    }
}
END_TEST

START_TEST(other_content_is_left_alone) {
    /* of partitions */
    static const char table[] =
        "(printf '\\203\\000\\000\\000\\000\\010\\000\\000\\000\\010' | dd bs=1 seek=450 of=$d; "
        "printf '\\125\\252' | dd bs=1 seek=510 of=$d) 2>/dev/null";
    static const char *const makers[] = {
        "mkfs.ext2 -q $d",
        "mkswap -q $d >/dev/null",
        table,
        "printf 'LUKS\\272\\276\\000\\001' | dd conv=notrunc status=none of=$d",
        "printf 'of a database' | dd conv=notrunc status=none of=$d",
        /* the magic number of its superblock has rotted */
        "mkfs.ext4 -q $d; printf '\\000' | dd bs=1 seek=1080 conv=notrunc status=none of=$d",
    };

    for (size_t i = 0; i < LENGTH(makers); i++) {
        int file = attach(64 * MIB, false);
        char *before = arena_alloc(arena, MIB), *after = arena_alloc(arena, MIB);

        ck_assert_int_eq(shell("d=%s; %s; sync $d", device, makers[i]), 0);
        ck_assert_int_eq(pread(file, before, MIB, 0), MIB);
        assert_refused("ext4", false, ERROR_PRECONDITION);
        ck_assert_int_eq(pread(file, after, MIB, 0), MIB);
        ck_assert_int_eq(memcmp(before, after, MIB), 0);
        detach(file);
        ck_assert_int_eq(unlink(path_of("image")), 0);
    }
}
END_TEST

START_TEST(a_blank_device_that_may_not_be_written_is_refused) {
    int file = attach(64 * MIB, true);

    assert_refused("ext4", true, ERROR_PRECONDITION);
    assert_type("");
    detach(file);
}
END_TEST

/* The program that makes it is killed at each of some writes; afterwards it is made. */
static void cut_short(const char *type, const char *call, int number) {
    int file = attach(320 * MIB, false), killed;

    killed = shell("strace -f -o /dev/null -e trace=%s -e inject=%s:signal=KILL:when=%d mkfs.%s -q "
                   "%s >/dev/null 2>&1",
                   call, call, number, type, device);
    ck_assert_int_ne(killed, 0);
    assert_ok(filesystem_prepare(arena, device, type, false, &err));
    mount_it(type);
    unmount_it();
    detach(file);
    ck_assert_int_eq(unlink(path_of("image")), 0);
}

START_TEST(an_interrupted_mkfs_is_repeated) {
    static const int writes[] = { 1, 2, 4, 7, 12, 20 };

    for (size_t i = 0; i < LENGTH(writes); i++) {
        cut_short("xfs", "pwrite64", writes[i]);
        cut_short("ext4", "pwrite64", writes[i]);
    }
}
END_TEST

/* Its superblock has the mark of an unfinished one, by a flipped bit. */
START_TEST(a_damaged_xfs_is_left_alone) {
    char *before = arena_alloc(arena, MIB), *after = arena_alloc(arena, MIB);
    int file = attach(320 * MIB, false);

    assert_ok(filesystem_prepare(arena, device, "xfs", false, &err));
    ck_assert_int_eq(
        shell("printf '\\001' | dd bs=1 seek=126 conv=notrunc status=none of=%s", device), 0);
    ck_assert_int_eq(shell("sync %s", device), 0);
    ck_assert_int_eq(pread(file, before, MIB, 0), MIB);
    (void)filesystem_prepare(arena, device, "xfs", false, &err);
    ck_assert_int_eq(pread(file, after, MIB, 0), MIB);
    ck_assert_int_eq(memcmp(before, after, MIB), 0);
    detach(file);
}
END_TEST

/* At whatever write the storage is full: the reason is named, and with space again the device is
 * formatted. */
START_TEST(an_mkfs_without_space_is_repeated) {
    static const char *const types[] = { "ext4", "xfs" };

    ck_assert_int_eq(mkdir(path_of("small"), 0700), 0);
    ck_assert_int_eq(shell("mount -t tmpfs -o size=96m none %s", path_of("small")), 0);
    for (unsigned i = 0; i < 12; i++) {
        const char *type = types[i % LENGTH(types)];
        int file = open(path_of("small/image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600), result;

        ck_assert_int_eq(ftruncate(file, 512 * MIB), 0);
        assert_ok(loop_attach(file, "scoria:00000000:v", &(struct loop_how){ 0 }, &loop, &err));
        loop_path(loop.number, device);
        ck_assert_int_eq(shell("head -c %uk /dev/zero >%s; true", 96 * 1024 - 32 * (1U << i / 2),
                               path_of("small/filler")),
                         0);
        result = filesystem_prepare(arena, device, type, false, &err);
        if (i < 2)
            ck_assert_int_eq(result, -1);
        if (result < 0) {
            ck_assert_msg(err.kind == ERROR_OVER_QUOTA && strstr(err.message, "No space left"),
                          "%s, %u: %s", type, i, err.message);
            assert_type("");
        }
        ck_assert_int_eq(unlink(path_of("small/filler")), 0);
        assert_ok(filesystem_prepare(arena, device, type, false, &err));
        assert_type(type);
        detach(file);
        ck_assert_int_eq(unlink(path_of("small/image")), 0);
    }
    ck_assert_int_eq(umount2(path_of("small"), MNT_DETACH), 0);
    ck_assert_int_eq(rmdir(path_of("small")), 0);
}
END_TEST

START_TEST(a_damaged_file_system_is_refused_and_a_small_fault_repaired) {
    int file = attach(64 * MIB, false);

    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    ck_assert_int_eq(shell("debugfs -w -R 'ssv free_blocks_count 17' %s 2>/dev/null", device), 0);
    ck_assert_int_eq(shell("debugfs -w -R 'ssv state 2' %s 2>/dev/null", device), 0);
    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    ck_assert_int_eq(shell("e2fsck -fn %s >/dev/null 2>&1", device), 0);

    /* The root directory is gone. */
    ck_assert_int_eq(shell("debugfs -w -R 'clri <2>' %s 2>/dev/null", device), 0);
    ck_assert_int_eq(shell("debugfs -w -R 'ssv state 2' %s 2>/dev/null", device), 0);
    assert_refused("ext4", false, ERROR_BACKEND);
    detach(file);
}
END_TEST

/* Files that were open and unlinked when their node stopped: e2fsck prints a line for each. */
START_TEST(any_number_of_repairs_is_completed) {
    enum { FIRST = 12, COUNT = 1200 };
    int file = attach(64 * MIB, false);
    FILE *commands;

    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    commands = fopen(path_of("commands"), "we");
    ck_assert_ptr_nonnull(commands);
    for (int i = FIRST; i < FIRST + COUNT; i++)
        fprintf(commands,
                "write /dev/null f\nunlink f\nsif <%d> links_count 0\nsif <%d> dtime %d\n", i, i,
                i + 1 < FIRST + COUNT ? i + 1 : 0);
    fprintf(commands, "ssv last_orphan %d\n", FIRST);
    ck_assert_int_eq(fclose(commands), 0);
    ck_assert_int_eq(shell("debugfs -w -f %s %s >/dev/null 2>&1", path_of("commands"), device), 0);
    ck_assert_int_eq(shell("e2fsck -fn %s 2>&1 | grep -q 'Inode %d '", device, FIRST + COUNT - 2),
                     0);
    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    ck_assert_int_eq(shell("e2fsck -fn %s >/dev/null 2>&1", device), 0);
    detach(file);
    ck_assert_int_eq(unlink(path_of("commands")), 0);
}
END_TEST

static void grow_to(int file, int64_t bytes) {
    ck_assert_int_eq(ftruncate(file, bytes), 0);
    assert_ok(loop_grow(&loop, &err));
}

START_TEST(xfs_grows_while_it_is_mounted) {
    int file = attach(320 * MIB, false);

    assert_ok(filesystem_prepare(arena, device, "xfs", false, &err));
    mount_it("xfs");
    grow_to(file, 640 * MIB);
    ck_assert_int_lt(space(), 320 * MIB);
    for (int i = 0; i < 2; i++)
        assert_ok(filesystem_grow(arena, device, "xfs", path_of("m"), &err));
    ck_assert_int_gt(space(), 500 * MIB);
    unmount_it();
    detach(file);
}
END_TEST

/* Some kernels let ext4 grow while it is mounted; others report that they do not. */
START_TEST(ext4_grows_before_it_is_mounted) {
    int file = attach(64 * MIB, false);

    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    mount_it("ext4");
    assert_ok(filesystem_grow(arena, device, "ext4", path_of("m"), &err));
    grow_to(file, 256 * MIB);
    if (filesystem_grow(arena, device, "ext4", path_of("m"), &err) < 0) {
        ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
        ck_assert_int_lt(space(), 64 * MIB);
    }
    ck_assert_int_eq(shell("echo data >%s", path_of("m/file")), 0);
    unmount_it();
    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    mount_it("ext4");
    ck_assert_int_gt(space(), 200 * MIB);
    ck_assert_int_eq(shell("grep -q data %s", path_of("m/file")), 0);
    unmount_it();
    detach(file);
}
END_TEST

/* With many files that takes long, and pods wait for it. */
START_TEST(all_of_an_ext4_is_checked_when_it_grows_and_not_before) {
    int file = attach(64 * MIB, false);

    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    mount_it("ext4");
    unmount_it();
    ck_assert_int_eq(shell("tune2fs -T 20200101 %s >/dev/null", device), 0);
    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    ck_assert_int_eq(shell("dumpe2fs -h %s 2>/dev/null | grep -q 'Last checked:.* 2020'", device),
                     0);
    grow_to(file, 256 * MIB);
    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    ck_assert_int_ne(shell("dumpe2fs -h %s 2>/dev/null | grep -q 'Last checked:.* 2020'", device),
                     0);
    detach(file);
}
END_TEST

static bool is_mounted_with(const char *option) {
    return shell("grep -q '^%s$' /proc/fs/ext4/%s/options", option, strrchr(device, '/') + 1) == 0;
}

START_TEST(no_volume_may_stop_the_kernel) {
    static char *const queried[] = { "errors=continue" };
    autopath struct kubelet_path path = PATH_NONE;
    int file = attach(64 * MIB, false);
    struct mount_flags flags;
    int tree;

    assert_ok(filesystem_prepare(arena, device, "ext4", false, &err));
    ck_assert_int_eq(shell("tune2fs -e panic -E mount_opts=errors=panic %s >/dev/null", device), 0);
    mount_it("ext4");
    ck_assert(is_mounted_with("errors=remount-ro"));
    unmount_it();
    assert_ok(mount_flags_parse("ext4", queried, 1, &flags, &err));
    assert_ok(kubelet_path_open(base, path_of("m"), &path, &err));
    assert_ok(mount_device(device, "ext4", &flags, &tree, &err));
    assert_ok(mount_put(tree, &path, &err));
    close(tree);
    ck_assert(is_mounted_with("errors=continue"));
    unmount_it();
    detach(file);
}
END_TEST

static bool always(void *arg) {
    ++*(int *)arg;
    return true;
}

static bool twice(void *arg) {
    return ++*(int *)arg <= 2;
}

static int64_t used(int file) {
    struct stat status;

    ck_assert_int_eq(fsync(file), 0);
    ck_assert_int_eq(fstat(file, &status), 0);
    return (int64_t)status.st_blocks * 512;
}

static void trim(const char *type, int64_t most_left) {
    int file = attach(640 * MIB, false), queried = 0, directory;
    int64_t before, full;

    assert_ok(filesystem_prepare(arena, device, type, false, &err));
    mount_it(type);
    directory = open(path_of("m"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_str_eq(filesystem_mounted(directory), type);
    ck_assert_int_eq(syncfs(directory), 0);
    before = used(file);
    ck_assert_int_eq(shell("head -c 104857600 /dev/urandom >%s; echo kept >%s; sync %s",
                           path_of("m/file"), path_of("m/kept"), path_of("m/file")),
                     0);
    full = used(file);
    ck_assert_int_ge(full, before + 90 * MIB);
    ck_assert_int_eq(unlink(path_of("m/file")), 0);
    ck_assert_int_eq(filesystem_trim(directory, 640 * MIB, twice, &queried, &err), 0);
    queried = 0;
    ck_assert_int_eq(filesystem_trim(directory, 640 * MIB, always, &queried, &err), 1);
    ck_assert_int_eq(queried, 10);
    ck_assert_int_le(used(file), before + most_left);
    ck_assert_int_eq(shell("grep -q kept %s", path_of("m/kept")), 0);
    close(directory);
    unmount_it();
    detach(file);
    ck_assert_int_eq(unlink(path_of("image")), 0);
}

START_TEST(recently_deleted_blocks_are_discarded) {
    trim("ext4", 2 * MIB);
    trim("xfs", 4 * MIB);
}
END_TEST

START_TEST(a_device_without_discard_is_reported) {
    autoclose int directory = -1;
    int queried = 0;

    ck_assert_int_eq(mkdir(path_of("m"), 0700), 0);
    ck_assert_int_eq(mount("none", path_of("m"), "tmpfs", 0, NULL), 0);
    directory = open(path_of("m"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_ptr_null(filesystem_mounted(directory));
    ck_assert_int_eq(filesystem_trim(directory, MIB, always, &queried, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_METHOD);
    close(directory);
    directory = -1;
    unmount_it();
}
END_TEST

START_TEST(types_are_known) {
    ck_assert_str_eq(filesystem_known(""), "ext4");
    ck_assert_str_eq(filesystem_known("xfs"), "xfs");
    ck_assert_ptr_null(filesystem_known("btrfs"));
    ck_assert_ptr_null(filesystem_known("ext4 "));
}
END_TEST

NODE_MAIN("filesystem", only_a_blank_device_is_formatted, other_content_is_left_alone,
          a_blank_device_that_may_not_be_written_is_refused, an_interrupted_mkfs_is_repeated,
          a_damaged_xfs_is_left_alone, an_mkfs_without_space_is_repeated,
          a_damaged_file_system_is_refused_and_a_small_fault_repaired,
          any_number_of_repairs_is_completed, xfs_grows_while_it_is_mounted,
          ext4_grows_before_it_is_mounted, all_of_an_ext4_is_checked_when_it_grows_and_not_before,
          no_volume_may_stop_the_kernel, recently_deleted_blocks_are_discarded,
          a_device_without_discard_is_reported, types_are_known)
