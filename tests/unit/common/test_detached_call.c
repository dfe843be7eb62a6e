#include "common/detached_call.h"

#include "common/clock.h"
#include "common/thread.h"
#include "tests/lib/check_main.h"
#include "tests/lib/wall.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define KEY   "/pool"
#define OTHER "/other"

struct work {
    int question, answer;
};

static struct detached_calls *calls;
static int ends[2]; /* a call that hangs reads from the one until the other is closed */
static atomic_int begun, abandoned_seen, dropped, last_calls;

static void count_last(void *arg) {
    (*(atomic_int *)arg)++;
}

static void begin(void) {
    calls = detached_calls_new("test", count_last, &last_calls);
    ck_assert_int_eq(pipe(ends), 0);
    begun = abandoned_seen = dropped = last_calls = 0;
}

static void await_value(const atomic_int *value, int count) {
    while (*value < count)
        poll(NULL, 0, 1);
}

static void let_return(void) {
    if (ends[1] >= 0)
        close(ends[1]);
    ends[1] = -1;
}

static void end(void) {
    let_return();
    detached_calls_free(calls);
    await_value(&last_calls, 1);
    close(ends[0]);
}

static void answer(void *arg, const atomic_bool *abandoned) {
    struct work *work = arg;

    begun++;
    work->answer = work->question + 1;
    abandoned_seen += *abandoned;
}

static void hang(void *arg, const atomic_bool *abandoned) {
    char byte;

    begun++;
    (void)!read(ends[0], &byte, 1);
    answer(arg, abandoned);
}

static void drop(void *arg) {
    const struct work *work = arg;

    dropped += work->answer;
}

static const struct detached_function answering = { .run = answer, .drop = drop };
static const struct detached_function hanging = { .run = hang, .drop = drop };
static const struct detached_limit soon = { .us = 10000 }, later = { .us = 3600 * SECOND_US };

static int call(const char *key, const struct detached_function *function, struct work *work,
                const struct detached_limit *limit) {
    return detached_call(calls, key, function, work, sizeof(*work), limit);
}

static void await_none_abandoned(void) {
    while (detached_calls_abandoned(calls) > 0)
        poll(NULL, 0, 1);
}

START_TEST(a_call_that_returns_in_time_gives_its_result) {
    struct work work = { .question = 41 };

    ck_assert_int_eq(call(KEY, &answering, &work, &later), 0);
    ck_assert_int_eq(work.answer, 42);
    ck_assert_int_eq(abandoned_seen, 0);
    ck_assert_int_eq(dropped, 0);
    ck_assert_uint_eq(detached_calls_abandoned(calls), 0);
    ck_assert_int_eq(detached_calls_silence_ms(calls, KEY), 0);
}
END_TEST

START_TEST(an_abandoned_call_reads_that_it_is_and_its_result_is_dropped) {
    struct work work = { .question = 41 };

    ck_assert_int_eq(call(KEY, &hanging, &work, &soon), ETIMEDOUT);
    ck_assert_int_eq(dropped, 0);
    work.question = 0; /* the call has a copy */
    let_return();
    await_none_abandoned();
    ck_assert_int_eq(abandoned_seen, 1);
    ck_assert_int_eq(dropped, 42);
    ck_assert_int_eq(work.answer, 0);
}
END_TEST

START_TEST(a_key_is_refused_until_its_abandoned_call_has_returned) {
    struct work work = { .question = 41 };

    ck_assert_int_eq(call(KEY, &hanging, &work, &soon), ETIMEDOUT);
    await_value(&begun, 1);
    ck_assert_int_eq(call(KEY, &answering, &work, &later), EBUSY);
    ck_assert_int_eq(begun, 1);
    ck_assert_int_eq(work.answer, 0);
    ck_assert_uint_eq(detached_calls_abandoned(calls), 1);
    ck_assert_int_gt(detached_calls_silence_ms(calls, KEY), 0);

    ck_assert_int_eq(call(OTHER, &answering, &work, &later), 0);
    ck_assert_int_eq(detached_calls_silence_ms(calls, OTHER), 0);

    let_return();
    await_none_abandoned();
    ck_assert_int_eq(detached_calls_silence_ms(calls, KEY), 0);
    ck_assert_int_eq(call(KEY, &answering, &work, &later), 0);
}
END_TEST

static bool extend_until_begun(void *arg, int64_t waited_us) {
    atomic_int *queried = arg;

    ck_assert_int_gt(waited_us, 0);
    if (++*queried == 2)
        let_return();
    return true;
}

static bool extend_once(void *arg, int64_t waited_us) {
    atomic_int *queried = arg;

    ck_assert_int_gt(waited_us, 0);
    return ++*queried < 2;
}

START_TEST(a_limit_is_extended_as_long_as_the_caller_waits_on) {
    atomic_int queried = 0;
    const struct detached_limit limit = { .us = 1, .extend = extend_until_begun, .arg = &queried };
    struct work work = { .question = 41 };

    ck_assert_int_eq(call(KEY, &hanging, &work, &limit), 0);
    ck_assert_int_eq(work.answer, 42);
    ck_assert_int_ge(queried, 2);
}
END_TEST

