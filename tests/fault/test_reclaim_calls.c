/*
 * Every system call fails in turn during a reclaim of a volume.  Whatever came of it, the content
 * of the volume is the same, and the same call succeeds in a world that works.
 */
#include "drivers/file/volume_file.h"

#include "tests/fault/place.h"

#include <stdlib.h>

#define MIB (INT64_C(1) << 20)

/* Letters and zeros; in qcow2 at the place of clusters, letters behind them that are never read. */
static void fill(struct place *place) {
    autoclose int fd = openat(place->directory.fd, FILE_NAME, O_RDWR | O_CLOEXEC);
    autofree char *bytes = malloc(8 * MIB);

    memset(bytes, 'a', (size_t)(8 * MIB));
    memset(bytes + 2 * MIB, 0, (size_t)(3 * MIB));
    ck_assert_int_eq(pwrite(fd, bytes, (size_t)(8 * MIB), 40 * MIB), 8 * MIB);
}

static bool is_whole(struct place *place) {
    autoclose int fd = openat(place->directory.fd, FILE_NAME, O_RDONLY | O_CLOEXEC);
    char letters[2], zero;

    ck_assert_int_eq(pread(fd, &letters[0], 1, 42 * MIB - 1), 1);
    ck_assert_int_eq(pread(fd, &zero, 1, 43 * MIB), 1);
    ck_assert_int_eq(pread(fd, &letters[1], 1, 45 * MIB), 1);
    return letters[0] == 'a' && letters[1] == 'a' && zero == 0;
}

static int64_t used(struct place *place) {
    int64_t bytes;

    ck_assert_int_eq(volume_file_get_usage(&place->directory, place->bench.arena, &place->volume,
                                           &bytes, &place->bench.err),
                     0);
    return bytes;
}

static int reclaim(struct place *place) {
    place->bench.err = (struct error){ .kind = ERROR_NONE };
    return volume_file_reclaim(&place->directory, place->bench.arena, &place->volume, NULL,
                               &place->bench.err);
}

/* Thin ones: raw, and qcow2 whose clusters were made at their places. */
static const size_t thin[] = { 0, 2 };

static void open_filled_place(struct place *place, size_t kind) {
    open_place(place, kind);
    ck_assert_int_eq(volume_file_create(&place->directory, place->bench.arena, &place->volume,
                                        &place->volume.format, &place->bench.err),
                     0);
    fill(place);
}

static bool survive(size_t kind, int n, int error) {
    autoplace struct place place;
    bool reached;
    int result;

    open_filled_place(&place, kind);
    fail_nth(n, error);
    result = reclaim(&place);
    reached = fault.countdown == 0;
    fail_none();
    ck_assert_msg(reached || result == 0, "%d: %s", n, place.bench.err.message);
    ck_assert(is_whole(&place));
    ck_assert_msg(reclaim(&place) == 0, "%d: %s", n, place.bench.err.message);
    ck_assert(is_whole(&place));
    ck_assert_int_lt(used(&place), 6 * MIB);
    return reached;
}

START_TEST(every_failure_leaves_the_volume_whole) {
    enum { MOST_CALLS = 3000 };

    for (size_t i = 0; i < LENGTH(thin); i++) {
        int n = 1 + (int)WALK_FIRST;

        for (; survive(thin[i], n, n % 2 ? EIO : ENOSPC); n += (int)WALK_STEP)
            ck_assert_int_lt(n, MOST_CALLS);
        ck_assert_int_gt(n, 10);
    }
}
END_TEST

START_TEST(unsupported_and_failed_calls_are_distinguished) {
    static const struct {
        int error;
        enum error_kind kind;
    } rows[] = { { EOPNOTSUPP, ERROR_BAD_REQUEST }, { ENOSPC, ERROR_BACKEND } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoplace struct place place;
        int64_t before;

        open_filled_place(&place, 0);
        before = used(&place);
        fail_all("fallocate", rows[i].error);
        ck_assert_int_eq(reclaim(&place), -1);
        ck_assert_int_eq(place.bench.err.kind, rows[i].kind);
        fail_none();
        ck_assert_int_eq(used(&place), before);
    }
}
END_TEST

/* A file system that does not report its holes has data everywhere. */
START_TEST(unreported_holes_are_read) {
    autoplace struct place place;

    open_filled_place(&place, 0);
    fail_all("lseek", EINVAL);
    ck_assert_msg(reclaim(&place) == 0, "%s", place.bench.err.message);
    fail_none();
    ck_assert(is_whole(&place));
    ck_assert_int_lt(used(&place), 6 * MIB);
}
END_TEST

struct lease {
    struct driver_fence fence;
    int left;
};

static bool ends(const struct driver_fence *fence) {
    return --((struct lease *)(uintptr_t)fence)->left > 0;
}

START_TEST(a_reclaim_ends_with_its_lease) {
    autoplace struct place place;
    struct lease lease = { { .holds = ends }, 1 };

    open_filled_place(&place, 0);
    place.volume.fence = &lease.fence;
    ck_assert_int_eq(reclaim(&place), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
    ck_assert(is_whole(&place));
    ck_assert_int_gt(used(&place), 7 * MIB);
}
END_TEST

CHECK_MAIN("reclaim calls", every_failure_leaves_the_volume_whole,
           unsupported_and_failed_calls_are_distinguished, unreported_holes_are_read,
           a_reclaim_ends_with_its_lease)
