/*
 * Volume files that another process has locked, perhaps one that is paused: a call about them does
 * not wait, whatever it is.
 */
#include "drivers/file/chain.h"

#include "drivers/file/volume_image.h"
#include "drivers/file/volume_name.h"
#include "tests/unit/drivers/driver_test.h"

#include <time.h>

struct place {
    struct bench bench;
    struct directory directory; /* of the other process */
    struct driver_volume volume;
    struct driver_snapshot snapshot;
    struct driver_fence fence;
    unsigned reports;
    char what[64];
};

static struct place place;

static bool holds(const struct driver_fence *fence) {
    (void)fence;
    return true;
}

static void busy(const struct driver_fence *fence, const char *what) {
    (void)fence;
    place.reports++;
    snprintf(place.what, sizeof place.what, "%s", what);
}

/* With a snapshot: an overlay, or a separate file. */
static void open_place_with(bool overlays) {
    static struct directory_settings settings;
    struct bench *bench = &place.bench;
    struct driver_created created;

    place = (struct place){ .volume = A_VOLUME, .fence = { .holds = holds, .busy = busy } };
    bench_new(bench);
    ck_assert_int_eq(mkdir(bench_path(bench, "d"), 0700), 0);
    bench_configure(bench, &file_driver,
                    (const char *const[]){
                        arena_format(bench->arena, "file_volume_directory=%s/d", bench->path),
                        overlays ? "file_snapshot_overlays=true" : NULL, NULL });
    ck_assert_msg(bench_try_open(bench) == 0, "%s", bench->err.message);
    place.volume.fence = &place.fence;
    ck_assert_int_eq(bench_create(bench, &place.volume), 0);
    place.snapshot =
        (struct driver_snapshot){ .id = "s", .name_id = "s", .size_gb = 1, .fence = &place.fence };
    ck_assert_msg(bench->driver->create_snapshot(bench->handle, bench->arena, &place.volume,
                                                 &place.snapshot, NULL, &created,
                                                 &bench->err) == DRIVER_DONE,
                  "%s", bench->err.message);
    place.snapshot.provider_location = created.provider_location;
    place.snapshot.format = created.format;
    directory_settings_load(&bench->backend, &settings);
    ck_assert_int_eq(
        directory_open(bench_path(bench, "d"), &settings, &place.directory, &bench->err), 0);
}

static void open_place(void) {
    open_place_with(true);
}

static void close_place(void) {
    close(place.directory.fd);
    bench_close(&place.bench);
}

/* ---- calls ---- */

#define REQUEST(function, ...)                                                       \
    place.bench.driver->function(place.bench.handle, place.bench.arena, __VA_ARGS__, \
                                 &place.bench.err)

static const struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = 1 };

static struct driver_volume copy_to(void) {
    struct driver_volume to = copy;

    to.fence = &place.fence;
    return to;
}

static int make_snapshot(void) {
    struct driver_snapshot another = place.snapshot;
    struct driver_created created;

    another.id = another.name_id = "t";
    return REQUEST(create_snapshot, &place.volume, &another, NULL, &created);
}

static int delete_snapshot(void) {
    return REQUEST(delete_snapshot, &place.volume, &place.snapshot, NULL);
}

static int delete_volume(void) {
    return REQUEST(delete_volume, &place.volume);
}

static int extend(void) {
    return REQUEST(extend_volume, &place.volume, 2);
}

static int revert(void) {
    return REQUEST(revert_volume, &place.volume, &place.snapshot, NULL);
}

static int clone_volume(void) {
    const struct driver_volume to = copy_to();
    struct driver_created created;

    return REQUEST(clone_volume, &to, &place.volume, NULL, &created);
}

static int clone_snapshot(void) {
    const struct driver_volume to = copy_to();
    struct driver_created created;

    return REQUEST(clone_snapshot, &to, &place.snapshot, NULL, &created);
}

static int prepare_create(void) {
    struct driver_snapshot another = place.snapshot;
    struct driver_assist files;

    another.id = another.name_id = "t";
    return REQUEST(prepare_assist, &place.volume, &another, false, &files);
}

static int prepare_delete(void) {
    struct driver_assist files;

    return REQUEST(prepare_assist, &place.volume, &place.snapshot, true, &files);
}

static int settle_create(void) {
    struct driver_created created;

    return REQUEST(complete_assist, &place.volume, &place.snapshot, false, DRIVER_REPORTED_NOTHING,
                   &created);
}

