/*
 * Every system call fails in turn while snapshots, clones and reverts of files are made, by sharing
 * blocks and by copying, and while files are managed and unmanaged.  After each failure the same
 * call, repeated in a world that works, must end as if nothing had happened.
 */
#include "drivers/file/image_copy.h"
#include "drivers/file/snapshot_file.h"
#include "drivers/file/snapshot_file_manage.h"

#include "tests/fault/place.h"
#include "tests/unit/drivers/xfs.h"

#define MIB           (INT64_C(1) << 20)
#define SNAPSHOT_NAME "snapshot-s"
#define CLONE_NAME    "volume-c"

/* The value of the byte of the raw volume, or a place where qcow2 has no header. */
static void set_byte(struct place *place, const char *name, char byte) {
    autoclose int fd = openat(place->directory.fd, name, O_RDWR | O_CLOEXEC);

    ck_assert_int_eq(pwrite(fd, &byte, 1, 40 * MIB), 1);
}

static char get_byte(struct place *place, const char *name) {
    autoclose int fd = openat(place->directory.fd, name, O_RDONLY | O_CLOEXEC);
    char byte = 0;

    return pread(fd, &byte, 1, 40 * MIB) == 1 ? byte : '-';
}

/* With a volume that has an 'a' in it. */
static void open_filled_place(struct place *place, size_t kind) {
    const char *format;

    open_place(place, kind);
    ck_assert_int_eq(volume_file_create(&place->directory, place->bench.arena, &place->volume,
                                        &format, &place->bench.err),
                     0);
    set_byte(place, FILE_NAME, 'a');
}

static int snapshot(struct place *place) {
    return (int)snapshot_file_create(&place->directory, place->bench.arena, &place->volume,
                                     &place->snapshot, NULL, &place->bench.err);
}

static int drop(struct place *place) {
    return snapshot_file_delete(&place->directory, place->bench.arena, &place->volume,
                                &place->snapshot, NULL, &place->bench.err);
}

/* Of the snapshot, larger than that. */
static int clone_larger(struct place *place) {
    struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = 2 };
    autosource struct image_source source = NO_SOURCE;

    if (image_source_open_snapshot(&place->directory, place->bench.arena, &place->snapshot, NULL,
                                   &source, &place->bench.err) < 0)
        return -1;
    return volume_file_clone(&place->directory, place->bench.arena, &copy, &source, NULL,
                             &place->bench.err);
}

static int revert(struct place *place) {
    autosource struct image_source source = NO_SOURCE;

    if (image_source_open_snapshot(&place->directory, place->bench.arena, &place->snapshot, NULL,
                                   &source, &place->bench.err) < 0)
        return -1;
    return volume_file_revert(&place->directory, place->bench.arena, &place->volume, &source, NULL,
                              &place->bench.err);
}

/* ---- invariants after each call, however it ended ---- */

static void snapshot_is_whole_or_missing(struct place *place, bool done) {
    ck_assert(has(place, SNAPSHOT_NAME) || !done);
    if (has(place, SNAPSHOT_NAME))
        ck_assert_int_eq(get_byte(place, SNAPSHOT_NAME), 'a');
    ck_assert_int_eq(get_byte(place, FILE_NAME), 'a');
}

static void snapshot_is_whole_or_gone(struct place *place, bool done) {
    ck_assert(!has(place, SNAPSHOT_NAME) || !done);
    if (has(place, SNAPSHOT_NAME))
        ck_assert_int_eq(get_byte(place, SNAPSHOT_NAME), 'a');
    ck_assert_int_eq(get_byte(place, FILE_NAME), 'b');
}

static void clone_is_whole_or_missing(struct place *place, bool done) {
    struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = 2 };
    int64_t bytes = 0;

    ck_assert(has(place, CLONE_NAME) || !done);
    if (!has(place, CLONE_NAME))
        return;
    copy.format = place->volume.format;
    ck_assert_int_eq(get_byte(place, CLONE_NAME), 'a');
    ck_assert_int_eq(volume_file_get_size(&place->directory, place->bench.arena, &copy, &bytes,
                                          &place->bench.err),
                     0);
    ck_assert_int_eq(bytes, 2 * GIB);
}

static void volume_is_old_or_new(struct place *place, bool done) {
    char byte = get_byte(place, FILE_NAME);

    ck_assert(byte == 'a' || (byte == 'b' && !done));
    ck_assert_int_eq(get_byte(place, SNAPSHOT_NAME), 'a');
}

