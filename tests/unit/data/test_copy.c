#include "data/copy.h"

#include "data/deadline_io.h"
#include "data/throttle_io.h"
#include "tests/lib/fault_io.h"
#include "tests/unit/data/volume_data.h"

#include <poll.h>

#define SIZE (3 * MIB + 300)

/* Data at the start, across blocks, a small piece alone, and at the end. */
static struct volume_io *a_source(void) {
    struct volume_io *io = memory_volume(SIZE);

    fill(io, 0, 4 * KIB, 1);
    fill(io, MIB - 8 * KIB, 200 * KIB, 2);
    fill(io, 2 * MIB + 64 * KIB, 100, 3);
    fill(io, SIZE - 1000, 1000, 4);
    return io;
}

/* What a copy reported, and its cancellation. */
struct listener {
    unsigned checks, reports, records;
    unsigned refused_check, cancelled_report; /* the n-th; 0: none */
    bool fenced;                              /* refused once, it stays refused */
    struct copy_position first, last;
    struct fault_io_plan *plan; /* of the target: no change follows a refusal */
    unsigned changes;           /* of the target at the refusal */
};

static unsigned changes_of(const struct fault_io_plan *plan) {
    return plan->counts[FAULT_IO_WRITE] + plan->counts[FAULT_IO_ZERO] +
           plan->counts[FAULT_IO_FLUSH];
}

static int listen_may(void *arg, struct error *err) {
    struct listener *listener = arg;

    if (++listener->checks != listener->refused_check)
        return 0;
    listener->changes = listener->plan ? changes_of(listener->plan) : 0;
    return error_set(err, ERROR_CONFLICT, "another worker has the work");
}

static int listen_report(void *arg, int64_t done, int64_t all, struct error *err) {
    struct listener *listener = arg;

    ck_assert_int_le(done, all);
    return ++listener->reports == listener->cancelled_report
               ? error_set(err, ERROR_CONFLICT, "cancelled")
               : 0;
}

static int listen_record(void *arg, const struct copy_position *position, struct error *err) {
    struct listener *listener = arg;

    (void)err;
    ck_assert_int_gt(position->at, listener->last.at);
    if (listener->records++ == 0)
        listener->first = *position;
    listener->last = *position;
    return 0;
}

static const struct copy_position beginning;

static struct copy a_copy(struct volume_io *from, struct volume_io *to, struct listener *listener) {
    return (struct copy){ .from = from,
                          .to = to,
                          .verify = true,
                          .may = listen_may,
                          .report = listen_report,
                          .record = listen_record,
                          .record_bytes = MIB,
                          .arg = listener };
}

static void fill_all(struct volume_io *io) {
    fill(io, 0, io->size, 99);
}

START_TEST(a_copy_equals_its_source_whatever_the_target_had) {
    for (int way = 0; way < 8; way++) {
        bool blank = way & 1, verify = way & 2, larger = way & 4;
        autovolumeio struct volume_io *from = a_source();
        autovolumeio struct volume_io *to = memory_volume(larger ? SIZE + 2 * MIB : SIZE);
        struct listener listener = { 0 };
        struct copy copy = a_copy(from, to, &listener);
        struct error err = { 0 };

        if (!blank)
            fill_all(to);
        copy.blank = blank;
        copy.verify = verify;
        ck_assert_msg(copy_run(&copy, &beginning, &err) == 0, "%s", err.message);
        assert_same_bytes(from, to, SIZE);
        assert_zeros(to, SIZE, to->size - SIZE);
        ck_assert_int_le(data_bytes(to), data_bytes(from) + 64 * KIB);
        ck_assert_int_eq(listener.last.at, SIZE);
        ck_assert_uint_ge(listener.reports, 1);
    }
}
END_TEST

