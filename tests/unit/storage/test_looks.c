#include "storage/looks.h"

#include "common/cleanup.h"
#include "common/thread.h"
#include "tests/lib/check_main.h"
#include "tests/lib/wall.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#define POOL  "/pool"
#define OTHER "/other"

struct work {
    int question, answer;
};

static struct looks *looks;
static int ends[2]; /* who is held reads from the one, and hears when the other is closed */
static atomic_int begun, ended;

static void begin(void) {
    looks = looks_new();
    ck_assert_int_eq(pipe(ends), 0);
    begun = ended = 0;
}

static void end(void) {
    looks_free(looks);
    close(ends[0]);
}

static void answer(void *arg) {
    struct work *work = arg;

    work->answer = work->question + 1;
}

static void hang(void *arg) {
    char byte;

    begun++;
    (void)!read(ends[0], &byte, 1);
    answer(arg);
    ended++;
}

static void await_ends(int count) {
    close(ends[1]);
    while (ended < count)
        poll(NULL, 0, 1);
}

START_TEST(what_answers_says_what_it_found) {
    struct work work = { .question = 41 };

    ck_assert(looks_do(looks, POOL, answer, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);
    ck_assert_int_eq(looks_silence_ms(looks, POOL), 0);
    await_ends(0);
}
END_TEST

START_TEST(one_that_hangs_is_left_alone_and_dropped_when_it_is_late) {
    struct work work = { .question = 41 };

    ck_assert(!looks_do(looks, POOL, hang, &work, sizeof(work)));
    ck_assert(!looks_do(looks, POOL, hang, &work, sizeof(work)));
    ck_assert_int_eq(begun, 1);
    ck_assert_int_ge(looks_silence_ms(looks, POOL), 5000);
    ck_assert_int_eq(looks_silence_ms(looks, OTHER), 0);
    ck_assert(looks_do(looks, OTHER, answer, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);

    work = (struct work){ .question = 1 };
    await_ends(1);
    while (looks_silence_ms(looks, POOL) > 0)
        poll(NULL, 0, 1);
    ck_assert_int_eq(work.answer, 0);
    ck_assert(looks_do(looks, POOL, answer, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 2);
}
END_TEST

/* As one that was stopped for an hour goes on: it has seen no more of it than a moment. */
START_TEST(silence_counts_as_far_as_somebody_looked) {
    struct work work = { .question = 41 };
    int64_t first_ms, next_ms;

    ck_assert(!looks_do(looks, POOL, hang, &work, sizeof(work)));
    first_ms = looks_silence_ms(looks, POOL);
    monotonic_pass(3600);
    next_ms = looks_silence_ms(looks, POOL);
    monotonic_pass(-3600); /* libcheck has an eye on it, too */
    ck_assert_int_ge(next_ms, first_ms);
    ck_assert_int_lt(next_ms, first_ms + 60000);
    await_ends(1);
}
END_TEST

static void *let_an_hour_pass(void *arg) {
    while (begun == 0)
        poll(NULL, 0, 1);
    monotonic_pass(3600);
    await_ends(1);
    return arg;
}

START_TEST(who_was_stopped_in_the_middle_leaves_nobody_who_answers) {
    struct work work = { .question = 41 };
    pthread_t thread;

    ck_assert_int_eq(thread_start(&thread, "hour", let_an_hour_pass, NULL), 0);
    ck_assert(looks_do(looks, POOL, hang, &work, sizeof(work)));
    monotonic_pass(-3600);
    ck_assert_int_eq(work.answer, 42);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(one_that_is_left_outlives_who_left_it) {
    struct work work = { .question = 41 };

    ck_assert(!looks_do(looks, POOL, hang, &work, sizeof(work)));
    looks_free(looks);
    looks = NULL;
    await_ends(1);
}
END_TEST

CHECK_MAIN_WITH("looks", true, begin, end, what_answers_says_what_it_found,
                one_that_hangs_is_left_alone_and_dropped_when_it_is_late,
                silence_counts_as_far_as_somebody_looked,
                who_was_stopped_in_the_middle_leaves_nobody_who_answers,
                one_that_is_left_outlives_who_left_it)
