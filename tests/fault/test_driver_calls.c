/*
 * Every system call of the file-based drivers fails in turn.  After each failure the same call,
 * repeated in a world that works, must end as if nothing had happened.
 */
#include "drivers/file/image.h"
#include "drivers/file/mounted_share.h"
#include "drivers/file/volume_file.h"
#include "tests/fault/place.h"

/* ---- places ---- */

static int create(struct place *place) {
    const char *format;

    return volume_file_create(&place->directory, place->bench.arena, &place->volume, &format,
                              &place->bench.err);
}

static int extend(struct place *place) {
    return (int)volume_file_extend(&place->directory, place->bench.arena, &place->volume, 2,
                                   &place->bench.err);
}

static int delete (struct place *place) {
    return volume_file_delete(&place->directory, place->bench.arena, &place->volume,
                              &place->bench.err);
}

static int64_t size_of(struct place *place) {
    int64_t bytes = -1;

    volume_file_get_size(&place->directory, place->bench.arena, &place->volume, &bytes,
                         &place->bench.err);
    return bytes;
}

/* Is there nothing, or a whole volume, or a file that the next create knows to be unfinished? */
static void assert_no_half_volume(struct place *place) {
    struct stat status;

    if (has(place, FILE_NAME)) {
        ck_assert_int_eq(fstatat(place->directory.fd, FILE_NAME, &status, 0), 0);
        ck_assert(status.st_size == 0 || size_of(place) == GIB);
    }
}

#define MOST_CALLS 100

/* Each kind, and each again where the order of metadata is kept, and where files have no name until
 * they are made. */
START_TEST(create_survives_every_failure) {
    for (size_t kind = 0; kind < 4 * LENGTH(kinds); kind++) {
        int n = 1, result;

        for (bool reached = true; reached; n++) {
            autoplace struct place place;

            open_place(&place, kind % LENGTH(kinds));
            place.directory.keeps_order = kind / LENGTH(kinds) % 2;
            place.directory.keeps_unnamed = kind / LENGTH(kinds) / 2;
            fail_nth(n, EIO);
            result = create(&place);
            reached = fault.countdown == 0;
            fail_none();
            ck_assert_msg(reached || result == 0, "%d: %s", n, place.bench.err.message);
            assert_no_half_volume(&place);
            ck_assert_msg(create(&place) == 0, "%d: %s", n, place.bench.err.message);
            ck_assert_int_eq(size_of(&place), GIB);
            ck_assert(!has(&place, "." FILE_NAME ".new"));
            ck_assert_int_lt(n, MOST_CALLS);
        }
        ck_assert_int_gt(n, 4);
    }
}
END_TEST

/* A flush that failed is repeated with a change, as the kernel has forgotten it. */
START_TEST(a_name_without_a_flushed_file_is_flushed_by_the_next_create) {
    autoplace struct place place;

    open_place(&place, 0);
    place.directory.keeps_unnamed = true;
    fail_all("fsync", EIO);
    ck_assert_int_eq(create(&place), -1);
    ck_assert(has(&place, FILE_NAME));
    fail_all("fchmod", EIO);
    ck_assert_int_eq(create(&place), -1);
    fail_none();
    ck_assert_int_eq(create(&place), 0);
    ck_assert_int_eq(size_of(&place), GIB);
}
END_TEST

/* Of a deleted volume: the power was lost behind the name and before the flush. */
START_TEST(a_name_that_leads_to_data_is_not_accepted) {
    autoplace struct place place;
    autoclose int fd = -1;

    open_place(&place, 0);
    place.directory.keeps_unnamed = true;
    ck_assert_int_eq(create(&place), 0);
    ck_assert_int_eq(create(&place), 0);
    fd = openat(place.directory.fd, FILE_NAME, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, "secret", 6, 1 << 20), 6);
    for (place.volume.attempt = 1; place.volume.attempt <= 2; place.volume.attempt++) {
        ck_assert_int_eq(create(&place), -1);
        ck_assert(strstr(place.bench.err.message, "with data"));
        ck_assert_int_eq(size_of(&place), GIB);
    }
}
END_TEST

