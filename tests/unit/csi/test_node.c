#include "csi/node.h"

#include "common/image_lock.h"
#include "csi/turn.h"
#include "tests/unit/csi/node_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ID "6f9f3b4e-0000-4000-8000-000000000001"

static struct node node;
static const char *directories[2];

static const struct node_capability ext4 = { .type = "", .mode = NODE_SINGLE_WRITER_NODE };
static const struct node_capability xfs = { .type = "xfs", .mode = NODE_SINGLE_MULTI_WRITER };
static const struct node_capability block = { .block = true, .mode = NODE_SINGLE_WRITER_NODE };
static const struct node_capability shared_block = { .block = true,
                                                     .mode = NODE_MULTI_MULTI_WRITER };
static const struct node_capability reader = { .type = "ext4", .mode = NODE_MULTI_READER_ONLY };

static void begin(void) {
    node_test_begin();
    directories[0] = path_of("images");
    node = (struct node){ .root = path_of("kubelet"),
                          .places = { .share_directory = path_of("shares"),
                                      .local_directories = directories } };
    ck_assert_int_eq(shell("mkdir -p %1$s/images %1$s/kubelet/staging %1$s/kubelet/pods", base), 0);
}

static int stage_from(const struct text_pair *context, size_t count, const char *path,
                      const struct node_capability *capability, const char *id) {
    const struct node_stage stage = { .volume_id = id,
                                      .path = path,
                                      .capability = capability,
                                      .context = context,
                                      .context_count = count };

    memset(&err, 0, sizeof(err));
    return node_stage(&node, arena, &stage, &err);
}

static int stage_at(const char *path, const struct node_capability *capability, const char *id) {
    const char *image = arena_format(arena, "%s/images/%s", base, id);
    const struct text_pair context[] = { { "driver_volume_type", "local" },
                                         { "format", "raw" },
                                         { "device_path", image } };

    return stage_from(context, LENGTH(context), path, capability, id);
}

static int stage(const struct node_capability *capability) {
    return stage_at(path_of("kubelet/staging"), capability, ID);
}

static int unstage(void) {
    memset(&err, 0, sizeof(err));
    return node_unstage(&node, arena, ID, path_of("kubelet/staging"), &err);
}

static int publish(const char *target, const struct node_capability *capability, bool read_only) {
    const struct node_publish publish = { .volume_id = ID,
                                          .staging_path = path_of("kubelet/staging"),
                                          .path = path_of(target),
                                          .capability = capability,
                                          .read_only = read_only };

    memset(&err, 0, sizeof(err));
    return node_publish(&node, &publish, &err);
}

static int unpublish(const char *target) {
    memset(&err, 0, sizeof(err));
    return node_unpublish(&node, ID, path_of(target), &err);
}