static int settle_delete(void) {
    struct driver_created created;

    return REQUEST(complete_assist, &place.volume, &place.snapshot, true, DRIVER_REPORTED_NOTHING,
                   &created);
}

static int reclaim(void) {
    int64_t bytes;

    return REQUEST(reclaim_volume, &place.volume, NULL, &bytes);
}

static int unmanage_volume(void) {
    return REQUEST(unmanage_volume, &place.volume);
}

static int unmanage_snapshot(void) {
    return REQUEST(unmanage_snapshot, &place.volume, &place.snapshot);
}

/* clang-format off */
static const struct {
    const char *name;
    int (*make)(void);
    bool reads;          /* beside others that do */
    bool needs_overlays; /* otherwise the volume's files are not used */
} calls[] = {
    { "create_snapshot",         make_snapshot,     false, false },
    { "delete_snapshot",         delete_snapshot,   false, false },
    { "delete_volume",           delete_volume,     false, false },
    { "extend_volume",           extend,            false, true },
    { "revert_volume",           revert,            false, false },
    { "clone_volume",            clone_volume,      true,  false },
    { "clone_snapshot",          clone_snapshot,    true,  true },
    { "prepare_assist, create",  prepare_create,    false, true },
    { "prepare_assist, delete",  prepare_delete,    false, true },
    { "complete_assist, create", settle_create,     false, true },
    { "complete_assist, delete", settle_delete,     false, true },
    { "reclaim_volume",          reclaim,           true,  false },
    { "unmanage_volume",         unmanage_volume,   false, false },
    { "unmanage_snapshot",       unmanage_snapshot, false, true },
};
/* clang-format on */

static int lock_files(bool alone) {
    int lock;

    ck_assert_msg(volume_image_lock(&place.directory, place.bench.arena, &place.volume,
                                    alone ? VOLUME_ALONE : VOLUME_SHARED, NULL, &lock,
                                    &place.bench.err) == 0,
                  "%s", place.bench.err.message);
    ck_assert_int_ge(lock, 0);
    return lock;
}

/* Names, and the content of the info. */
static const char *files(void) {
    const char *const list =
        "cd \"$1\"/d && ls -A > ../list && find . -name '*.info' -exec cat {} + >> ../list";

    ck_assert_int_eq(BENCH_RUN("sh", "-c", list, "sh", place.bench.path), 0);
    return bench_read(&place.bench, "list");
}

static void assert_busy(unsigned call) {
    const char *before = files();

    place.bench.err = (struct error){ .kind = ERROR_NONE };
    place.reports = 0;
    ck_assert_msg(calls[call].make() < 0, "%s", calls[call].name);
    ck_assert_msg(place.bench.err.kind == ERROR_BUSY, "%s: %s", calls[call].name,
                  place.bench.err.message);
    ck_assert_msg(place.reports == 1, "%s", calls[call].name);
    ck_assert_str_eq(place.what, "volume files");
    ck_assert_str_eq(files(), before);
}

START_TEST(no_call_waits_for_volume_files_in_use) {
    int lock;

    open_place();
    lock = lock_files(true);
    for (unsigned i = 0; i < LENGTH(calls); i++)
        assert_busy(i);
    close(lock);
    close_place();
}
END_TEST

/* QEMU's locks of a paused worker look like a guest's: without this lock a delete or a revert that
 * another worker goes on with would fail for good. */
START_TEST(a_volume_without_overlays_is_locked_as_well) {
    int lock;

    open_place_with(false);
    lock = lock_files(true);
    for (unsigned i = 0; i < LENGTH(calls); i++)
        if (!calls[i].needs_overlays)
            assert_busy(i);
    ck_assert_int_eq(extend(), DRIVER_DONE); /* goes on beside the paused one */
    close(lock);
    ck_assert_int_eq(delete_snapshot(), DRIVER_DONE);
    ck_assert_int_eq(delete_volume(), 0);
    close_place();
}
END_TEST

/* ---- a file that is replaced, as by a revert ---- */

static struct {
    int lock, lock_of_new; /* -1: none */
    bool locks_new;
} waited = { -1, -1, false };

static unsigned pauses;