START_TEST(a_late_create_keeps_the_mode_of_a_live_file) {
    static const struct driver_fence lost = { .holds = never_holds };
    autoplace struct place place;
    struct stat status;

    open_place(&place, 0);
    place.directory.keeps_unnamed = true;
    ck_assert_int_eq(create(&place), 0);
    ck_assert_int_eq(fchmodat(place.directory.fd, FILE_NAME, 0440, 0), 0);
    place.volume.fence = &lost;
    ck_assert_int_eq(create(&place), -1);
    ck_assert_int_eq(fstatat(place.directory.fd, FILE_NAME, &status, 0), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0440);
}
END_TEST

START_TEST(extend_survives_every_failure) {
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        int n = 1;

        for (bool reached = true; reached; n++) {
            autoplace struct place place;
            int64_t bytes;
            int result;

            open_place(&place, kind);
            ck_assert_int_eq(create(&place), 0);
            fail_nth(n, EIO);
            result = extend(&place);
            reached = fault.countdown == 0;
            fail_none();
            bytes = size_of(&place);
            ck_assert(result == DRIVER_FAILED || result == DRIVER_DONE);
            ck_assert(bytes == 2 * GIB || (bytes == GIB && result == DRIVER_FAILED));
            ck_assert_int_eq(extend(&place), DRIVER_DONE);
            ck_assert_int_eq(size_of(&place), 2 * GIB);
            ck_assert_int_lt(n, MOST_CALLS);
        }
        ck_assert_int_gt(n, 4);
    }
}
END_TEST

/* As a guest or a worker that died has made it: possibly in memory only. */
static void grow_elsewhere(struct place *place, size_t kind) {
    autoclose int fd = openat(place->directory.fd, FILE_NAME, O_RDWR | O_CLOEXEC);

    if (kind < 2)
        ck_assert_int_eq(ftruncate(fd, 2 * GIB), 0);
    else
        ck_assert_int_eq(BENCH_RUN("qemu-img", "resize", "-q", "-f", "qcow2",
                                   bench_path(&place->bench, FILE_NAME), "2G"),
                         0);
}

START_TEST(no_size_is_reported_before_it_is_flushed) {
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        autoplace struct place place;

        open_place(&place, kind);
        ck_assert_int_eq(create(&place), 0);
        grow_elsewhere(&place, kind);
        fail_all("fsync", EIO);
        ck_assert_int_eq(extend(&place), DRIVER_FAILED);
        ck_assert_ptr_nonnull(strstr(place.bench.err.message, "flushing the file"));
        ck_assert_int_eq(size_of(&place), -1);
        ck_assert_ptr_nonnull(strstr(place.bench.err.message, "flushing the file"));
        fail_none();
        ck_assert_int_eq(extend(&place), DRIVER_DONE);
        ck_assert_int_eq(size_of(&place), 2 * GIB);
    }
}
END_TEST

START_TEST(a_header_that_is_not_on_the_disk_is_not_trusted) {
    autoplace struct place place;
    autoclose int fd = -1;

    open_place(&place, 2);
    ck_assert_int_eq(create(&place), 0);
    fd = openat(place.directory.fd, FILE_NAME, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(pread(fd, disk.size, sizeof(disk.size), 24), 8);
    grow_elsewhere(&place, 2);
    disk.behind = true;
    ck_assert_int_eq(size_of(&place), GIB);
    grow_elsewhere(&place, 2);
    disk.behind = true;
    ck_assert_int_eq(extend(&place), DRIVER_DONE);
    ck_assert(!disk.behind);
    ck_assert_int_eq(size_of(&place), 2 * GIB);
}
END_TEST

/* Made and named without a flush of its own, so the failure is that of the directory's flush. */
START_TEST(a_length_is_flushed_with_the_name_where_the_order_of_both_is_kept) {
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        autoplace struct place place;

        open_place(&place, kind);
        place.directory.keeps_order = true;
        fail_all("fsync", EIO);
        ck_assert_int_eq(create(&place), -1);
        fail_none();
        ck_assert_int_eq(has(&place, FILE_NAME), !kinds[kind].qcow2);
        ck_assert_int_eq(create(&place), 0);
        ck_assert_int_eq(size_of(&place), GIB);
    }
}
END_TEST

