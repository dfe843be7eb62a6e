/*
 * Filters in front of a volume_io: throttle, checksum, deadline.
 */
#include "common/clock.h"
#include "common/hex.h"
#include "data/checksum_io.h"
#include "data/deadline_io.h"
#include "data/throttle_io.h"
#include "tests/lib/fault_io.h"
#include "tests/unit/data/volume_data.h"

#include <nettle/sha2.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

/* The clock of throttles moves by their pauses alone. */
static int64_t boottime_us = 1000 * SECOND_US;

int clock_gettime(clockid_t id, struct timespec *now) {
    if (id != CLOCK_BOOTTIME)
        return (int)syscall(SYS_clock_gettime, id, now);
    *now = clock_timespec(boottime_us);
    return 0;
}

int nanosleep(const struct timespec *pause, struct timespec *left) {
    (void)left;
    boottime_us += pause->tv_sec * SECOND_US + pause->tv_nsec / 1000;
    return 0;
}

/* ---- throttle ---- */

struct queries {
    unsigned count, until; /* the n-th ends the wait; 0: none does */
    int64_t last_us, longest_us;
};

static int count_query(void *arg, struct error *err) {
    struct queries *queries = arg;

    if (queries->count > 0 && boottime_us - queries->last_us > queries->longest_us)
        queries->longest_us = boottime_us - queries->last_us;
    queries->last_us = boottime_us;
    return ++queries->count == queries->until ? error_set(err, ERROR_CONFLICT, "cancelled") : 0;
}

START_TEST(a_throttle_keeps_to_its_rate_for_reads_and_writes) {
    static char bytes[VOLUME_IO_MOST];
    struct queries queries = { 0 };
    const struct volume_io_wait wait = { count_query, &queries };
    autovolumeio struct volume_io *io = throttle_io_open(memory_volume(8 * MIB), MIB, &wait);
    struct error err = { 0 };
    int64_t begun_us = boottime_us;

    for (int64_t at = 0; at < io->size; at += MIB) {
        ck_assert_int_eq(volume_io_write(io, bytes, (size_t)MIB, at, &err), 0);
        ck_assert_int_eq(volume_io_read(io, bytes, (size_t)MIB, at, &err), 0);
    }
    ck_assert_int_ge(boottime_us - begun_us, 16 * SECOND_US);
    ck_assert_int_le(boottime_us - begun_us, 17 * SECOND_US);
    ck_assert_int_le(queries.longest_us, SECOND_US / 2);
}
END_TEST

START_TEST(a_throttle_keeps_to_its_rate_for_bytes_that_the_kernel_moves) {
    autovolumeio struct volume_io *to = memory_volume(8 * MIB);
    autovolumeio struct volume_io *io = throttle_io_open(memory_volume(8 * MIB), MIB, NULL);
    struct error err = { 0 };
    int64_t begun_us = boottime_us, at = 0, moved = 1;

    while (at < io->size && moved > 0) {
        moved = volume_io_send(io, to, at, io->size - at, &err);
        ck_assert_int_ge(moved, 0);
        at += moved;
    }
    ck_assert_int_ge(boottime_us - begun_us, at / MIB * SECOND_US);
}
END_TEST

START_TEST(a_pause_of_a_throttle_is_cancelled) {
    char bytes[4096] = { 0 };
    struct queries queries = { .until = 3 };
    const struct volume_io_wait wait = { count_query, &queries };
    autovolumeio struct volume_io *io = throttle_io_open(memory_volume(MIB), 1, &wait);
    struct error err = { 0 };
    int64_t begun_us = boottime_us;

    ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_le(boottime_us - begun_us, SECOND_US);
}
END_TEST

/* ---- checksum ---- */

