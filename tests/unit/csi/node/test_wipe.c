/*
 * Free space becomes zeros in the image, and nothing else does.  The images here are files of their
 * own: in those of a storage daemon zeros are holes (tests/e2e/test_csi_policy.py).
 */
#include "csi/node/wipe.h"

#include "common/loop.h"
#include "csi/node/filesystem.h"
#include "csi/node/mount.h"
#include "tests/unit/csi/node/node_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#define SIZE    (384 * MIB)
#define DELETED (160 * MIB)
#define BLOCK   1024 /* an ext4 of that size has such */

static struct loop loop = LOOP_NONE;
static int file = -1, directory = -1;

static void mount_it(const char *type) {
    autopath struct kubelet_path path = PATH_NONE;
    struct mount_flags flags;
    int tree;
    char device[LOOP_PATH_SIZE];

    assert_ok(loop_attach(file, "scoria:00000000:w", &(struct loop_how){ .read_only = false },
                          &loop, &err));
    loop_path(loop.number, device);
    assert_ok(filesystem_prepare(arena, device, type, false, &err));
    assert_ok(mount_flags_parse(type, NULL, 0, &flags, &err));
    assert_ok(kubelet_path_open(base, path_of("m"), &path, &err));
    assert_ok(kubelet_path_make(&path, true, &err));
    assert_ok(mount_device(device, type, &flags, &tree, &err));
    assert_ok(mount_put(tree, &path, &err));
    close(tree);
    directory = open(path_of("m"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(directory, 0);
}

static void unmount_it(void) {
    close(directory);
    ck_assert_int_eq(umount2(path_of("m"), UMOUNT_NOFOLLOW), 0);
    close(loop.fd);
    wait_for_devices(0);
}

static void begin_with(const char *type) {
    file = image_make("image", SIZE);
    mount_it(type);
}

static void end_with(const char *type) {
    unmount_it();
    close(file);
    ck_assert_int_eq(strcmp(type, "xfs") == 0
                         ? shell("xfs_repair -n -f %s 2>/dev/null >&2", path_of("image"))
                         : shell("e2fsck -fn %s >/dev/null 2>&1", path_of("image")),
                     0);
    ck_assert_int_eq(unlink(path_of("image")), 0);
}

/* A file of marked blocks, and one that stays. */
static void fill(void) {
    ck_assert_int_eq(
        shell("head -c 20000001 /dev/urandom >%1$s/kept && sha256sum %1$s/kept >%1$s/sum "
              "&& yes deleted | head -c %2$jd >%1$s/much && sync -f %1$s && "
              "echo 1 >/proc/sys/vm/drop_caches",
              path_of("m"), (intmax_t)DELETED),
        0);
}

static void delete_much(void) {
    ck_assert_int_eq(unlink(path_of("m/much")), 0);
}

/* Marked bytes of the image. */
static int64_t deleted(void) {
    static char blocks[MIB];
    int64_t sum = 0;

    ck_assert_int_eq(syncfs(directory), 0);
    for (int64_t at = 0; at < SIZE; at += MIB) {
        ck_assert_int_eq(pread(file, blocks, MIB, at), MIB);
        for (int64_t i = 0; i < MIB; i += BLOCK)
            sum += memmem(blocks + i, BLOCK, "deleted\ndeleted\n", 16) ? BLOCK : 0;
    }
    return sum;
}

static int64_t space(void) {
    struct statvfs status;

    ck_assert_int_eq(fstatvfs(directory, &status), 0);
    return (int64_t)(status.f_bavail * status.f_frsize);
}

static int wipe(bool (*may_continue)(void *), void *arg) {
    const struct wipe wipe = {
        .directory = directory, .image = file, .may_continue = may_continue, .arg = arg
    };

    return wipe_free(&wipe, &err);
}

/* ---- outcomes ---- */

struct watch {
    int queried, end_at;
    int64_t least; /* that was free */
};

static bool watched(void *arg) {
    struct watch *watch = arg;
    int64_t now = space();

    watch->least = watch->least > 0 && watch->least < now ? watch->least : now;
    return ++watch->queried != watch->end_at;
}

static void wipe_all(const char *type) {
    struct watch watch = { 0 };
    int64_t before;

    begin_with(type);
    fill();
    ck_assert_int_eq(deleted(), DELETED);
    delete_much();
    ck_assert_int_eq(filesystem_flush_deletions(directory, &err), 0);
    before = space();
    ck_assert_msg(wipe(watched, &watch) == 1, "%s", err.message);
    ck_assert_int_ge(watch.least, WIPE_RESERVE / 2);
    /* All but that, and the last allocation, during which no data may have been found. */
    ck_assert_int_lt(watch.least, WIPE_RESERVE + 66 * MIB);
    ck_assert_int_ge(space(), before - MIB);
    ck_assert_int_le(deleted(), WIPE_RESERVE);

    unmount_it();
    mount_it(type);
    ck_assert_int_eq(shell("sha256sum --status -c %s", path_of("m/sum")), 0);
    ck_assert_int_eq(
        shell("[ \"$(ls %s | grep -v lost)\" = \"$(printf 'kept\\nsum')\" ]", path_of("m")), 0);
    end_with(type);
}

START_TEST(only_deleted_data_becomes_zeros) {
    wipe_all("ext4");
    wipe_all("xfs");
}
END_TEST

#define SMALL 16384

static const char *small_path(int i) {
    static char path[128];

    snprintf(path, sizeof(path), "%s/m/small-%d", base, i);
    return path;
}

/* Files up to the brim; how many. */
static int fill_with_small(const char bytes[SMALL]) {
    for (int i = 0;; i++) {
        int fd = open(small_path(i), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        bool full = fd < 0 || write(fd, bytes, SMALL) != SMALL;

        if (fd >= 0)
            close(fd);
        if (!full)
            continue;
        unlink(small_path(i));
        return i;
    }
}

static void assert_small(int i, const char bytes[SMALL]) {
    autoclose int fd = open(small_path(i), O_RDONLY | O_CLOEXEC);
    char read_bytes[SMALL];

    ck_assert_int_eq(read(fd, read_bytes, SMALL), SMALL);
    ck_assert(memcmp(read_bytes, bytes, SMALL) == 0);
}

static void wipe_pieces(const char *type) {
    char bytes[SMALL];
    struct watch watch = { 0 };
    int count;

    for (int i = 0; i < SMALL; i++)
        bytes[i] = "deleted\n"[i % 8];
    begin_with(type);
    count = fill_with_small(bytes);
    ck_assert_int_eq(syncfs(directory), 0);
    for (int i = 0; i < count; i += 2)
        ck_assert_int_eq(unlink(small_path(i)), 0);
    ck_assert_int_eq(filesystem_flush_deletions(directory, &err), 0);
    ck_assert_msg(wipe(watched, &watch) == 1, "%s", err.message);
    /* XFS keeps some for itself that is not reported as free. */
    ck_assert_int_le(deleted(), (int64_t)count / 2 * SMALL + WIPE_RESERVE + SIZE / 8);
    unmount_it();
    mount_it(type);
    for (int i = 1; i < count; i += 2)
        assert_small(i, bytes);
    end_with(type);
}

START_TEST(small_free_extents_are_found) {
    wipe_pieces("ext4");
    wipe_pieces("xfs");
}
END_TEST

START_TEST(existing_zeros_and_holes_are_not_written) {
    struct watch watch = { 0 };
    int64_t data, after;
    const struct wipe wiped = { .directory = -1, .may_continue = watched, .arg = &watch };
    struct wipe measured = wiped;

    begin_with("ext4");
    ck_assert_int_eq(syncfs(directory), 0);
    measured.image = file;
    ck_assert_int_eq(wipe_measure(&measured, &data, &err), 1);
    ck_assert_int_lt(data, 40 * MIB);
    ck_assert_int_eq(wipe(watched, &watch), 1);
    ck_assert_int_eq(syncfs(directory), 0);
    ck_assert_int_eq(wipe_measure(&measured, &after, &err), 1);
    ck_assert_int_le(after, data + MIB); /* the file system's own numbers of its blocks */
    watch = (struct watch){ .end_at = 1 };
    ck_assert_int_eq(wipe_measure(&measured, &after, &err), 0);
    end_with("ext4");
}
END_TEST

/* ---- other programs in between ---- */

START_TEST(an_interrupted_wipe_releases_all_space_at_once) {
    static const char *const types[] = { "ext4", "xfs" };

    for (size_t i = 0; i < LENGTH(types); i++) {
        int64_t before;

        begin_with(types[i]);
        fill();
        delete_much();
        ck_assert_int_eq(filesystem_flush_deletions(directory, &err), 0);
        before = space();
        for (int end_at = 1; end_at < 60; end_at += 19) {
            struct watch watch = { .end_at = end_at };

            ck_assert_int_eq(wipe(watched, &watch), 0);
            ck_assert_int_eq(watch.queried, end_at);
            ck_assert_int_ge(space(), before - MIB);
        }
        end_with(types[i]);
    }
}
END_TEST

/* A pod that takes whatever is free as soon as it is little. */
struct pod {
    int fd;
    int64_t wrote, queried;
};

static bool crowd(void *arg) {
    struct pod *pod = arg;
    static char bytes[MIB];

    ck_assert_int_eq(pod->wrote, 0); /* it is not queried any more, for all is ours */
    pod->queried++;
    if (pod->queried < 90)
        return true;
    while (space() > WIPE_RESERVE / 4) {
        ck_assert_int_eq(write(pod->fd, bytes, sizeof(bytes)), sizeof(bytes));
        pod->wrote += MIB;
    }
    return true;
}

START_TEST(needed_space_is_released_at_once) {
    static const char *const types[] = { "ext4", "xfs" };

    for (size_t i = 0; i < LENGTH(types); i++) {
        struct pod pod = { 0 };

        begin_with(types[i]);
        fill();
        delete_much();
        ck_assert_int_eq(filesystem_flush_deletions(directory, &err), 0);
        pod.fd = open(path_of("m/pod"), O_WRONLY | O_CREAT | O_DSYNC | O_CLOEXEC, 0600);
        ck_assert_int_eq(wipe(crowd, &pod), 1);
        ck_assert_int_gt(pod.wrote, MIB);
        ck_assert_int_gt(space(), DELETED / 4);
        close(pod.fd);
        ck_assert_int_eq(shell("cd %s && sha256sum --status -c sum && cmp -n %jd pod /dev/zero",
                               path_of("m"), (intmax_t)pod.wrote),
                         0);
        end_with(types[i]);
    }
}
END_TEST

static bool die(void *arg) {
    int *left = arg;

    if (--*left == 0)
        raise(SIGKILL);
    return true;
}

START_TEST(a_kill_leaves_nothing) {
    static const char *const types[] = { "ext4", "xfs" };

    for (size_t i = 0; i < LENGTH(types); i++) {
        int64_t before;
        int status;

        begin_with(types[i]);
        fill();
        delete_much();
        ck_assert_int_eq(filesystem_flush_deletions(directory, &err), 0);
        before = space();
        for (int left = 1; left < 60; left += 29) {
            pid_t child = fork();

            if (child == 0)
                _exit(wipe(die, &left) >= 0);
            ck_assert_int_eq(waitpid(child, &status, 0), child);
            ck_assert(WIFSIGNALED(status));
            ck_assert_int_eq(filesystem_flush_deletions(directory, &err), 0);
            for (int wait = 0; space() < before - MIB && wait < 6000; wait++)
                usleep(10000); /* XFS frees behind the back of the closing process */
            ck_assert_int_ge(space(), before - MIB);
        }
        end_with(types[i]);
    }
}
END_TEST

static bool always(void *arg) {
    (void)arg;
    return true;
}

/* XFS makes no file there, either. */
START_TEST(a_full_file_system_has_nothing_to_wipe) {
    static const char *const types[] = { "ext4", "xfs" };

    for (size_t i = 0; i < LENGTH(types); i++) {
        begin_with(types[i]);
        ck_assert_int_ne(
            shell("head -c %jd /dev/zero 2>/dev/null >%s/all", (intmax_t)SIZE, path_of("m")), 0);
        ck_assert_msg(wipe(always, NULL) == 1, "%s", err.message);
        end_with(types[i]);
    }
}
END_TEST

START_TEST(an_unsupported_file_system_is_reported) {
    ck_assert_int_eq(mkdir(path_of("t"), 0700), 0);
    ck_assert_int_eq(mount("none", path_of("t"), "tmpfs", 0, "size=256m"), 0);
    directory = open(path_of("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(wipe(always, NULL), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_METHOD);
    close(directory);
    ck_assert_int_eq(umount2(path_of("t"), UMOUNT_NOFOLLOW), 0);

    begin_with("ext4");
    ck_assert_int_eq(mount(NULL, path_of("m"), NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    ck_assert_int_eq(wipe(always, NULL), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_METHOD);
    end_with("ext4");
}
END_TEST

NODE_MAIN("wipe", only_deleted_data_becomes_zeros, small_free_extents_are_found,
          existing_zeros_and_holes_are_not_written, an_interrupted_wipe_releases_all_space_at_once,
          needed_space_is_released_at_once, a_kill_leaves_nothing,
          a_full_file_system_has_nothing_to_wipe, an_unsupported_file_system_is_reported)