START_TEST(written_zeros_are_flushed_before_the_name) {
    autoplace struct place place;

    open_place(&place, 1);
    place.directory.keeps_order = true;
    fault.no_allocation = true;
    fail_all("fsync", EIO);
    ck_assert_int_eq(create(&place), -1);
    fail_none();
    fault.no_allocation = false;
    ck_assert(!has(&place, FILE_NAME));
    ck_assert(!has(&place, "." FILE_NAME ".new"));
}
END_TEST

START_TEST(a_new_file_that_cannot_be_flushed_is_removed) {
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        autoplace struct place place;

        open_place(&place, kind);
        fail_all("fsync", EIO);
        ck_assert_int_eq(create(&place), -1);
        fail_none();
        ck_assert(!has(&place, FILE_NAME));
        ck_assert(!has(&place, "." FILE_NAME ".new"));
    }
}
END_TEST

START_TEST(a_new_directory_is_there_when_its_name_is_flushed) {
    autoplace struct place place;
    const char *path;

    open_place(&place, 0);
    path = bench_path(&place.bench, "a/b");
    fail_all("fsync", EIO);
    ck_assert_int_eq(directory_make(path, 0700, &place.bench.err), -1);
    fail_none();
    ck_assert(!bench_has(&place.bench, "a"));
    ck_assert_int_eq(directory_make(path, 0700, &place.bench.err), 0);
}
END_TEST

/* ---- late workers ---- */

struct lease {
    struct driver_fence fence;
    struct place *place;
    int left;    /* the worker is paused at this look, */
    bool behind; /* right behind it instead of in front */
};

/* Meanwhile another worker has ended the create, and the volume was deleted. */
static bool lease_holds(const struct driver_fence *fence) {
    struct lease *lease = (struct lease *)(uintptr_t)fence;

    if (--lease->left == 0)
        ck_assert_int_eq(delete (lease->place), 0);
    return lease->left > 0 || (lease->left == 0 && lease->behind);
}

/* Was it late, and did it leave its file? */
static bool create_late(struct place *place, struct lease *lease, unsigned attempt,
                        bool *ret_left) {
    struct driver_volume volume = place->volume;
    const char *format;
    int result;

    volume.fence = &lease->fence;
    volume.attempt = attempt;
    place->volume.provider_location = place->directory.path; /* as the other one has left it */
    result = volume_file_create(&place->directory, place->bench.arena, &volume, &format,
                                &place->bench.err);
    ck_assert(!has(place, "." FILE_NAME ".new"));
    *ret_left = has(place, FILE_NAME);
    if (lease->left > 0 || (lease->left == 0 && lease->behind)) {
        ck_assert_int_eq(result, 0);
        return false;
    }
    ck_assert_int_eq(result, -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_CONFLICT);
    return true;
}

/* Only a pause between the last check and the name leaves one, and then the caller gets an
 * error. */
START_TEST(a_late_create_leaves_no_file_of_a_deleted_volume) {
    for (size_t kind = 0; kind < LENGTH(kinds); kind++)
        for (int behind = 0; behind < 2; behind++) {
            bool late = true, left = false;
            int n, files = 0;

            for (n = 1; late; n++) {
                autoplace struct place place;
                struct lease lease = { { .holds = lease_holds }, &place, n, behind };

                open_place(&place, kind);
                late = create_late(&place, &lease, 2, &left);
                files += late && left;
            }
            ck_assert_int_eq(n, behind ? 4 : 5); /* three looks */
            ck_assert_int_eq(files, behind);
        }
}
END_TEST

/* It has one look, right before the name; the caller looks at the rows behind it. */
START_TEST(a_late_create_without_a_name_leaves_nothing) {
    autoplace struct place place;
    struct lease lease = { { .holds = lease_holds }, &place, 1, false };
    bool left;

    open_place(&place, 0);
    place.directory.keeps_unnamed = true;
    ck_assert(create_late(&place, &lease, 1, &left));
    ck_assert(!left);
}
END_TEST

