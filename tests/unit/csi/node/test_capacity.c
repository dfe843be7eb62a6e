/*
 * The capacity of a volume, its growth, and reclaimed space.
 */
#define NODE_SCENE "3"
#include "csi/node/volume_lock.h"
#include "tests/unit/csi/node/scene.h"

#include <sys/statvfs.h>
#include <sys/wait.h>

static int grow(const char *path, int64_t required, int64_t *ret) {
    const struct node_growth growth = { .volume_id = ID, .path = path, .required_bytes = required };

    memset(&err, 0, sizeof(err));
    return node_grow(&node, arena, &growth, ret, &err);
}

static int usage(const char *path, struct node_usage *ret) {
    memset(&err, 0, sizeof(err));
    return node_usage(&node, ID, path, ret, &err);
}

START_TEST(a_mounted_volume_reports_its_capacity_and_grows) {
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

START_TEST(an_ext4_grows_at_its_next_stage_at_the_latest) {
    autoimage int file = image(64 * MIB);
    struct node_usage space;
    int64_t bytes = 0;

    assert_ok(stage(&ext4));
    ck_assert_int_eq(ftruncate(file, 256 * MIB), 0);
    if (grow(path_of("kubelet/staging"), 256 * MIB, &bytes) < 0)
        ck_assert_int_eq(err.kind, ERROR_PRECONDITION);
    assert_ok(unstage());
    assert_ok(stage(&ext4));
    assert_ok(usage(path_of("kubelet/staging"), &space));
    ck_assert_int_gt(space.bytes.total, 200 * MIB);
    assert_ok(unstage());
}
END_TEST

START_TEST(a_block_volume_reports_its_size_and_grows) {
    autoimage int file = image(8 * MIB);
    struct node_usage space;
    int64_t bytes = 0;

    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/a", &block, false));
    ck_assert_int_eq(ftruncate(file, 16 * MIB), 0);
    assert_ok(grow(path_of("kubelet/pods/a"), 16 * MIB, &bytes));
    ck_assert_int_eq(bytes, 16 * MIB);
    assert_ok(usage(path_of("kubelet/pods/a"), &space));
    ck_assert(space.block && space.bytes.total == 16 * MIB);
    assert_ok(unpublish("kubelet/pods/a"));
    assert_ok(unstage());
}
END_TEST

/* As of a share whose server does not respond: whether the image has grown is unknown. */
START_TEST(a_growth_without_the_image_is_repeated) {
    autoimage int file = image(8 * MIB);
    int64_t bytes = 0;

    assert_ok(stage(&block));
    assert_ok(publish("kubelet/pods/a", &block, false));
    ck_assert_int_eq(unlink(path_of("images/" ID)), 0);
    assert_ok(grow(path_of("kubelet/pods/a"), 8 * MIB, &bytes));
    assert_refused(grow(path_of("kubelet/pods/a"), 16 * MIB, &bytes), UNAVAILABLE);
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
        .volume_id = ID, .path = path_of(path), .mode = mode, .may_continue = always
    };

    memset(&err, 0, sizeof(err));
    return node_reclaim(&node, &reclaim, before, after, &err);
}

START_TEST(blocks_of_deleted_files_are_deallocated) {
    autoimage int file = image(512 * MIB);
    int64_t before, after;
    struct volume_lock lock;

    assert_refused(reclaim("kubelet/staging", 0, &before, &after), NOT_FOUND);
    assert_ok(stage(&ext4));
    ck_assert_int_eq(shell("head -c 104857600 /dev/urandom >%1$s && sync %1$s && rm %1$s",
                           path_of("kubelet/staging/file")),
                     0);
    assert_refused(reclaim("kubelet/staging", NODE_MULTI_MULTI_WRITER, &before, &after),
                   BAD_METHOD);
    ck_assert(volume_lock_try(&lock, ID));
    assert_refused(reclaim("kubelet/staging", 0, &before, &after), CONFLICT);
    volume_lock_release(&lock);
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

/* Comes when the one before it has just begun. */
struct visit {
    bool urgent;
    int count;
};

static bool be_visited(void *arg) {
    struct visit *visit = arg;
    int64_t before, after;

    if (visit->count++ == 0 && visit->urgent)
        assert_refused(publish("kubelet/pods/a", &ext4, false), CONFLICT);
    else if (visit->count == 1)
        assert_refused(reclaim("kubelet/staging", 0, &before, &after), CONFLICT);
    return true;
}

static int reclaim_visited(struct visit *visit) {
    const struct node_reclaim reclaim = { .volume_id = ID,
                                          .path = path_of("kubelet/staging"),
                                          .may_continue = be_visited,
                                          .arg = visit };
    int64_t before, after;

    return node_reclaim(&node, &reclaim, &before, &after, &err);
}

START_TEST(pods_do_not_wait_for_a_reclaim) {
    autoimage int file = image(512 * MIB);
    struct visit visit = { .urgent = true };

    assert_ok(stage(&ext4));
    assert_refused(reclaim_visited(&visit), CONFLICT);
    ck_assert_int_eq(visit.count, 1);
    assert_ok(publish("kubelet/pods/a", &ext4, false));
    assert_ok(unpublish("kubelet/pods/a"));
    visit = (struct visit){ .urgent = false };
    assert_ok(reclaim_visited(&visit));
    ck_assert_int_gt(visit.count, 1);
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
                                          .may_continue = begin_another,
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

NODE_SCENE_MAIN("node_room", a_mounted_volume_reports_its_capacity_and_grows,
                an_ext4_grows_at_its_next_stage_at_the_latest,
                a_block_volume_reports_its_size_and_grows, a_growth_without_the_image_is_repeated,
                blocks_of_deleted_files_are_deallocated, pods_do_not_wait_for_a_reclaim,
                jobs_of_many_volumes_leave_workers_to_others)
