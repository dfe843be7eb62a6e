#include "rpc/amqp/monitor.h"

#include "tests/lib/check_main.h"

#include <string.h>

static unsigned sent;
static const struct envelope *last;

static void send(void *arg, const struct envelope *called) {
    ck_assert_str_eq(arg, "arg");
    sent++;
    last = called;
}

static struct monitor *monitor;

static void setup(void) {
    static char arg[] = "arg";

    sent = 0;
    monitor = monitor_new(send, arg);
}

static void teardown(void) {
    monitor_end(monitor);
    monitor_free(monitor);
}

/* The interval for a call with this _timeout. */
static struct envelope call_of(struct arena *arena, const char *timeout) {
    const char *inner = arena_format(
        arena, "{\"method\": \"m\", \"_msg_id\": \"i\", \"_reply_q\": \"q\", \"_timeout\": %s}",
        timeout);
    struct envelope envelope = { 0 };
    struct error err;

    ck_assert_int_eq(envelope_read(arena, inner, strlen(inner), &envelope, &err), 0);
    return envelope;
}

START_TEST(the_interval_is_half_of_the_callers_timeout) {
    static const struct {
        const char *timeout;
        int64_t beat_ms;
    } cases[] = {
        { "60", 30000 }, { "3", 1500 },        { "2", 1000 },          { "1", 0 },
        { "0", 0 },      { "-10", 0 },         { "null", 0 },          { "\"60\"", 0 },
        { "[]", 0 },     { "true", 0 },        { "4.5", 2250 },        { "1e300", 86400000 },
        { "-1e300", 0 }, { "1e15", 86400000 }, { "172801", 86400000 },
    };
    autoarena struct arena *arena = arena_new();

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_int_eq(call_of(arena, cases[i].timeout).beat_ms, cases[i].beat_ms);
}
END_TEST

START_TEST(a_call_gets_heartbeats_until_it_ends) {
    autoarena struct arena *arena = arena_new();
    const struct envelope called = call_of(arena, "4");
    struct monitored call = { 0 };

    setup();
    ck_assert_int_eq(monitor_beat(monitor, 0), 0);
    monitor_watch(monitor, &call, &called, 10 * SECOND_US);
    ck_assert_int_eq(monitor_beat(monitor, 10 * SECOND_US), 12 * SECOND_US);
    ck_assert_int_eq(monitor_beat(monitor, 12 * SECOND_US - 1), 12 * SECOND_US);
    ck_assert_uint_eq(sent, 0);
    ck_assert_int_eq(monitor_beat(monitor, 12 * SECOND_US), 14 * SECOND_US);
    ck_assert_uint_eq(sent, 1);
    ck_assert_ptr_eq(last, &called);
    /* missed beats are one */
    ck_assert_int_eq(monitor_beat(monitor, 20 * SECOND_US), 22 * SECOND_US);
    ck_assert_uint_eq(sent, 2);
    monitor_leave(monitor, &call);
    monitor_leave(monitor, &call);
    ck_assert_int_eq(monitor_beat(monitor, 30 * SECOND_US), 0);
    ck_assert_uint_eq(sent, 2);
    teardown();
}
END_TEST

START_TEST(a_caller_without_a_request_for_heartbeats_gets_none) {
    autoarena struct arena *arena = arena_new();
    const struct envelope called = call_of(arena, "null"), brief = call_of(arena, "1");
    const struct envelope cast = { .method = "m", .beat_ms = 1000 };
    struct monitored calls[3] = { 0 };

    setup();
    monitor_watch(monitor, &calls[0], &called, 0);
    monitor_watch(monitor, &calls[1], &brief, 0);
    monitor_watch(monitor, &calls[2], &cast, 0);
    ck_assert_int_eq(monitor_beat(monitor, 100 * SECOND_US), 0);
    ck_assert_uint_eq(sent, 0);
    for (size_t i = 0; i < LENGTH(calls); i++)
        monitor_leave(monitor, &calls[i]);
    teardown();
}
END_TEST

START_TEST(each_call_has_its_own_interval_and_a_stop_ends_all) {
    autoarena struct arena *arena = arena_new();
    const struct envelope slow = call_of(arena, "20"), fast = call_of(arena, "2");
    struct monitored calls[3] = { 0 };

    setup();
    monitor_watch(monitor, &calls[0], &slow, 0);
    monitor_watch(monitor, &calls[1], &fast, 0);
    for (int i = 1; i <= 9; i++)
        ck_assert_int_eq(monitor_beat(monitor, i * SECOND_US), (i + 1) * SECOND_US);
    ck_assert_uint_eq(sent, 9);
    monitor_beat(monitor, 10 * SECOND_US);
    ck_assert_uint_eq(sent, 11);
    monitor_end(monitor);
    monitor_watch(monitor, &calls[2], &fast, 0);
    ck_assert_int_eq(monitor_beat(monitor, 100 * SECOND_US), 0);
    ck_assert_uint_eq(sent, 11);
    for (size_t i = 0; i < LENGTH(calls); i++)
        monitor_leave(monitor, &calls[i]);
    teardown();
}
END_TEST

CHECK_MAIN("amqp_monitor", the_interval_is_half_of_the_callers_timeout,
           a_call_gets_heartbeats_until_it_ends,
           a_caller_without_a_request_for_heartbeats_gets_none,
           each_call_has_its_own_interval_and_a_stop_ends_all)