/* Two workers of one create: the one that comes second finds the other's file and keeps it. */
static bool rival_creates(const struct driver_fence *fence) {
    const struct lease *lease = (const struct lease *)fence;

    ck_assert_int_eq(create(lease->place), 0);
    return true;
}

START_TEST(of_two_that_create_both_end_with_one_file) {
    for (size_t kind = 0; kind < 2 * LENGTH(kinds); kind++) {
        bool unnamed = kind >= LENGTH(kinds);
        autoplace struct place place;
        struct lease lease = { .fence = { .holds = rival_creates }, .place = &place };
        struct driver_volume volume;
        const char *format;

        open_place(&place, kind % LENGTH(kinds));
        place.directory.keeps_unnamed = unnamed;
        volume = place.volume;
        volume.fence = &lease.fence;
        volume.attempt = unnamed ? 1 : 2;
        ck_assert_int_eq(volume_file_create(&place.directory, place.bench.arena, &volume, &format,
                                            &place.bench.err),
                         0);
        ck_assert_int_eq(size_of(&place), GIB);
        ck_assert(!has(&place, "." FILE_NAME ".2.new"));
    }
}
END_TEST

/* Another worker may be about to fill it, or have filled it by now: it is never removed. */
START_TEST(an_empty_file_is_completed_in_place) {
    autoplace struct place place;

    open_place(&place, 0);
    bench_write(&place.bench, FILE_NAME, "", 0600);
    fail_all("unlinkat", EROFS);
    ck_assert_int_eq(create(&place), 0);
    fail_none();
    ck_assert_int_eq(size_of(&place), GIB);
}
END_TEST

static void ignore(void *arg, const char *name_id, int64_t bytes) {
    (void)arg, (void)name_id, (void)bytes;
}

START_TEST(an_incomplete_list_is_a_failure) {
    autoplace struct place place;

    open_place(&place, 0);
    fail_all("readdir", EIO);
    ck_assert_int_eq(volume_file_list(&place.directory, ignore, NULL, &place.bench.err), -1);
    fail_none();
    ck_assert_int_eq(volume_file_list(&place.directory, ignore, NULL, &place.bench.err), 0);
}
END_TEST

START_TEST(delete_survives_every_failure) {
    int n = 1;

    for (bool reached = true; reached; n++) {
        autoplace struct place place;
        int result;

        open_place(&place, 0);
        ck_assert_int_eq(create(&place), 0);
        fail_nth(n, EIO);
        result = delete (&place);
        reached = fault.countdown == 0;
        fail_none();
        ck_assert_int_eq(result, reached ? -1 : 0);
        ck_assert_int_eq(delete (&place), 0);
        ck_assert(!has(&place, FILE_NAME));
    }
    ck_assert_int_eq(
        n, 33); /* the info, the lock of the volume (4), the info again, the locks of the image (7),
                   the name (2), 15 of half-made ones and the look for more, the flush, and none */
}
END_TEST