static void replace_file(void) {
    const char *const replace = "cp --sparse=always \"$1\" \"$1.x\" && mv \"$1.x\" \"$1\"";
    const char *path =
        arena_format(place.bench.arena, "d/" VOLUME_NAME_PREFIX "%s", place.volume.name_id);

    ck_assert_int_eq(BENCH_RUN("sh", "-c", replace, "sh", bench_path(&place.bench, path)), 0);
}

/* The call has opened the file that another one has locked, and waits for it: this replaces libc's
 * function. */
int nanosleep(const struct timespec *pause, struct timespec *rest) {
    int lock = waited.lock;

    pauses++;
    waited.lock = -1;
    if (lock >= 0) {
        replace_file();
        waited.lock_of_new = waited.locks_new ? lock_files(true) : -1;
        close(lock);
    }
    return clock_nanosleep(CLOCK_MONOTONIC, 0, pause, rest);
}

/* The operations that clean up behind other workers are repeated, too. */
START_TEST(a_clean_up_waits_for_no_volume_files) {
    static const struct driver_fence silent = { .holds = holds };

    for (int has_fence = 0; has_fence <= 1; has_fence++) {
        int lock;

        open_place();
        lock = lock_files(true);
        place.volume.fence = place.snapshot.fence = has_fence ? &silent : NULL;
        for (unsigned i = 0; i < LENGTH(calls); i++) {
            pauses = 0;
            ck_assert_msg(calls[i].make() < 0, "%s", calls[i].name);
            ck_assert_int_eq(place.bench.err.kind, ERROR_BUSY);
            ck_assert_uint_lt(pauses, 20);
        }
        close(lock);
        close_place();
    }
}
END_TEST

START_TEST(a_file_that_was_replaced_locks_its_volume_no_more) {
    for (unsigned i = 0; i < LENGTH(calls); i++) {
        if (calls[i].needs_overlays && calls[i].make != extend)
            continue;
        for (int is_locked = 1; is_locked >= 0; is_locked--) {
            open_place_with(false);
            waited.lock = lock_files(true);
            waited.locks_new = is_locked;
            if (is_locked && calls[i].make != extend)
                assert_busy(i);
            else
                ck_assert_msg(calls[i].make() == 0, "%s: %s", calls[i].name,
                              place.bench.err.message);
            ck_assert_int_eq(waited.lock, -1);
            if (is_locked)
                close(waited.lock_of_new);
            close_place();
        }
    }
}
END_TEST

static ino_t inode_of_volume(void) {
    struct stat status;

    ck_assert_int_eq(
        fstatat(place.directory.fd,
                arena_format(place.bench.arena, VOLUME_NAME_PREFIX "%s", place.volume.name_id),
                &status, AT_SYMLINK_NOFOLLOW),
        0);
    return status.st_ino;
}

static struct {
    ino_t replaced;
    unsigned looks;
} reverted;

static bool locks_the_new_file(const struct driver_fence *fence) {
    struct error err = { .kind = ERROR_NONE };
    int lock;

    (void)fence;
    if (inode_of_volume() == reverted.replaced)
        return true;
    reverted.looks++;
    ck_assert_int_lt(volume_image_lock(&place.directory, place.bench.arena, &place.volume,
                                       VOLUME_SHARED, &place.fence, &lock, &err),
                     0);
    ck_assert_msg(err.kind == ERROR_BUSY, "%s", err.message);
    return true;
}

START_TEST(a_revert_has_the_volume_locked_until_it_ends) {
    const struct driver_fence fence = { .holds = locks_the_new_file, .busy = busy };
    struct driver_volume volume;

    open_place_with(false);
    reverted.replaced = inode_of_volume();
    volume = place.volume;
    volume.fence = &fence;
    ck_assert_msg(REQUEST(revert_volume, &volume, &place.snapshot, NULL) == 0, "%s",
                  place.bench.err.message);
    ck_assert_uint_gt(reverted.looks, 0);
    close(lock_files(true));
    close_place();
}
END_TEST

/* ---- manage ---- */

static struct driver_volume managed(const struct driver_fence *fence) {
    return (struct driver_volume){
        .id = "m", .name_id = "m", .size_gb = 1, .format = "raw", .fence = fence
    };
}

static int manage(const struct driver_fence *fence) {
    const struct driver_volume volume = managed(fence);
    struct driver_created created;

    return REQUEST(manage_volume, &volume, "foo", &created);
}

