#include "replication/node/pool_calls.h"

#include "replication/node/knocks.h"
#include "tests/lib/check_main.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#define POOL  "/pool"
#define OTHER "/other"

struct work {
    int question, answer;
};

static struct pool_calls *calls;
static int ends[2]; /* who is held reads from the one, and hears when the other is closed */
static atomic_int begun, ended, knocked;
static int64_t silence_ms;

/* In place of the one that knocks. */
int64_t knocks_silence_ms(struct knocks *knocks, const char *directory) {
    (void)knocks, (void)directory;
    knocked++;
    return silence_ms;
}

static void begin(void) {
    calls = pool_calls_new(NULL, 600000);
    ck_assert_int_eq(pipe(ends), 0);
    begun = ended = knocked = 0;
}

static void end(void) {
    pool_calls_free(calls);
    close(ends[0]);
}

static void answer(void *arg, const atomic_bool *left) {
    struct work *work = arg;

    (void)left;
    work->answer = work->question + 1;
}

static void hang(void *arg, const atomic_bool *left) {
    char byte;

    begun++;
    (void)!read(ends[0], &byte, 1);
    answer(arg, left);
    ended++;
}

static void be_slow(void *arg, const atomic_bool *left) {
    while (knocked < 3)
        poll(NULL, 0, 1);
    answer(arg, left);
}

static const struct pool_call look_that_answers = { .run = answer, .looks = true };
static const struct pool_call look_that_hangs = { .run = hang, .looks = true };
static const struct pool_call deed_that_hangs = { .run = hang };
static const struct pool_call slow_deed = { .run = be_slow };

static void begin_with_knocks(int64_t most_ms) {
    pool_calls_free(calls);
    calls = pool_calls_new((struct knocks *)&knocked, most_ms);
}

static void await_ends(int count) {
    close(ends[1]);
    while (ended < count)
        poll(NULL, 0, 1);
}

START_TEST(what_answers_says_what_it_found) {
    struct work work = { .question = 41 };

    ck_assert(pool_calls_do(calls, POOL, &look_that_answers, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);
    ck_assert_int_eq(pool_calls_silence_ms(calls, POOL), 0);
    await_ends(0);
}
END_TEST

START_TEST(one_that_hangs_is_left_alone_and_dropped_when_it_is_late) {
    struct work work = { .question = 41 };

    ck_assert(!pool_calls_do(calls, POOL, &look_that_hangs, &work, sizeof(work)));
    ck_assert(!pool_calls_do(calls, POOL, &look_that_hangs, &work, sizeof(work)));
    ck_assert_int_eq(begun, 1);
    ck_assert_int_ge(pool_calls_silence_ms(calls, POOL), 5000);
    ck_assert_int_eq(pool_calls_silence_ms(calls, OTHER), 0);
    ck_assert(pool_calls_do(calls, OTHER, &look_that_answers, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);

    work = (struct work){ .question = 1 };
    await_ends(1);
    while (pool_calls_silence_ms(calls, POOL) > 0)
        poll(NULL, 0, 1);
    ck_assert_int_eq(work.answer, 0);
    ck_assert(pool_calls_do(calls, POOL, &look_that_answers, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 2);
}
END_TEST

START_TEST(who_does_something_has_the_time_that_is_given_and_no_more) {
    struct work work = { .question = 41 };

    pool_calls_free(calls);
    calls = pool_calls_new(NULL, 100);
    ck_assert(!pool_calls_do(calls, POOL, &deed_that_hangs, &work, sizeof(work)));
    ck_assert_int_ge(pool_calls_silence_ms(calls, POOL), 100);
    ck_assert(pool_calls_are_left(calls));
    await_ends(1);
    while (pool_calls_are_left(calls))
        poll(NULL, 0, 1);
    ck_assert_int_eq(pool_calls_silence_ms(calls, POOL), 0);
    ck_assert_int_eq(work.answer, 0);
}
END_TEST

/* Or was silent for a while, and not yet for long. */
START_TEST(one_that_answers_to_knocks_is_borne_with) {
    struct work work = { .question = 41 };

    silence_ms = 1999;
    begin_with_knocks(2000);
    ck_assert(pool_calls_do(calls, POOL, &slow_deed, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);
    await_ends(0);
}
END_TEST

START_TEST(one_that_does_not_is_left) {
    struct work work = { .question = 41 };

    silence_ms = 300;
    begin_with_knocks(300);
    ck_assert(!pool_calls_do(calls, POOL, &deed_that_hangs, &work, sizeof(work)));
    ck_assert_int_eq(knocked, 1);
    await_ends(1);
}
END_TEST

START_TEST(one_that_answers_to_nothing_but_knocks_is_left_in_the_end) {
    struct work work = { .question = 41 };

    silence_ms = 0;
    begin_with_knocks(300);
    ck_assert(!pool_calls_do(calls, POOL, &deed_that_hangs, &work, sizeof(work)));
    ck_assert_int_ge(knocked, 1);
    await_ends(1);
}
END_TEST

START_TEST(one_that_is_left_outlives_who_left_it) {
    struct work work = { .question = 41 };

    ck_assert(!pool_calls_do(calls, POOL, &look_that_hangs, &work, sizeof(work)));
    pool_calls_free(calls);
    calls = NULL;
    await_ends(1);
}
END_TEST

CHECK_MAIN_WITH("pool_calls", true, begin, end, what_answers_says_what_it_found,
                one_that_hangs_is_left_alone_and_dropped_when_it_is_late,
                who_does_something_has_the_time_that_is_given_and_no_more,
                one_that_answers_to_knocks_is_borne_with, one_that_does_not_is_left,
                one_that_answers_to_nothing_but_knocks_is_left_in_the_end,
                one_that_is_left_outlives_who_left_it)