START_TEST(a_smaller_target_is_refused_unchanged) {
    autovolumeio struct volume_io *from = a_source(), *to = memory_volume(SIZE - 1);
    struct listener listener = { 0 };
    struct copy copy = a_copy(from, to, &listener);
    struct error err = { 0 };

    ck_assert_int_eq(copy_run(&copy, &beginning, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    assert_zeros(to, 0, to->size);
}
END_TEST

START_TEST(a_bit_changed_on_the_way_to_the_target_is_found) {
    for (unsigned nth = 1; nth <= 4; nth++) {
        struct fault_io_plan plan = { .call = FAULT_IO_WRITE,
                                      .action = FAULT_IO_TWIST,
                                      .nth = nth };
        autovolumeio struct volume_io *from = a_source();
        autovolumeio struct volume_io *to = fault_io_open(memory_volume(SIZE), &plan);
        struct listener listener = { 0 };
        struct copy copy = a_copy(from, to, &listener);
        struct error err = { 0 };

        ck_assert_int_eq(copy_run(&copy, &beginning, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BACKEND);
    }
}
END_TEST

START_TEST(bytes_left_in_the_target_are_found) {
    struct fault_io_plan plan = { 0 };
    autovolumeio struct volume_io *from = a_source();
    autovolumeio struct volume_io *to = fault_io_open(memory_volume(SIZE), &plan);
    struct listener listener = { 0 };
    struct copy copy = a_copy(from, to, &listener);
    struct error err = { 0 };

    fill(to, 2 * MIB - 1, 1, 5);
    copy.blank = true; /* which is wrong */
    ck_assert_int_eq(copy_run(&copy, &beginning, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
}
END_TEST

/* Fails at each call of the target or of the source in turn; each time it is resumed from the
 * position recorded last, as read from its text. */
static void interrupt_at(enum fault_io_call call, enum fault_io_action action, bool at_source) {
    for (unsigned nth = 1;; nth++) {
        struct fault_io_plan plan = { .call = call, .action = action, .nth = nth };
        struct fault_io_plan *seen = &plan;
        autovolumeio struct volume_io *from =
            at_source ? fault_io_open(a_source(), seen) : a_source();
        struct volume_io *memory = memory_volume(SIZE + MIB);
        autovolumeio struct volume_io *to = NULL;
        struct listener listener = { 0 };
        char text[COPY_POSITION_TEXT];
        struct copy_position position;
        struct error err = { 0 };
        struct copy copy;
        int result;

        fill_all(memory);
        to = at_source ? memory : fault_io_open(memory, seen);
        copy = a_copy(from, to, &listener);
        result = copy_run(&copy, &beginning, &err);
        if (result < 0) {
            ck_assert_int_eq(err.kind, ERROR_BACKEND);
            ck_assert_int_eq(
                copy_position_parse(copy_position_print(&listener.last, text), &position), 0);
            ck_assert_mem_eq(&position, &listener.last, sizeof(position));
            ck_assert_msg(copy_run(&copy, &position, &err) == 0, "%s", err.message);
        }
        plan.nth = 0;
        assert_same_bytes(from, to, SIZE);
        assert_zeros(to, SIZE, MIB);
        if (result == 0)
            break;
    }
}

START_TEST(a_copy_resumes_after_a_failure_of_any_call) {
    static const enum fault_io_call target[] = { FAULT_IO_WRITE, FAULT_IO_ZERO, FAULT_IO_FLUSH,
                                                 FAULT_IO_READ, FAULT_IO_EXTENT };

    for (size_t i = 0; i < LENGTH(target); i++) {
        interrupt_at(target[i], FAULT_IO_FAIL, false);
        interrupt_at(target[i], FAULT_IO_LATE, false);
    }
    interrupt_at(FAULT_IO_READ, FAULT_IO_FAIL, true);
    interrupt_at(FAULT_IO_EXTENT, FAULT_IO_FAIL, true);
}
END_TEST

START_TEST(a_resumed_copy_skips_the_recorded_part) {
    struct fault_io_plan source = { 0 };
    autovolumeio struct volume_io *from = fault_io_open(a_source(), &source);
    autovolumeio struct volume_io *to = memory_volume(SIZE);
    struct listener listener = { 0 };
    struct copy copy = a_copy(from, to, &listener);
    struct copy_position position;
    struct error err = { 0 };
    int64_t read;

    ck_assert_int_eq(copy_run(&copy, &beginning, &err), 0);
    read = source.read;
    position = listener.last;
    listener.last = beginning;
    ck_assert_int_eq(copy_run(&copy, &position, &err), 0); /* at the end */
    ck_assert_int_eq(source.read, read);
    source.read = 0;
    ck_assert_int_eq(copy_run(&copy, &listener.first, &err), 0);
    ck_assert_int_gt(source.read, 0);
    ck_assert_int_lt(source.read, read);
}
END_TEST

START_TEST(a_changed_record_is_refused_or_found) {
    autovolumeio struct volume_io *from = a_source(), *to = memory_volume(SIZE);
    struct listener listener = { 0 };
    struct copy copy = a_copy(from, to, &listener);
    struct copy_position position = { .at = 1000 };
    struct error err = { 0 };

    ck_assert_int_eq(copy_run(&copy, &position, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    position.at = SIZE + MIB;
    ck_assert_int_eq(copy_run(&copy, &position, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    position = (struct copy_position){ .at = 2 * MIB, .digest = { 1 } };
    ck_assert_int_eq(copy_run(&copy, &position, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
}
END_TEST

START_TEST(only_a_position_is_read_as_one) {
    static const char *const texts[] = { "", "1", "-1 00", "x", "12 zz" };
    struct copy_position position = { .at = INT64_MAX };
    char text[COPY_POSITION_TEXT];

    for (size_t i = 0; i < LENGTH(texts); i++)
        ck_assert_int_eq(copy_position_parse(texts[i], &position), -1);
    copy_position_print(&position, text);
    ck_assert_int_eq(copy_position_parse(text, &position), 0);
    ck_assert_int_eq(position.at, INT64_MAX);
    text[strlen(text) - 1] = 'z';
    ck_assert_int_eq(copy_position_parse(text, &position), -1);
}
END_TEST

START_TEST(no_change_follows_a_lost_fence) {
    bool refused = true;

    for (unsigned nth = 1; refused; nth++) {
        struct fault_io_plan plan = { 0 };
        autovolumeio struct volume_io *from = a_source();
        autovolumeio struct volume_io *to = fault_io_open(memory_volume(SIZE + MIB), &plan);
        struct listener listener = { .refused_check = nth, .plan = &plan };
        struct copy copy = a_copy(from, to, &listener);
        struct error err = { 0 };

        refused = copy_run(&copy, &beginning, &err) < 0;
        if (!refused)
            break;
        ck_assert_int_eq(err.kind, ERROR_CONFLICT);
        ck_assert_uint_eq(changes_of(&plan), listener.changes);
    }
}
END_TEST

/* Each write, zero and flush has a check of its own before it. */
START_TEST(each_change_of_the_target_is_checked) {
    struct fault_io_plan plan = { 0 };
    autovolumeio struct volume_io *from = a_source();
    autovolumeio struct volume_io *to = fault_io_open(memory_volume(SIZE), &plan);
    struct listener listener = { 0 };
    struct copy copy = a_copy(from, to, &listener);
    struct error err = { 0 };

    ck_assert_int_eq(copy_run(&copy, &beginning, &err), 0);
    ck_assert_uint_ge(listener.checks, changes_of(&plan));
}
END_TEST

START_TEST(a_report_cancels_the_copy) {
    autovolumeio struct volume_io *from = a_source(), *to = memory_volume(SIZE);
    struct listener listener = { .cancelled_report = 1 };
    struct copy copy = a_copy(from, to, &listener);
    struct error err = { 0 };

    ck_assert_int_eq(copy_run(&copy, &beginning, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
}
END_TEST

START_TEST(an_end_that_hangs_ends_the_copy_in_time) {
    for (int at_source = 0; at_source <= 1; at_source++) {
        struct fault_io_plan plan = { .call = at_source ? FAULT_IO_READ : FAULT_IO_WRITE,
                                      .action = FAULT_IO_HANG,
                                      .nth = 2 };
        struct volume_io *from = a_source(), *to = memory_volume(SIZE);
        struct volume_io **slow = at_source ? &from : &to;
        struct listener listener = { 0 };
        struct error err = { 0 };
        struct copy copy;

        *slow = deadline_io_open(fault_io_open(*slow, &plan), 10, NULL);
        copy = a_copy(from, to, &listener);
        ck_assert_int_eq(copy_run(&copy, &beginning, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        volume_io_close(from);
        volume_io_close(to);
        plan.released = true;
        while (!plan.closed)
            poll(NULL, 0, 1);
    }
}
END_TEST

static int64_t pick(unsigned *seed, int64_t most) {
    return rand_r(seed) % most;
}

/* Random contents, sizes and targets, with and without an interruption. */
START_TEST(random_copies_equal_their_sources) {
    unsigned seed = 1;

    for (unsigned round = 0; round < 30; round++) {
        int64_t size = 1 + pick(&seed, 4 * MIB);
        autovolumeio struct volume_io *from = memory_volume(size);
        autovolumeio struct volume_io *to = memory_volume(size + pick(&seed, 2 * MIB));
        struct listener listener = { .refused_check = (unsigned)pick(&seed, 20) };
        struct copy copy = a_copy(from, to, &listener);
        struct error err = { 0 };

        for (int64_t i = pick(&seed, 6); i > 0; i--) {
            int64_t at = pick(&seed, size), most = size - at;
            int64_t part = 1 + pick(&seed, 300 * KIB);

            fill(from, at, part < most ? part : most, (unsigned)rand_r(&seed));
        }
        copy.blank = pick(&seed, 2) > 0;
        if (!copy.blank)
            fill_all(to);
        if (copy_run(&copy, &beginning, &err) < 0) {
            ck_assert_int_eq(err.kind, ERROR_CONFLICT);
            copy.blank = false;
            ck_assert_msg(copy_run(&copy, &listener.last, &err) == 0, "%s", err.message);
        }
        assert_same_bytes(from, to, size);
        assert_zeros(to, size, to->size - size);
    }
}
END_TEST

CHECK_MAIN("copy", a_copy_equals_its_source_whatever_the_target_had,
           a_smaller_target_is_refused_unchanged, a_bit_changed_on_the_way_to_the_target_is_found,
           bytes_left_in_the_target_are_found, a_copy_resumes_after_a_failure_of_any_call,
           a_resumed_copy_skips_the_recorded_part, a_changed_record_is_refused_or_found,
           only_a_position_is_read_as_one, no_change_follows_a_lost_fence,
           each_change_of_the_target_is_checked, a_report_cancels_the_copy,
           an_end_that_hangs_ends_the_copy_in_time, random_copies_equal_their_sources)