START_TEST(a_limit_that_is_not_extended_any_more_abandons_the_call) {
    atomic_int queried = 0;
    const struct detached_limit limit = { .us = 1, .extend = extend_once, .arg = &queried };
    struct work work = { .question = 41 };

    ck_assert_int_eq(call(KEY, &hanging, &work, &limit), ETIMEDOUT);
    ck_assert_int_eq(queried, 2);
}
END_TEST

static void *let_an_hour_pass(void *arg) {
    await_value(&begun, 1);
    monotonic_pass(3600);
    let_return();
    return arg;
}

START_TEST(a_process_that_was_suspended_abandons_no_call_that_answers) {
    const struct detached_limit limit = { .us = 60 * SECOND_US };
    struct work work = { .question = 41 };
    pthread_t thread;

    ck_assert_int_eq(thread_start(&thread, "hour", let_an_hour_pass, NULL), 0);
    ck_assert_int_eq(call(KEY, &hanging, &work, &limit), 0);
    monotonic_pass(-3600); /* libcheck reads it, too */
    ck_assert_int_eq(work.answer, 42);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_timeout_counts_only_queried_time) {
    struct work work = { .question = 41 };
    int64_t first_ms, next_ms;

    ck_assert_int_eq(call(KEY, &hanging, &work, &soon), ETIMEDOUT);
    first_ms = detached_calls_silence_ms(calls, KEY);
    monotonic_pass(3600);
    next_ms = detached_calls_silence_ms(calls, KEY);
    monotonic_pass(-3600);
    ck_assert_int_ge(next_ms, first_ms);
    ck_assert_int_lt(next_ms, first_ms + 60000);
}
END_TEST

START_TEST(a_started_call_gives_its_result_when_it_is_finished) {
    struct work work = { .question = 41 };
    struct detached_call *started = detached_start(calls, KEY, &hanging, &work, sizeof(work));

    ck_assert_ptr_nonnull(started);
    ck_assert(!detached_has_returned(started));
    ck_assert_int_eq(call(KEY, &answering, &work, &later), 0); /* it is not abandoned */
    let_return();
    while (!detached_has_returned(started))
        poll(NULL, 0, 1);
    work.answer = 0;
    ck_assert(detached_finish(started, &work));
    ck_assert_int_eq(work.answer, 42);
    ck_assert_int_eq(dropped, 0);
}
END_TEST

START_TEST(a_started_call_that_is_finished_before_its_return_is_abandoned) {
    struct work work = { .question = 41 };
    struct detached_call *started = detached_start(calls, KEY, &hanging, &work, sizeof(work));

    ck_assert(!detached_finish(started, &work));
    ck_assert_int_eq(call(KEY, &answering, &work, &later), EBUSY);
    let_return();
    await_none_abandoned();
    ck_assert_int_eq(dropped, 42);
}
END_TEST

/* The data of its functions is released by last() alone. */
START_TEST(a_set_lives_until_it_is_freed_and_its_last_call_has_returned) {
    struct work work = { .question = 41 };

    ck_assert_int_eq(call(KEY, &hanging, &work, &soon), ETIMEDOUT);
    ck_assert_int_eq(call(OTHER, &hanging, &work, &soon), ETIMEDOUT);
    detached_calls_free(calls);
    calls = NULL;
    ck_assert_int_eq(last_calls, 0);
    let_return();
    await_value(&last_calls, 1);
    ck_assert_int_eq(dropped, 84);
    detached_calls_free(NULL);
}
END_TEST

static void *call_often(void *arg) {
    for (int i = 0; i < 200; i++) {
        const struct detached_limit limit = { .us = i % 3 == 0 ? 1 : SECOND_US };
        struct work work = { .question = i };
        int reason = call(i % 2 ? KEY : OTHER, &answering, &work, &limit);

        ck_assert_int_eq(work.answer, reason == 0 ? i + 1 : 0);
        ck_assert(reason == 0 || reason == ETIMEDOUT || reason == EBUSY);
        ck_assert_int_ge(detached_calls_silence_ms(calls, KEY), 0);
    }
    return arg;
}

/* Calls return just as they are abandoned. */
START_TEST(threads_share_a_set) {
    pthread_t threads[4];

    for (size_t i = 0; i < LENGTH(threads); i++)
        ck_assert_int_eq(thread_start(&threads[i], "caller", call_often, NULL), 0);
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
    await_none_abandoned();
}
END_TEST

CHECK_MAIN_WITH("detached_call", true, begin, end, a_call_that_returns_in_time_gives_its_result,
                an_abandoned_call_reads_that_it_is_and_its_result_is_dropped,
                a_key_is_refused_until_its_abandoned_call_has_returned,
                a_limit_is_extended_as_long_as_the_caller_waits_on,
                a_limit_that_is_not_extended_any_more_abandons_the_call,
                a_process_that_was_suspended_abandons_no_call_that_answers,
                a_timeout_counts_only_queried_time,
                a_started_call_gives_its_result_when_it_is_finished,
                a_started_call_that_is_finished_before_its_return_is_abandoned,
                a_set_lives_until_it_is_freed_and_its_last_call_has_returned, threads_share_a_set)