#define assert_refused(call, error_kind)                                                           \
    do {                                                                                           \
        ck_assert_int_eq(call, -1);                                                                \
        ck_assert_msg(err.kind == ERROR_##error_kind, "%s: %d, %s", #call, err.kind, err.message); \
    } while (0)

static int image(int64_t bytes) {
    return image_make("images/" ID, bytes);
}

static bool exists(const char *name) {
    struct stat status;

    return lstat(path_of(name), &status) == 0;
}

START_TEST(a_file_system_goes_the_whole_way_and_each_step_twice) {
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

START_TEST(a_block_volume_goes_the_whole_way_and_each_step_twice) {
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

START_TEST(other_arguments_than_before_are_told) {
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

START_TEST(what_is_mounted_of_an_image_that_was_replaced_is_told) {
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

START_TEST(what_another_has_mounted_is_left_alone) {
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

/* A device that nobody has open would go, and the pod would have its number, which is another's
 * soon. */
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

/* Mounted in another namespace, as in a container that was not told of the unmount. */
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

START_TEST(two_calls_for_one_volume_do_not_meet) {
    autoimage int file = image(64 * MIB);
    struct turn turn, other;

    ck_assert(turn_take(&turn, ID));
    assert_refused(stage(&ext4), CONFLICT);
    assert_refused(unstage(), CONFLICT);
    assert_refused(publish("kubelet/pods/a", &ext4, false), CONFLICT);
    assert_refused(unpublish("kubelet/pods/a"), CONFLICT);
    ck_assert(!turn_wait(&other, ID, 0));
    turn_leave(&turn);
    ck_assert(turn_wait(&other, ID, 0));
    turn_leave(&other);
    assert_ok(stage(&ext4));
    assert_ok(unstage());
}
END_TEST

/* ---- shares ---- */

static int stage_shared(void) {
    const struct text_pair context[] = {
        { "driver_volume_type", "nfs" }, { "format", "raw" }, { "export", "s:/v" }, { "name", ID }
    };

    return stage_from(context, LENGTH(context), path_of("kubelet/staging"), &ext4, ID);
}

START_TEST(a_share_is_left_by_whoever_fails_or_dies) {
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

/* ---- room ---- */

static int grow(const char *path, int64_t required, int64_t *ret) {
    const struct node_growth growth = { .volume_id = ID, .path = path, .required_bytes = required };

    memset(&err, 0, sizeof(err));
    return node_grow(&node, arena, &growth, ret, &err);
}

static int usage(const char *path, struct node_usage *ret) {
    memset(&err, 0, sizeof(err));
    return node_usage(&node, ID, path, ret, &err);
}

START_TEST(a_mounted_volume_tells_its_room_and_grows) {
    autoimage int file = image(320 * MIB);
    struct node_usage before, after;
    int64_t bytes = 0;

    assert_refused(usage("some/path", &before), NOT_FOUND);
    assert_refused(usage(path_of("kubelet/staging"), &before), NOT_FOUND);
    assert_ok(stage(&xfs));
    assert_ok(publish("kubelet/pods/a", &xfs, false));
    assert_ok(usage(path_of("kubelet/pods/a"), &before));
    ck_assert(!before.block && before.bytes.total > 200 * MIB && before.bytes.used > 0 &&
              before.bytes.available > 0 && before.inodes.total > 0);
    assert_refused(usage(path_of("kubelet/pods"), &before), NOT_FOUND);
    assert_refused(grow("some/path", 0, &bytes), NOT_FOUND);
    ck_assert_int_eq(grow(path_of("kubelet/pods/a"), 640 * MIB, &bytes), NODE_RANGE);
    ck_assert_int_eq(ftruncate(file, 640 * MIB), 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(grow(path_of("kubelet/pods/a"), 640 * MIB, &bytes));
        ck_assert_int_eq(bytes, 640 * MIB);
    }
    assert_ok(usage(path_of("kubelet/staging"), &after));
    ck_assert_int_gt(after.bytes.total, before.bytes.total + 300 * MIB);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

START_TEST(an_ext4_has_its_growth_at_the_latest_when_it_is_staged_again) {
    autoimage int file = image(64 * MIB);
    struct node_usage room;
    int64_t bytes = 0;

    assert_ok(stage(&ext4));
    ck_assert_int_eq(ftruncate(file, 256 * MIB), 0);
    if (grow(path_of("kubelet/staging"), 256 * MIB, &bytes) < 0)
        ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
    assert_ok(unstage());
    assert_ok(stage(&ext4));
    assert_ok(usage(path_of("kubelet/staging"), &room));
    ck_assert_int_gt(room.bytes.total, 200 * MIB);
    assert_ok(unstage());
}
END_TEST

START_TEST(a_block_volume_tells_its_size_and_grows) {
    autoimage int file = image(8 * MIB);
    struct node_usage room;
    int64_t bytes = 0;

    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/a", &block, false));
    ck_assert_int_eq(ftruncate(file, 16 * MIB), 0);
    assert_ok(grow(path_of("kubelet/pods/a"), 16 * MIB, &bytes));
    ck_assert_int_eq(bytes, 16 * MIB);
    assert_ok(usage(path_of("kubelet/pods/a"), &room));
    ck_assert(room.block && room.bytes.total == 16 * MIB);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

static bool always(void *arg) {
    (void)arg;
    return true;
}

static int reclaim(const char *path, int mode, int64_t *before, int64_t *after) {
    const struct node_reclaim reclaim = {
        .volume_id = ID, .path = path_of(path), .mode = mode, .goes_on = always
    };

    memset(&err, 0, sizeof(err));
    return node_reclaim(&node, &reclaim, before, after, &err);
}

START_TEST(room_of_deleted_files_is_given_back) {
    autoimage int file = image(512 * MIB);
    int64_t before, after;

    assert_refused(reclaim("kubelet/staging", 0, &before, &after), NOT_FOUND);
    assert_ok(stage(&ext4));
    ck_assert_int_eq(shell("head -c 104857600 /dev/urandom >%1$s && sync %1$s && rm %1$s",
                           path_of("kubelet/staging/file")),
                     0);
    assert_refused(reclaim("kubelet/staging", NODE_MULTI_MULTI_WRITER, &before, &after),
                   BAD_METHOD);
    assert_ok(reclaim("kubelet/staging", NODE_SINGLE_MULTI_WRITER, &before, &after));
    ck_assert_int_ge(before, 90 * MIB);
    ck_assert_int_le(after, before - 90 * MIB);
    assert_ok(unstage());

    ck_assert_int_eq(ftruncate(file, 0), 0);
    ck_assert_int_eq(ftruncate(file, 8 * MIB), 0);
    assert_ok(stage(&block));
    assert_refused(reclaim("kubelet/staging", 0, &before, &after), BAD_METHOD);
    assert_ok(unstage());
}
END_TEST

/* Each begins in the middle of the one before it. */
struct crowd {
    int count, refused;
};

static bool begin_another(void *arg) {
    struct crowd *crowd = arg;
    int number = ++crowd->count;
    const struct node_reclaim reclaim = { .volume_id = arena_format(arena, "v%d", number),
                                          .path = arena_format(arena, "%s/kubelet/pods/v%d", base,
                                                               number),
                                          .goes_on = begin_another,
                                          .arg = crowd };
    int64_t before, after;

    if (number <= 5 && node_reclaim(&node, &reclaim, &before, &after, &err) < 0) {
        crowd->refused++;
        ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    }
    return true;
}

START_TEST(jobs_of_many_volumes_leave_workers_to_others) {
    struct crowd crowd = { 0 };

    for (int i = 1; i <= 5; i++) {
        const char *id = arena_format(arena, "v%d", i), *path;

        close(image_make(arena_format(arena, "images/%s", id), 16 * MIB));
        path = path_of(arena_format(arena, "kubelet/pods/%s", id));
        ck_assert_int_eq(mkdir(path, 0700), 0);
        assert_ok(stage_at(path, &ext4, id));
    }
    ck_assert(begin_another(&crowd));
    ck_assert_int_eq(crowd.refused, 1);
    for (int i = 1; i <= 5; i++) {
        const char *id = arena_format(arena, "v%d", i);

        assert_ok(node_unstage(&node, arena, id,
                               path_of(arena_format(arena, "kubelet/pods/%s", id)), &err));
    }
}
END_TEST

/* ---- killed between any two steps ---- */

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

/* false: the whole step was done before that.  What is shown has its device: the number of one that
 * has gone is another volume's at once. */
static bool die_in(node_step *step, const struct node_capability *capability, unsigned number) {
    pid_t child = fork();
    bool died;

    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(step(capability) == 0 ? 0 : 1);
    }
    died = kill_at(child, number);
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
    bool goes_on = true;
    unsigned i;

    for (i = WALK_FIRST + 1; goes_on; i += WALK_STEP) {
        goes_on = die_in(stage, capability, i);
        if (!back) {
            repeat(stage, capability);
            goes_on |= die_in(step_publish, capability, i);
            repeat(step_publish, capability);
            goes_on |= die_in(step_unpublish, capability, i);
        }
        repeat(step_unpublish, capability);
        ck_assert(!exists("kubelet/pods/a"));
        if (!back)
            goes_on |= die_in(step_unstage, capability, i);
        repeat(step_unstage, capability);
        ck_assert_int_eq(count_mounts(), 0);
        wait_for_devices(0);
    }
    ck_assert_uint_gt(i, 10);
}

START_TEST(who_dies_anywhere_with_a_file_system_is_succeeded) {
    autoimage int file = image(64 * MIB);

    assert_ok(stage(&ext4));
    assert_ok(unstage());
    die_everywhere(&ext4, false);
    die_everywhere(&ext4, true);
}
END_TEST

START_TEST(who_dies_anywhere_with_a_block_volume_is_succeeded) {
    autoimage int file = image(64 * MIB);

    die_everywhere(&block, false);
    die_everywhere(&block, true);
}
END_TEST

/* What is left of a block volume when the machine has started anew: an empty file. */
START_TEST(after_a_restart_of_the_machine_nothing_is_in_the_way) {
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

/* The device has gone while it was bound, and its number is another's now. */
START_TEST(a_device_that_was_taken_away_is_replaced) {
    autoimage int file = image(8 * MIB), stranger = image_make("stranger", 8 * MIB);
    struct stat status;
    char device[64];

    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/a", &block, false));
    ck_assert_int_eq(stat(path_of("kubelet/staging/" NODE_DEVICE), &status), 0);
    snprintf(device, sizeof(device), "/dev/loop%u", (unsigned)(status.st_rdev & 0xff));
    ck_assert_int_eq(shell("losetup -d %1$s && losetup %1$s %2$s", device, path_of("stranger")), 0);
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

CHECK_MAIN_WITH(
    "node", geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0, begin, node_test_end,
    a_file_system_goes_the_whole_way_and_each_step_twice,
    a_block_volume_goes_the_whole_way_and_each_step_twice, other_arguments_than_before_are_told,
    a_second_target_is_for_modes_that_have_one, readers_have_it_read_only,
    block_volumes_that_are_written_are_not_shown_read_only, hostile_requests_change_nothing,
    what_is_mounted_of_an_image_that_was_replaced_is_told, devices_of_other_programs_are_left_alone,
    what_another_has_mounted_is_left_alone, a_volume_that_is_in_use_stays_staged,
    a_volume_that_is_published_stays_staged, a_volume_that_is_mounted_elsewhere_is_not_unstaged,
    an_image_that_is_in_use_elsewhere_is_refused, two_calls_for_one_volume_do_not_meet,
    a_share_is_left_by_whoever_fails_or_dies, a_mounted_volume_tells_its_room_and_grows,
    an_ext4_has_its_growth_at_the_latest_when_it_is_staged_again,
    a_block_volume_tells_its_size_and_grows, room_of_deleted_files_is_given_back,
    jobs_of_many_volumes_leave_workers_to_others, who_dies_anywhere_with_a_file_system_is_succeeded,
    who_dies_anywhere_with_a_block_volume_is_succeeded,
    after_a_restart_of_the_machine_nothing_is_in_the_way, a_device_that_was_taken_away_is_replaced)