static const char *unmanaged_name(struct place *place) {
    return arena_format(place->bench.arena, "unmanaged-%s", place->volume.id);
}

static int let_go(struct place *place) {
    return volume_file_unmanage(&place->directory, place->bench.arena, &place->volume,
                                &place->bench.err);
}

static int take_over(struct place *place) {
    const struct driver_volume other = { .id = "c", .name_id = "c", .size_gb = 1 };
    const char *format;

    return volume_file_manage(&place->directory, place->bench.arena, &other, unmanaged_name(place),
                              &format, &place->bench.err);
}

/* Under one name or the other, or, half way with a link, under both. */
static void is_let_go_or_not(struct place *place, bool done) {
    ck_assert(!done || !has(place, FILE_NAME));
    ck_assert(has(place, FILE_NAME) || has(place, unmanaged_name(place)));
    ck_assert_int_eq(get_byte(place, has(place, FILE_NAME) ? FILE_NAME : unmanaged_name(place)),
                     'a');
}

/* Its file keeps the name when the volume is renamed. */
static void prepare_info(struct place *place) {
    static const char info[] = "{\"active\": \"" FILE_NAME "\"}";
    autoclose int fd =
        openat(place->directory.fd, FILE_NAME ".info", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(pwrite(fd, info, strlen(info), 0), (ssize_t)strlen(info));
}

static void is_let_go_with_its_info_or_not(struct place *place, bool done) {
    is_let_go_or_not(place, done);
    ck_assert(!done ||
              (!has(place, FILE_NAME ".info") &&
               !has(place, arena_format(place->bench.arena, "%s.info", unmanaged_name(place)))));
}

static void is_taken_over_or_not(struct place *place, bool done) {
    ck_assert(!done || (has(place, CLONE_NAME) && !has(place, unmanaged_name(place))));
    ck_assert(has(place, CLONE_NAME) || has(place, unmanaged_name(place)));
    ck_assert_int_eq(get_byte(place, has(place, CLONE_NAME) ? CLONE_NAME : unmanaged_name(place)),
                     'a');
}

static int let_go_of_snapshot(struct place *place) {
    return snapshot_file_unmanage(&place->directory, place->bench.arena, &place->volume,
                                  &place->snapshot, &place->bench.err);
}

static int take_snapshot_over(struct place *place) {
    struct driver_snapshot other = { .id = "t", .name_id = "t", .size_gb = 1 };
    struct driver_candidate source;

    return snapshot_file_get_manageable(&place->directory, place->bench.arena, &place->volume,
                                        &other, "unmanaged-s", &source, &place->bench.err) < 0
               ? -1
               : snapshot_file_manage(&place->directory, place->bench.arena, &place->volume, &other,
                                      &source, &place->bench.err);
}

static void is_under(struct place *place, bool done, const char *from, const char *to) {
    ck_assert(!done || (has(place, to) && !has(place, from)));
    ck_assert(has(place, from) || has(place, to));
    ck_assert_int_eq(get_byte(place, has(place, to) ? to : from), 'a');
    ck_assert_int_eq(get_byte(place, FILE_NAME), 'b');
}

static void snapshot_is_let_go_or_not(struct place *place, bool done) {
    is_under(place, done, SNAPSHOT_NAME, "unmanaged-s");
}

static void snapshot_is_taken_over_or_not(struct place *place, bool done) {
    is_under(place, done, "unmanaged-s", "snapshot-t");
}

static void prepare_unmanaged(struct place *place) {
    ck_assert_msg(let_go(place) == 0, "%s", place->bench.err.message);
}

static void prepare_nothing(struct place *place) {
    (void)place;
}

static void prepare_snapshot(struct place *place) {
    ck_assert_msg(snapshot(place) == 0, "%s", place->bench.err.message);
    set_byte(place, FILE_NAME, 'b');
}

static void prepare_unmanaged_snapshot(struct place *place) {
    prepare_snapshot(place);
    ck_assert_msg(let_go_of_snapshot(place) == 0, "%s", place->bench.err.message);
}

static const struct {
    const char *name;
    void (*prepare)(struct place *place);
    int (*call)(struct place *place);
    void (*check)(struct place *place, bool done);
} calls[] = {
    { "snapshot", prepare_nothing, snapshot, snapshot_is_whole_or_missing },
    { "delete", prepare_snapshot, drop, snapshot_is_whole_or_gone },
    { "clone", prepare_snapshot, clone_larger, clone_is_whole_or_missing },
    { "revert", prepare_snapshot, revert, volume_is_old_or_new },
    { "unmanage", prepare_nothing, let_go, is_let_go_or_not },
    { "unmanage with an info", prepare_info, let_go, is_let_go_with_its_info_or_not },
    { "manage", prepare_unmanaged, take_over, is_taken_over_or_not },
    { "unmanage a snapshot", prepare_snapshot, let_go_of_snapshot, snapshot_is_let_go_or_not },
    { "manage a snapshot", prepare_unmanaged_snapshot, take_snapshot_over,
      snapshot_is_taken_over_or_not },
};

static void assert_tidy(struct place *place) {
    ck_assert(!has(place, "." SNAPSHOT_NAME ".new"));
    ck_assert(!has(place, "." CLONE_NAME ".new"));
    ck_assert(!has(place, "." FILE_NAME ".new"));
}

enum { MOST_CALLS = 200 };

/* The n-th system call of call i fails; false when there was none. */
static bool survive(size_t kind, size_t i, int n) {
    autoplace struct place place;
    bool reached;
    int result;

    open_filled_place(&place, kind);
    calls[i].prepare(&place);
    fail_nth(n, EIO);
    result = calls[i].call(&place);
    reached = fault.countdown == 0;
    fail_none();
    ck_assert_msg(reached || result == 0, "%s %d: %s", calls[i].name, n, place.bench.err.message);
    calls[i].check(&place, result == 0);
    ck_assert_msg(calls[i].call(&place) == 0, "%s %d: %s", calls[i].name, n,
                  place.bench.err.message);
    calls[i].check(&place, true);
    assert_tidy(&place);
    return reached;
}

static void survive_all(void) {
    for (size_t kind = 0; kind < LENGTH(kinds); kind++)
        for (size_t i = 0; i < LENGTH(calls); i++) {
            int n = 1 + (int)WALK_FIRST;

            for (; survive(kind, i, n); n += (int)WALK_STEP)
                ck_assert_int_lt(n, MOST_CALLS);
            ck_assert_int_gt(n, 4);
        }
}

START_TEST(copies_survive_every_failure) {
    survive_all();
}
END_TEST

START_TEST(shared_blocks_survive_every_failure) {
    if (xfs_enter())
        survive_all();
}
END_TEST

/* ---- file systems that cannot ---- */

/* Missing functions are done without. */
static void do_without(const char *call, int error, size_t kind, size_t i) {
    autoplace struct place place;

    open_filled_place(&place, kind);
    calls[i].prepare(&place);
    fail_all(call, error);
    ck_assert_msg(calls[i].call(&place) == 0, "%s without %s: %s", calls[i].name, call,
                  place.bench.err.message);
    fail_none();
    calls[i].check(&place, true);
    assert_tidy(&place);
}

static void do_without_each(void) {
    static const struct {
        const char *call;
        int error;
    } missing[] = {
        { "ioctl", EOPNOTSUPP }, { "ioctl", EXDEV },           { "ioctl", EINVAL },
        { "ioctl", ENOTTY },     { "copy_file_range", EXDEV }, { "sync_file_range", ENOSYS },
        { "renameat2", EINVAL },
    };
    unsigned step = WALK_STEP, number = WALK_FIRST;

    for (size_t kind = 0; kind < LENGTH(kinds); kind++)
        for (size_t i = 0; i < LENGTH(calls); i++)
            for (size_t j = 0; j < LENGTH(missing); j++)
                if (number++ % step == 0)
                    do_without(missing[j].call, missing[j].error, kind, i);
    do_without("lseek", EINVAL, 0, 0); /* all of it is read */
    do_without("lseek", EINVAL, 2, 0);
}

START_TEST(unsupported_file_system_calls_have_a_fallback) {
    do_without_each();
}
END_TEST

START_TEST(calls_refused_by_xfs_have_a_fallback) {
    if (xfs_enter())
        do_without_each();
}
END_TEST

/* As with NFS before 4.2, which calls all of a file data. */
START_TEST(a_file_system_that_hides_its_holes_gets_them_back) {
    autoplace struct place place;
    struct stat status;

    open_filled_place(&place, 0);
    fail_all("lseek", EINVAL);
    ck_assert_int_eq(snapshot(&place), DRIVER_DONE);
    fail_none();
    ck_assert_int_eq(get_byte(&place, SNAPSHOT_NAME), 'a');
    ck_assert_int_eq(fstatat(place.directory.fd, SNAPSHOT_NAME, &status, 0), 0);
    ck_assert_int_eq(status.st_size, GIB);
    ck_assert_int_le(status.st_blocks * 512, 2 * MIB);
}
END_TEST

START_TEST(below_a_guest_there_is_no_fallback) {
    autoplace struct place place;

    open_filled_place(&place, 0);
    place.volume.attached = true;
    fail_all("ioctl", EOPNOTSUPP);
    ck_assert_int_eq(snapshot(&place), DRIVER_DEFERRED);
    fail_all("ioctl", EIO);
    ck_assert_int_eq(snapshot(&place), DRIVER_FAILED);
    fail_none();
    ck_assert(!has(&place, SNAPSHOT_NAME));
    assert_tidy(&place);
}
END_TEST

/* Nothing has its name before its content is on the disk. */
static void report_nothing_unflushed(void) {
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        autoplace struct place place;

        open_filled_place(&place, kind);
        fail_all("fsync", EIO);
        ck_assert_int_eq(snapshot(&place), DRIVER_FAILED);
        ck_assert(!has(&place, SNAPSHOT_NAME));
        fail_none();
        prepare_snapshot(&place);
        fail_all("fsync", EIO);
        ck_assert_int_eq(clone_larger(&place), -1);
        ck_assert(!has(&place, CLONE_NAME));
        ck_assert_int_eq(revert(&place), -1);
        ck_assert_int_eq(get_byte(&place, FILE_NAME), 'b');
        fail_none();
        assert_tidy(&place);
    }
}

