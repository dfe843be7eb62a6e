#include "replication/node/pool_calls.h"

#include "replication/node/health_probes.h"
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
static int ends[2]; /* a blocked call reads from the first and ends when the second is closed */
static atomic_int begun, ended, probes;
static int64_t unresponsive_ms;

/* Replaces the probe. */
int64_t health_probes_unresponsive_ms(struct health_probes *health_probes, const char *directory) {
    (void)health_probes, (void)directory;
    probes++;
    return unresponsive_ms;
}

static void begin(void) {
    calls = pool_calls_new(NULL, 600000);
    ck_assert_int_eq(pipe(ends), 0);
    begun = ended = probes = 0;
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
    while (probes < 3)
        poll(NULL, 0, 1);
    answer(arg, left);
}

static const struct pool_call read_that_answers = { .run = answer, .reads = true };
static const struct pool_call read_that_hangs = { .run = hang, .reads = true };
static const struct pool_call deed_that_hangs = { .run = hang };
static const struct pool_call slow_deed = { .run = be_slow };

static void begin_with_probes(int64_t most_ms) {
    pool_calls_free(calls);
    calls = pool_calls_new((struct health_probes *)&probes, most_ms);
}

static void await_ends(int count) {
    close(ends[1]);
    while (ended < count)
        poll(NULL, 0, 1);
}

START_TEST(a_call_returns_its_result) {
    struct work work = { .question = 41 };

    ck_assert(pool_calls_do(calls, POOL, &read_that_answers, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);
    ck_assert_int_eq(pool_calls_unresponsive_ms(calls, POOL), 0);
    await_ends(0);
}
END_TEST

START_TEST(an_abandoned_call_excludes_others_and_its_late_result_is_dropped) {
    struct work work = { .question = 41 };

    ck_assert(!pool_calls_do(calls, POOL, &read_that_hangs, &work, sizeof(work)));
    ck_assert(!pool_calls_do(calls, POOL, &read_that_hangs, &work, sizeof(work)));
    ck_assert_int_eq(begun, 1);
    ck_assert_int_ge(pool_calls_unresponsive_ms(calls, POOL), 5000);
    ck_assert_int_eq(pool_calls_unresponsive_ms(calls, OTHER), 0);
    ck_assert(pool_calls_do(calls, OTHER, &read_that_answers, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);

    work = (struct work){ .question = 1 };
    await_ends(1);
    while (pool_calls_unresponsive_ms(calls, POOL) > 0)
        poll(NULL, 0, 1);
    ck_assert_int_eq(work.answer, 0);
    ck_assert(pool_calls_do(calls, POOL, &read_that_answers, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 2);
}
END_TEST

START_TEST(a_change_has_the_given_time) {
    struct work work = { .question = 41 };

    pool_calls_free(calls);
    calls = pool_calls_new(NULL, 100);
    ck_assert(!pool_calls_do(calls, POOL, &deed_that_hangs, &work, sizeof(work)));
    ck_assert_int_ge(pool_calls_unresponsive_ms(calls, POOL), 100);
    ck_assert(pool_calls_are_abandoned(calls));
    await_ends(1);
    while (pool_calls_are_abandoned(calls))
        poll(NULL, 0, 1);
    ck_assert_int_eq(pool_calls_unresponsive_ms(calls, POOL), 0);
    ck_assert_int_eq(work.answer, 0);
}
END_TEST

/* The same for a pool that is unresponsive for a short while. */
START_TEST(a_slow_change_in_a_responsive_pool_has_more_time) {
    struct work work = { .question = 41 };

    unresponsive_ms = 1999;
    begin_with_probes(2000);
    ck_assert(pool_calls_do(calls, POOL, &slow_deed, &work, sizeof(work)));
    ck_assert_int_eq(work.answer, 42);
    await_ends(0);
}
END_TEST

START_TEST(a_change_in_an_unresponsive_pool_is_abandoned) {
    struct work work = { .question = 41 };

    unresponsive_ms = 300;
    begin_with_probes(300);
    ck_assert(!pool_calls_do(calls, POOL, &deed_that_hangs, &work, sizeof(work)));
    ck_assert_int_eq(probes, 1);
    await_ends(1);
}
END_TEST

START_TEST(a_change_is_abandoned_in_the_end_though_probes_succeed) {
    struct work work = { .question = 41 };

    unresponsive_ms = 0;
    begin_with_probes(300);
    ck_assert(!pool_calls_do(calls, POOL, &deed_that_hangs, &work, sizeof(work)));
    ck_assert_int_ge(probes, 1);
    await_ends(1);
}
END_TEST

START_TEST(an_abandoned_call_outlives_its_caller) {
    struct work work = { .question = 41 };

    ck_assert(!pool_calls_do(calls, POOL, &read_that_hangs, &work, sizeof(work)));
    pool_calls_free(calls);
    calls = NULL;
    await_ends(1);
}
END_TEST

CHECK_MAIN_WITH("pool_calls", true, begin, end, a_call_returns_its_result,
                an_abandoned_call_excludes_others_and_its_late_result_is_dropped,
                a_change_has_the_given_time, a_slow_change_in_a_responsive_pool_has_more_time,
                a_change_in_an_unresponsive_pool_is_abandoned,
                a_change_is_abandoned_in_the_end_though_probes_succeed,
                an_abandoned_call_outlives_its_caller)