/* A worker that is paused here has renamed the file, and its locks of the image are held. */
static bool delete_meanwhile(const struct driver_fence *fence) {
    const struct driver_volume volume = managed(&place.fence);
    struct error err = { .kind = ERROR_NONE };

    (void)fence;
    if (place.reports > 0 ||
        faccessat(place.directory.fd, VOLUME_NAME_PREFIX "m", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    ck_assert_int_lt(
        place.bench.driver->delete_volume(place.bench.handle, place.bench.arena, &volume, &err), 0);
    ck_assert_msg(err.kind == ERROR_BUSY, "%s", err.message);
    return true;
}

START_TEST(a_file_is_locked_as_its_volume_while_it_is_managed) {
    const struct driver_fence fence = { .holds = delete_meanwhile, .busy = busy };
    const struct driver_volume volume = managed(&place.fence);

    open_place_with(false);
    ck_assert_int_eq(BENCH_RUN("truncate", "-s", "1G", bench_path(&place.bench, "d/foo")), 0);
    ck_assert_msg(manage(&fence) == 0, "%s", place.bench.err.message);
    ck_assert_int_eq(place.reports, 1);
    ck_assert_int_eq(REQUEST(delete_volume, &volume), 0);
    close_place();
}
END_TEST

START_TEST(a_file_that_another_call_changes_is_managed_later) {
    int fd;

    open_place_with(false);
    ck_assert_int_eq(BENCH_RUN("truncate", "-s", "1G", bench_path(&place.bench, "d/foo")), 0);
    fd = openat(place.directory.fd, "foo", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(chain_lock_file(fd, true, NULL, &place.bench.err), 0);
    ck_assert_int_lt(manage(&place.fence), 0);
    ck_assert_msg(place.bench.err.kind == ERROR_BUSY, "%s", place.bench.err.message);
    close(fd);
    ck_assert_int_eq(manage(&place.fence), 0);
    close_place();
}
END_TEST

START_TEST(calls_that_read_volume_files_share_them) {
    int lock;

    open_place();
    lock = lock_files(false);
    for (unsigned i = 0; i < LENGTH(calls); i++)
        if (calls[i].reads)
            ck_assert_msg(calls[i].make() == 0, "%s: %s", calls[i].name, place.bench.err.message);
        else
            assert_busy(i);
    close(lock);
    close_place();
}
END_TEST

START_TEST(files_in_use_are_taken_once_they_are_free) {
    open_place();
    close(lock_files(true));
    for (unsigned i = 0; i < LENGTH(calls); i++)
        if (calls[i].make == delete_snapshot || calls[i].make == extend)
            ck_assert_msg(calls[i].make() == DRIVER_DONE, "%s: %s", calls[i].name,
                          place.bench.err.message);
    ck_assert_uint_eq(place.reports, 0);
    close_place();
}
END_TEST

static bool may_not(const struct driver_fence *fence) {
    (void)fence;
    place.reports++;
    return false;
}

/* The overlay takes more than a second of the limit. */
START_TEST(a_merge_of_much_data_is_left_to_a_worker_for_that) {
    const char *before;

    open_place();
    place.bench.driver->close(place.bench.handle);
    config_free(place.bench.config);
    bench_configure(
        &place.bench, &file_driver,
        (const char *const[]){
            arena_format(place.bench.arena, "file_volume_directory=%s/d", place.bench.path),
            "file_snapshot_overlays=true", "volume_copy_bps_limit=1", NULL });
    ck_assert_int_eq(bench_try_open(&place.bench), 0);
    place.fence.may_take_long = may_not;
    before = files();
    ck_assert_int_eq(delete_snapshot(), DRIVER_FAILED);
    ck_assert_msg(place.bench.err.kind == ERROR_BUSY, "%s", place.bench.err.message);
    ck_assert_uint_eq(place.reports, 1);
    ck_assert_str_eq(files(), before);
    close_place();
}
END_TEST

CHECK_MAIN("chain busy", a_merge_of_much_data_is_left_to_a_worker_for_that,
           no_call_waits_for_volume_files_in_use, a_clean_up_waits_for_no_volume_files,
           a_volume_without_overlays_is_locked_as_well,
           a_file_that_was_replaced_locks_its_volume_no_more,
           a_revert_has_the_volume_locked_until_it_ends,
           a_file_is_locked_as_its_volume_while_it_is_managed,
           a_file_that_another_call_changes_is_managed_later,
           calls_that_read_volume_files_share_them, files_in_use_are_taken_once_they_are_free)