START_TEST(a_copy_is_flushed_before_it_is_named) {
    report_nothing_unflushed();
}
END_TEST

START_TEST(a_reflink_is_flushed_before_it_is_named) {
    if (xfs_enter())
        report_nothing_unflushed();
}
END_TEST

/* ---- a copy and the time ---- */

enum { BEGIN = 1000000 };

struct listener {
    struct driver_progress progress;
    int64_t last_us, longest_us, done_bytes;
    unsigned reports, until; /* cancelled at that one; 0: never */
};

static bool listen(const struct driver_progress *progress, int64_t done_bytes, int64_t all_bytes) {
    struct listener *listener = (struct listener *)(uintptr_t)progress;
    int64_t since_us = boottime.now_us - listener->last_us;

    ck_assert(done_bytes >= listener->done_bytes && done_bytes < all_bytes);
    if (listener->longest_us < since_us)
        listener->longest_us = since_us;
    listener->last_us = boottime.now_us;
    listener->done_bytes = done_bytes;
    return ++listener->reports != listener->until;
}

/* By hand, so that the clock is moved by each write; `mib` of data, a hole of as much behind. */
static int copy_by_clock(struct bench *bench, int64_t mib, int64_t write_us,
                         const struct image_copy *how) {
    autoclose int from = open(bench_path(bench, "from"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    autoclose int to = open(bench_path(bench, "to"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char *data = arena_alloc(bench->arena, (size_t)MIB);
    int result;

    for (int64_t i = 0; i < mib; i++)
        ck_assert_int_eq(pwrite(from, memset(data, 'x', (size_t)MIB), (size_t)MIB, i * MIB), MIB);
    ck_assert_int_eq(ftruncate(from, 2 * mib * MIB), 0);
    boottime.now_us = BEGIN;
    boottime.write_us = write_us;
    boottime.pause_at = 0;
    fail_all("copy_file_range", EXDEV);
    result = image_copy(from, to, true, how, &bench->err);
    fail_none();
    return result;
}

START_TEST(a_copy_reports_its_progress_each_second) {
    static const int64_t writes_us[] = { 1000, 100000, 400000 };

    for (size_t i = 0; i < LENGTH(writes_us); i++) {
        autobench struct bench bench;
        struct listener listener = { .progress = { listen }, .last_us = BEGIN };
        const struct image_copy how = { .progress = &listener.progress };

        bench_new(&bench);
        ck_assert_int_eq(copy_by_clock(&bench, 16, writes_us[i], &how), 0);
        ck_assert_uint_ge(listener.reports, 1);
        ck_assert_int_le(listener.longest_us, 1000000);
        ck_assert_int_le(boottime.now_us - listener.last_us, 1000000);
        boottime.now_us = 0;
    }
}
END_TEST

START_TEST(a_copy_is_cancelled_at_any_point) {
    autobench struct bench bench;
    struct listener listener = { .progress = { listen }, .until = 3 };
    const struct image_copy how = { .progress = &listener.progress };

    bench_new(&bench);
    ck_assert_int_eq(copy_by_clock(&bench, 16, 300000, &how), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(listener.reports, 3);
    boottime.now_us = 0;
}
END_TEST

static bool until_five_seconds(const struct driver_fence *fence) {
    (void)fence;
    return boottime.now_us < BEGIN + 5000000;
}

START_TEST(a_copy_ends_with_the_lease) {
    autobench struct bench bench;
    const struct driver_fence fence = { .holds = until_five_seconds };
    const struct image_copy how = { .fence = &fence };

    bench_new(&bench);
    boottime.written = 0;
    ck_assert_int_eq(copy_by_clock(&bench, 32, 400000, &how), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_le(boottime.now_us, BEGIN + 5000000 + 400000);
    boottime.now_us = 0;
}
END_TEST

START_TEST(a_copy_keeps_to_its_rate) {
    static const int64_t rates[] = { MIB, 4 * MIB, 1000 };

    for (size_t i = 0; i < LENGTH(rates); i++) {
        autobench struct bench bench;
        struct listener listener = { .progress = { listen }, .last_us = BEGIN };
        const struct image_copy how = { .progress = &listener.progress,
                                        .bytes_per_second = rates[i] };
        int64_t mib = i == 2 ? 1 : 8, wanted_us = mib * MIB * 1000000 / rates[i];
        int64_t spent_us;

        bench_new(&bench);
        ck_assert_int_eq(copy_by_clock(&bench, mib, 1, &how), 0);
        spent_us = boottime.now_us - BEGIN;
        ck_assert_int_ge(spent_us, wanted_us);
        ck_assert_int_le(spent_us, wanted_us + 1000000);
        ck_assert_int_le(listener.longest_us, 1000000);
        boottime.now_us = 0;
    }
}
END_TEST

/* ---- late workers ---- */

struct lease {
    struct driver_fence fence;
    struct place *place;
    int left; /* the worker is paused at this look */
};

static bool loses_volume(const struct driver_fence *fence) {
    struct lease *lease = (struct lease *)(uintptr_t)fence;

    if (--lease->left == 0)
        ck_assert_int_eq(volume_file_rename(&lease->place->directory, lease->place->bench.arena,
                                            &lease->place->volume, "other",
                                            &lease->place->bench.err),
                         0);
    return true; /* and the pause came behind the look */
}

/* The volume got another name meanwhile: nothing is put under the old one, and the new one keeps
 * its content. */
START_TEST(a_late_revert_finds_nothing) {
    bool late = true;
    int n;

    for (n = 1; late; n++) {
        autoplace struct place place;
        struct lease lease = { { .holds = loses_volume }, &place, n };
        struct place worker;

        open_filled_place(&place, 0);
        prepare_snapshot(&place);
        worker = place;
        worker.volume.fence = &lease.fence;
        worker.volume.attempt = 2;
        revert(&worker);
        late = lease.left <= 0;
        if (late && lease.left < 0) /* it was renamed before the last look */
            ck_assert_int_eq(get_byte(&place, "volume-other"), 'b');
        if (late)
            ck_assert(!has(&place, FILE_NAME));
        ck_assert(!has(&place, "." FILE_NAME ".2.new"));
    }
    ck_assert_int_gt(n, 2);
}
END_TEST

CHECK_MAIN("snapshot calls", copies_survive_every_failure, shared_blocks_survive_every_failure,
           unsupported_file_system_calls_have_a_fallback, calls_refused_by_xfs_have_a_fallback,
           a_file_system_that_hides_its_holes_gets_them_back, below_a_guest_there_is_no_fallback,
           a_copy_is_flushed_before_it_is_named, a_reflink_is_flushed_before_it_is_named,
           a_copy_reports_its_progress_each_second, a_copy_is_cancelled_at_any_point,
           a_copy_ends_with_the_lease, a_copy_keeps_to_its_rate, a_late_revert_finds_nothing)