/* As sha256sum and its kin print them of 100,000 letters a and as many zeros. */
static const struct {
    const char *algorithm, *sum;
} sums[] = {
    { "md5", "491da8fbbae83f654b9242acb082ece7" },
    { "sha1", "fec994a6c3ff1006b47060c3f84ed2a06a725bc1" },
    { "sha256", "25182fc18754f9e997b1234c2ef8caaeb21710be0cf4c54e5fec938e6bee1ab0" },
    { "sha384", "95d35b448d7a65f7e7862be5600e39d6e471f3d74d7e686199c9b59356856530"
                "688bda81722ee59af6a9068c097b7c74" },
    { "sha512", "2c1352602aa483cc4bd239bbfcc7fa84815b31422858bbe9517b82c0ab787485"
                "f3826fad619de031a3ddda414dfae6f2cbd01ccc5069dcf955035d97abf613fe" },
};

static struct volume_io *a_checksum(struct volume_io *next, const char *algorithm, bool padded) {
    struct error err = { 0 };
    struct volume_io *io = checksum_io_open(next, algorithm, padded, &err);

    ck_assert_msg(io != NULL, "%s", err.message);
    return io;
}

/* Zeros are read, too. */
START_TEST(a_checksum_is_that_of_all_bytes_read_in_order) {
    static unsigned char bytes[200000];

    for (size_t i = 0; i < LENGTH(sums); i++) {
        struct volume_io *memory = memory_volume(sizeof(bytes));
        autovolumeio struct volume_io *io = NULL;
        char found[CHECKSUM_IO_TEXT];
        struct volume_io_range data;
        struct error err = { 0 };

        memset(bytes, 'a', 100000);
        memset(bytes + 100000, 0, 100000);
        ck_assert_int_eq(volume_io_write(memory, bytes, 100000, 0, &err), 0);
        io = a_checksum(memory, sums[i].algorithm, false);
        ck_assert_int_eq(volume_io_find_data(io, 0, &data, &err), 0);
        ck_assert_int_eq(data.begin, 0);
        ck_assert_int_eq(data.end, io->size);
        for (int64_t at = 0; at < io->size; at += 65536)
            ck_assert_int_eq(volume_io_read(io, bytes,
                                            (size_t)(io->size - at < 65536 ? io->size - at : 65536),
                                            at, &err),
                             0);
        ck_assert_int_eq(checksum_io_get(io, found, &err), 0);
        ck_assert_str_eq(found, sums[i].sum);
    }
}
END_TEST

/* They are added by a thread, also where the reader leaves before the end. */
START_TEST(many_bytes_have_the_same_checksum) {
    static unsigned char bytes[VOLUME_IO_MOST];
    const int64_t size = 5 * MIB + 1000;

    for (int64_t end = size; end > 0; end -= 3 * MIB) {
        struct volume_io *memory = memory_volume(size);
        autovolumeio struct volume_io *io = NULL;
        char found[CHECKSUM_IO_TEXT], expected[2 * SHA512_DIGEST_SIZE + 1];
        unsigned char digest[SHA512_DIGEST_SIZE];
        struct error err = { 0 };
        struct sha512_ctx sum;

        for (int64_t at = 0; at < size; at += 65536)
            fill(memory, at, size - at < 65536 ? size - at : 65536, (unsigned char)(at / 65536));
        io = a_checksum(memory, "sha512", false);
        sha512_init(&sum);
        for (int64_t at = 0; at < end; at += MIB) {
            size_t piece = (size_t)(size - at < MIB ? size - at : MIB);

            ck_assert_int_eq(volume_io_read(io, bytes, piece, at, &err), 0);
            sha512_update(&sum, piece, bytes);
            memset(bytes, 0xff, sizeof(bytes)); /* the reader has its buffer for itself */
        }
        if (end < size)
            continue;
        sha512_digest(&sum, sizeof(digest), digest);
        hex_encode(digest, sizeof(digest), expected);
        ck_assert_int_eq(checksum_io_get(io, found, &err), 0);
        ck_assert_str_eq(found, expected);
    }
}
END_TEST