START_TEST(a_file_system_without_allocation_gets_zeros) {
    autobench struct bench bench;
    autoclose int fd = -1;
    struct stat status;

    bench_new(&bench);
    fd = open(bench_path(&bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fault.no_allocation = true;
    ck_assert_int_eq(image_grow_raw(fd, 3000000, false, NULL, &bench.err), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 3000000);
    ck_assert_int_ge(status.st_blocks * 512, 3000000);
}
END_TEST

/* Nothing is written: NFS 4.2 allocates without sending zeros over the network. */
START_TEST(a_file_system_that_allocates_with_the_length_only_is_called_so) {
    autobench struct bench bench;
    autoclose int fd = -1;
    struct stat status;

    bench_new(&bench);
    fd = open(bench_path(&bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fault.no_keeping = true;
    fail_all("pwrite", EIO);
    ck_assert_int_eq(image_grow_raw(fd, 1000000, false, NULL, &bench.err), 0);
    ck_assert_int_eq(image_grow_raw(fd, 3000000, false, NULL, &bench.err), 0);
    fail_all("fallocate", ENOSPC);
    ck_assert_int_eq(image_grow_raw(fd, 4000000, false, NULL, &bench.err), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "No space left"));
    fail_none();
    fault.no_keeping = false;
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 3000000);
    ck_assert_int_ge(status.st_blocks * 512, 3000000);
}
END_TEST

/* No allocation at all, and of the writes in its place the n-th fails: with EINTR it is repeated.
 */
START_TEST(zeros_that_do_not_fit_are_removed) {
    autobench struct bench bench;
    autoclose int fd = -1;
    struct stat status;

    bench_new(&bench);
    fd = open(bench_path(&bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fault.no_allocation = true;
    fail_nth(2, EINTR); /* behind fstat */
    ck_assert_int_eq(image_grow_raw(fd, 1000000, false, NULL, &bench.err), 0);
    fail_nth(3, ENOSPC);
    ck_assert_int_eq(image_grow_raw(fd, 2000000, false, NULL, &bench.err), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "No space left"));
    fail_none();
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 1000000);
    fault.no_allocation = false;
    fail_nth(2, EINTR);
    ck_assert_int_eq(image_grow_raw(fd, 2000000, false, NULL, &bench.err), 0);
    fail_none();
}
END_TEST

START_TEST(growth_that_cannot_be_undone_is_reported) {
    autobench struct bench bench;
    autoclose int fd = -1;

    bench_new(&bench);
    fd = open(bench_path(&bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fault.no_allocation = true;
    fail_all("pwrite", ENOSPC);
    fault.also = "ftruncate";
    ck_assert_int_eq(image_grow_raw(fd, 1000000, false, NULL, &bench.err), -1);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "the file stays partly grown: "));
    fail_none();
}
END_TEST

struct rival {
    struct driver_fence fence;
    int fd;
    off_t bytes;
};

/* Another worker gets everything done while this one is on its way to the side effect. */
static bool rival_grows(const struct driver_fence *fence) {
    const struct rival *rival = (const struct rival *)fence;

    ck_assert_int_eq(ftruncate(rival->fd, rival->bytes), 0);
    return true;
}

START_TEST(a_late_worker_never_shrinks) {
    for (int allocation = 0; allocation < 2; allocation++) {
        autobench struct bench bench;
        autoclose int fd = -1;
        struct rival rival = { .fence = { .holds = rival_grows }, .bytes = 3 * GIB };
        struct stat status;

        bench_new(&bench);
        fd = rival.fd = open(bench_path(&bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        fault.no_allocation = allocation == 0;
        ck_assert_int_eq(image_grow_raw(fd, GIB, true, &rival.fence, &bench.err), 0);
        ck_assert_int_eq(fstat(fd, &status), 0);
        ck_assert_int_eq(status.st_size, 3 * GIB);
        fault.no_allocation = false;
    }
}
END_TEST

static bool broken(const struct driver_fence *fence) {
    (void)fence;
    return false;
}

START_TEST(a_worker_without_its_lease_changes_nothing) {
    const struct driver_fence fence = { .holds = broken };
    autobench struct bench bench;
    autoclose int fd = -1;
    struct stat status;

    bench_new(&bench);
    fd = open(bench_path(&bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (int sparse = 0; sparse < 2; sparse++) {
        ck_assert_int_eq(image_grow_raw(fd, GIB, sparse, &fence, &bench.err), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
        ck_assert_int_eq(fstat(fd, &status), 0);
        ck_assert_int_eq(status.st_size + status.st_blocks, 0);
    }
}
END_TEST

/* ---- zeros under a lease ---- */

#define CHUNK   (INT64_C(1) << 18)
#define WRITES  32
#define BEGIN   INT64_C(1000000)
#define EXPIRES (BEGIN + 5000000)

struct leased {
    struct driver_fence fence;
    unsigned queried;
};

static bool is_leased(const struct driver_fence *fence) {
    ((struct leased *)(uintptr_t)fence)->queried++;
    return boottime.now_us < EXPIRES;
}

static int write_under_lease(struct bench *bench, struct leased *leased, int64_t write_us,
                             unsigned pause_at) {
    autoclose int fd = -1;
    int result;

    bench_new(bench);
    fd = open(bench_path(bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    *leased = (struct leased){ .fence = { .holds = is_leased } };
    boottime.now_us = BEGIN;
    boottime.write_us = write_us;
    boottime.pause_us = 60000000;
    boottime.pause_at = pause_at;
    boottime.written = 0;
    fault.no_allocation = true;
    result = image_grow_raw(fd, WRITES * CHUNK, false, &leased->fence, &bench->err);
    fault.no_allocation = false;
    boottime.now_us = 0;
    return result;
}

static bool always(const struct driver_fence *fence) {
    (void)fence;
    return true;
}

static bool may_not_take_long(const struct driver_fence *fence) {
    (void)fence;
    return false;
}

START_TEST(many_zeros_are_written_only_by_a_worker_for_that) {
    static const struct driver_fence fence = { .holds = always,
                                               .may_take_long = may_not_take_long };
    autobench struct bench bench;
    autoclose int fd = -1;
    struct stat status;

    bench_new(&bench);
    fd = open(bench_path(&bench, "image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fault.no_allocation = true;
    ck_assert_int_eq(image_grow_raw(fd, 1000000, false, &fence, &bench.err), 0);
    ck_assert_int_eq(image_grow_raw(fd, GIB, false, &fence, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BUSY);
    ck_assert_int_eq(image_fill_raw(fd, GIB, false, false, &fence, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BUSY);
    fault.no_allocation = false;
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 1000000);
}
END_TEST

START_TEST(writing_zeros_checks_the_lease_periodically) {
    static const struct {
        int64_t write_us;
        unsigned queried;
    } rows[] = { { 1000, 2 }, { 10000, 5 }, { 100000, WRITES + 1 } };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autobench struct bench bench;
        struct leased leased;

        ck_assert_int_eq(write_under_lease(&bench, &leased, rows[i].write_us, 0), 0);
        ck_assert_uint_eq(boottime.written, WRITES);
        ck_assert_uint_eq(leased.queried, rows[i].queried);
    }
}
END_TEST

START_TEST(writing_zeros_ends_with_the_lease) {
    static const struct {
        int64_t write_us;
        unsigned pause_at, written;
    } rows[] = {
        { 1000, 1, 1 }, /* a pause anywhere: not one write more */
        { 1000, 7, 7 },     { 1000, WRITES - 1, WRITES - 1 },
        { 60000000, 0, 1 }, /* a disk that hangs */
        { 500000, 0, 10 },
    };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autobench struct bench bench;
        struct leased leased;

        ck_assert_int_eq(write_under_lease(&bench, &leased, rows[i].write_us, rows[i].pause_at),
                         -1);
        ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
        ck_assert_uint_eq(boottime.written, rows[i].written);
    }
}
END_TEST

START_TEST(a_file_system_without_that_rename_gets_a_link) {
    autoplace struct place place;
    struct stat status;

    open_place(&place, 1);
    fail_all("renameat2", EINVAL);
    ck_assert_msg(create(&place) == 0, "%s", place.bench.err.message);
    fail_none();
    ck_assert_int_eq(fstatat(place.directory.fd, FILE_NAME, &status, 0), 0);
    ck_assert_uint_eq(status.st_nlink, 1);
    ck_assert_int_eq(size_of(&place), GIB);
}
END_TEST

/* ---- rename ---- */

#define NEW_NAME "volume-new"

static int rename_to(struct place *place, const char *name_id) {
    return volume_file_rename(&place->directory, place->bench.arena, &place->volume, name_id,
                              &place->bench.err);
}

static void assert_renamed(struct place *place) {
    struct stat status;

    ck_assert(!has(place, FILE_NAME));
    ck_assert_int_eq(fstatat(place->directory.fd, NEW_NAME, &status, 0), 0);
    ck_assert_uint_eq(status.st_nlink, 1);
}

START_TEST(rename_survives_every_failure) {
    int n = 1;

    for (bool reached = true; reached; n++) {
        autoplace struct place place;
        int result;

        open_place(&place, 0);
        ck_assert_int_eq(create(&place), 0);
        fail_nth(n, EIO);
        result = rename_to(&place, "new");
        reached = fault.countdown == 0;
        fail_none();
        ck_assert_int_eq(result, reached ? -1 : 0);
        ck_assert_int_eq(rename_to(&place, "new"), 0);
        assert_renamed(&place);
    }
    /* both infos, 15 half-made ones, the list of all infos, the name, the flush, and none */
    ck_assert_int_eq(n, 27);
}
END_TEST

/* With a link it has both names for a moment: the next worker goes on there. */
START_TEST(a_rename_by_a_link_may_stop_half_way) {
    autoplace struct place place;

    open_place(&place, 0);
    ck_assert_int_eq(create(&place), 0);
    ck_assert_int_eq(linkat(place.directory.fd, FILE_NAME, place.directory.fd, NEW_NAME, 0), 0);
    for (int without = 0; without <= 1; without++) {
        if (without)
            fail_all("renameat2", EINVAL);
        ck_assert_msg(rename_to(&place, "new") == 0, "%s", place.bench.err.message);
        fail_none();
        assert_renamed(&place);
        ck_assert_int_eq(linkat(place.directory.fd, NEW_NAME, place.directory.fd, FILE_NAME, 0), 0);
    }
    fail_all("unlinkat", EIO);
    ck_assert_int_eq(rename_to(&place, "new"), -1);
    fail_none();
    ck_assert_int_eq(rename_to(&place, "new"), 0);
    assert_renamed(&place);
}
END_TEST

START_TEST(a_rename_by_a_link_replaces_nothing) {
    autoplace struct place place;

    open_place(&place, 0);
    ck_assert_int_eq(create(&place), 0);
    fail_all("renameat2", EINVAL);
    ck_assert_int_eq(rename_to(&place, "new"), 0);
    assert_renamed(&place);
    fail_none();
    ck_assert_int_eq(create(&place), 0);
    fail_all("renameat2", EINVAL);
    ck_assert_int_eq(rename_to(&place, "new"), -1);
    fail_none();
    ck_assert(has(&place, FILE_NAME) && has(&place, NEW_NAME));
}
END_TEST

START_TEST(an_open_directory_that_cannot_be_replaced_stays) {
    autoplace struct place place;

    open_place(&place, 0);
    fail_all("dup3", EBADF);
    ck_assert_int_eq(directory_reopen(&place.directory, &place.bench.err), -1);
    fail_none();
    ck_assert_int_eq(create(&place), 0);
}
END_TEST

/* ---- the right directory ---- */

static int knows(const struct driver_backend *backend, const char *location, const char *name_id) {
    const struct driver_volume *volume = backend->has_volume_arg;

    (void)location;
    return volume->provider_location && (!name_id || strcmp(name_id, volume->name_id) == 0);
}

/* A share that is full, or cannot be written for now, is still where its volumes are. */
START_TEST(a_directory_without_a_marker_is_recognized_by_its_volumes) {
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;

    bench_new(&bench);
    bench_configure(&bench, &file_driver, NULL);
    bench.backend.has_volume = knows;
    bench.backend.has_volume_arg = &volume;
    fail_all("fsync", ENOSPC);
    ck_assert_int_eq(bench_try_open(&bench), -1); /* nothing proves that it is the right one */
    fail_none();
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    volume.provider_location = "recorded";
    file_driver.close(bench.handle);
    bench.handle = NULL;
    ck_assert_int_eq(unlink(bench_path(&bench, "volumes/.scoria-" BACKEND)), 0);
    fail_all("fsync", ENOSPC);
    ck_assert_msg(bench_try_open(&bench) == 0, "%s", bench.err.message);
    fail_none();
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
}
END_TEST

START_TEST(lack_of_space_for_a_snapshot_below_a_guest_names_the_directory) {
    static const char *const overlays[] = { "file_snapshot_overlays=true", NULL };
    const struct driver_snapshot snapshot = { .id = "s", .name_id = "s", .size_gb = 1 };
    struct driver_volume volume = A_VOLUME;
    struct driver_assist files;
    autobench struct bench bench;

    bench_new(&bench);
    bench_configure(&bench, &file_driver, overlays);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    volume.provider_location = "recorded";
    volume.attached = true;
    fail_all("fsync", ENOSPC);
    ck_assert_int_eq(file_driver.prepare_assist(bench.handle, bench.arena, &volume, &snapshot,
                                                false, &files, &bench.err),
                     -1);
    fail_none();
    ck_assert_ptr_nonnull(strstr(bench.err.message, "No space left"));
    ck_assert_ptr_nonnull(strstr(bench.err.message, bench_path(&bench, "volumes")));
}
END_TEST

/* ---- dead mounts ---- */

START_TEST(a_dead_mount_is_replaced) {
    static const char *const options[] = { "nas_host=srv", "nas_share_path=/x",
                                           "nfs_mount_attempts=1", NULL };
    autobench struct bench bench;
    struct driver_volume volume = A_VOLUME;
    struct driver_pool *pools;

    bench_new(&bench);
    bench_add_mounts(&bench, "nfs4");
    bench_configure_shares(&bench, &nfs_driver, options);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    unlink(bench_path(&bench, "calls"));

    /* Dead in every way: detached, mounted again, opened again below the same descriptor. */
    fail_all("stat", ESTALE);
    fault.also = "fstatvfs";
    ck_assert_int_eq(nfs_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), -1);
    fail_none();
    ck_assert_ptr_nonnull(strstr(bench_read(&bench, "calls"), "umount -l "));
    ck_assert_ptr_nonnull(strstr(bench_read(&bench, "calls"), "-t nfs "));
    ck_assert_int_eq(bench_size(&bench, &volume), GIB);
    ck_assert_int_eq(nfs_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
    json_decref(pools->capabilities);
}
END_TEST

START_TEST(a_dead_mount_that_stays_is_not_used) {
    static const char *const options[] = { "nas_host=srv", "nas_share_path=/x", NULL };
    autobench struct bench bench;
    struct driver_pool *pools;

    bench_new(&bench);
    bench_add_mounts(&bench, "nfs4");
    bench_configure_shares(&bench, &nfs_driver, options);
    ck_assert_int_eq(bench_try_open(&bench), 0);
    bench_write(&bench, "busy", "", 0600);
    fail_all("stat", ENOTCONN);
    fault.also = "fstatvfs";
    ck_assert_int_eq(nfs_driver.get_pools(bench.handle, bench.arena, &pools, &bench.err), -1);
    fail_none();
}
END_TEST

CHECK_MAIN("driver calls", create_survives_every_failure, extend_survives_every_failure,
           delete_survives_every_failure, no_size_is_reported_before_it_is_flushed,
           a_header_that_is_not_on_the_disk_is_not_trusted,
           a_length_is_flushed_with_the_name_where_the_order_of_both_is_kept,
           written_zeros_are_flushed_before_the_name, a_new_file_that_cannot_be_flushed_is_removed,
           a_new_directory_is_there_when_its_name_is_flushed,
           a_name_without_a_flushed_file_is_flushed_by_the_next_create,
           a_name_that_leads_to_data_is_not_accepted, a_late_create_keeps_the_mode_of_a_live_file,
           a_late_create_leaves_no_file_of_a_deleted_volume,
           a_late_create_without_a_name_leaves_nothing, of_two_that_create_both_end_with_one_file,
           an_empty_file_is_completed_in_place, an_incomplete_list_is_a_failure,
           a_file_system_without_allocation_gets_zeros,
           a_file_system_that_allocates_with_the_length_only_is_called_so,
           zeros_that_do_not_fit_are_removed, a_late_worker_never_shrinks,
           a_worker_without_its_lease_changes_nothing,
           many_zeros_are_written_only_by_a_worker_for_that,
           writing_zeros_checks_the_lease_periodically, writing_zeros_ends_with_the_lease,
           a_file_system_without_that_rename_gets_a_link, rename_survives_every_failure,
           a_rename_by_a_link_may_stop_half_way, a_rename_by_a_link_replaces_nothing,
           an_open_directory_that_cannot_be_replaced_stays,
           growth_that_cannot_be_undone_is_reported,
           a_directory_without_a_marker_is_recognized_by_its_volumes,
           lack_of_space_for_a_snapshot_below_a_guest_names_the_directory, a_dead_mount_is_replaced,
           a_dead_mount_that_stays_is_not_used)