START_TEST(padding_is_no_part_of_a_checksum) {
    static unsigned char bytes[200000];
    autovolumeio struct volume_io *same = NULL, *io = NULL;
    struct volume_io *memory = memory_volume(sizeof(bytes));
    char expected[CHECKSUM_IO_TEXT], found[CHECKSUM_IO_TEXT];
    struct error err = { 0 };

    fill(memory, 0, 65536, 3);
    ck_assert_int_eq(volume_io_read(memory, bytes, 65536, 0, &err), 0);
    same = memory_volume(65536);
    ck_assert_int_eq(volume_io_write(same, bytes, 65536, 0, &err), 0);
    same = a_checksum(same, "sha512", false);
    ck_assert_int_eq(volume_io_read(same, bytes, 65536, 0, &err), 0);
    ck_assert_int_eq(checksum_io_get(same, expected, &err), 0);

    io = a_checksum(memory, "sha512", true);
    ck_assert_int_eq(checksum_io_get(io, found, &err), -1);
    ck_assert_int_eq(volume_io_read(io, bytes, 65536, 0, &err), 0);
    ck_assert_int_eq(checksum_io_get(io, found, &err), 0);
    ck_assert_str_eq(found, expected);
    ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes) - 65536, 65536, &err), 0);
    ck_assert_int_eq(checksum_io_get(io, found, &err), 0);
    ck_assert_str_eq(found, expected);
}
END_TEST

START_TEST(bytes_read_twice_or_left_out_have_no_checksum) {
    static const int64_t places[][2] = { { 0, 0 }, { 8192, 0 }, { 0, 8192 } };

    for (size_t i = 0; i < LENGTH(places); i++) {
        autovolumeio struct volume_io *io = a_checksum(memory_volume(16384), "sha256", false);
        char bytes[8192], found[CHECKSUM_IO_TEXT];
        struct error err = { 0 };
        bool complete = i == 2;

        for (size_t j = 0; j < 2; j++)
            ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), places[i][j], &err), 0);
        ck_assert_int_eq(checksum_io_get(io, found, &err), complete ? 0 : -1);
    }
}
END_TEST

/* The last bytes are not delivered. */
START_TEST(bytes_of_another_checksum_fail_their_last_read) {
    static const char *const expected[] = {
        "4FE7B59AF6DE3B665B67788CC2F99892AB827EFAE3A467342B3BB4E3BC8E5BFE", /* of zeros */
        "25182fc18754f9e997b1234c2ef8caaeb21710be0cf4c54e5fec938e6bee1ab0",
    };

    for (size_t i = 0; i < LENGTH(expected); i++) {
        struct error err = { 0 };
        struct volume_io *memory = memory_volume(16384);
        autovolumeio struct volume_io *io =
            checksum_io_open_expecting(memory, "sha256", expected[i], &err);
        char bytes[8192];

        ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), 0, &err), 0);
        ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), sizeof(bytes), &err),
                         i == 0 ? 0 : -1);
        ck_assert_int_eq(err.kind, i == 0 ? ERROR_NONE : ERROR_BACKEND);
        ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), 0, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
}
END_TEST

START_TEST(an_unknown_checksum_is_refused) {
    struct error err = { 0 };

    ck_assert_ptr_null(checksum_io_open(memory_volume(MIB), "md4", false, &err));
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
}
END_TEST

/* ---- deadline ---- */

#define LONG_MS ((int64_t)600000)

/* Long after its object is closed, a call that hung returns, and everything is released. */
static void end_late(struct fault_io_plan *plan) {
    ck_assert(!plan->closed);
    plan->released = true;
    while (!plan->closed)
        poll(NULL, 0, 1);
}

static int call(struct volume_io *io, enum fault_io_call kind, struct error *err) {
    struct volume_io_extent extent;
    static char bytes[4096];

    switch (kind) {
    case FAULT_IO_EXTENT:
        return volume_io_extent(io, 0, &extent, err);
    case FAULT_IO_READ:
        return volume_io_read(io, bytes, sizeof(bytes), 0, err);
    case FAULT_IO_WRITE:
        return volume_io_write(io, bytes, sizeof(bytes), 0, err);
    case FAULT_IO_ZERO:
        return volume_io_zero(io, 0, 4096, err);
    case FAULT_IO_DISCARD:
        return volume_io_discard(io, 0, 4096, err);
    default:
        return volume_io_flush(io, err);
    }
}

START_TEST(a_deadline_passes_calls_and_failures_on) {
    for (unsigned kind = 0; kind < FAULT_IO_CALLS; kind++) {
        static char bytes[4096], found[4096];
        struct fault_io_plan plan = { .call = kind, .action = FAULT_IO_FAIL, .nth = 2 };
        struct volume_io *io =
            deadline_io_open(fault_io_open(memory_volume(MIB), &plan), LONG_MS, NULL);
        struct error err = { 0 };

        ck_assert_int_eq(call(io, kind, &err), 0);
        ck_assert_int_eq(call(io, kind, &err), -1);
        ck_assert_str_eq(err.message, "an injected fault");
        memset(bytes, 'x', sizeof(bytes));
        plan.nth = 0;
        ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 8192, &err), 0);
        ck_assert_int_eq(volume_io_read(io, found, sizeof(found), 8192, &err), 0);
        ck_assert_mem_eq(found, bytes, sizeof(bytes));
        volume_io_close(io);
        while (!plan.closed)
            poll(NULL, 0, 1);
    }
}
END_TEST

START_TEST(a_call_that_hangs_ends_in_time_and_all_later_ones_at_once) {
    for (unsigned kind = 0; kind < FAULT_IO_CALLS; kind++) {
        struct fault_io_plan plan = { .call = kind, .action = FAULT_IO_HANG, .nth = 1 };
        struct volume_io *io = deadline_io_open(fault_io_open(memory_volume(MIB), &plan), 10, NULL);
        struct error err = { 0 };

        ck_assert_int_eq(call(io, kind, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        for (unsigned other = 0; other < FAULT_IO_CALLS; other++)
            ck_assert_int_eq(call(io, other, &err), -1);
        volume_io_close(io);
        end_late(&plan);
    }
}
END_TEST

static int refuse_wait(void *arg, struct error *err) {
    const struct fault_io_plan *plan = arg;

    return plan->hangs ? error_set(err, ERROR_CONFLICT, "cancelled") : 0;
}

START_TEST(the_wait_for_a_call_that_hangs_is_cancelled) {
    struct fault_io_plan plan = { .call = FAULT_IO_READ, .action = FAULT_IO_HANG, .nth = 1 };
    const struct volume_io_wait wait = { refuse_wait, &plan };
    struct volume_io *io =
        deadline_io_open(fault_io_open(memory_volume(MIB), &plan), LONG_MS, &wait);
    struct error err = { 0 };

    ck_assert_int_eq(call(io, FAULT_IO_READ, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    volume_io_close(io);
    end_late(&plan);
}
END_TEST

CHECK_MAIN("filters", a_throttle_keeps_to_its_rate_for_reads_and_writes,
           a_throttle_keeps_to_its_rate_for_bytes_that_the_kernel_moves,
           a_pause_of_a_throttle_is_cancelled, a_checksum_is_that_of_all_bytes_read_in_order,
           many_bytes_have_the_same_checksum, padding_is_no_part_of_a_checksum,
           bytes_read_twice_or_left_out_have_no_checksum,
           bytes_of_another_checksum_fail_their_last_read, an_unknown_checksum_is_refused,
           a_deadline_passes_calls_and_failures_on,
           a_call_that_hangs_ends_in_time_and_all_later_ones_at_once,
           the_wait_for_a_call_that_hangs_is_cancelled)
