#include "rpc/amqp/window.h"

#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

/* Outcomes of messages, in the order in which they were reported: "a+" taken, "a-" not. */
static char outcomes[256];
static struct window *window;

static void note_outcome(void *arg, bool taken) {
    const char *name = arg;
    size_t length = strlen(outcomes);

    snprintf(outcomes + length, sizeof(outcomes) - length, "%s%c", name, taken ? '+' : '-');
}

static void setup(void) {
    outcomes[0] = '\0';
    window = window_new();
}

static void put(const char *key, const char *name) {
    const struct send_message message = {
        .where = SEND_TOPIC,
        .routing_key = name,
        .key = key,
        .content_type = "text/plain",
        .body = name,
        .size = strlen(name),
    };

    window_put(window, &message, note_outcome, (void *)(uintptr_t)name);
}

static void assert_next(const char *name, uint64_t tag) {
    uint64_t found = 0;
    const struct send_message *message = window_next(window, &found);

    ck_assert_ptr_nonnull(message);
    ck_assert_str_eq(message->routing_key, name);
    ck_assert_uint_eq(message->size, strlen(name));
    if (message->size > 0)
        ck_assert_mem_eq(message->body, name, message->size);
    ck_assert_uint_eq(found, tag);
}

static void assert_none_next(void) {
    uint64_t tag = 77;

    ck_assert(!window_has_next(window));
    ck_assert_ptr_null(window_next(window, &tag));
    ck_assert_uint_eq(tag, 77);
}

START_TEST(messages_of_one_key_follow_each_other) {
    setup();
    put("k", "a");
    put("k", "b");
    put("l", "c");
    put("", "d");
    put("", "e");
    assert_next("a", 1);
    assert_next("c", 2);
    assert_next("d", 3);
    assert_next("e", 4);
    assert_none_next();
    window_confirm(window, 1, false, true);
    ck_assert_str_eq(outcomes, "a+");
    assert_next("b", 5);
    window_confirm(window, 5, true, true);
    ck_assert_str_eq(outcomes, "a+c+d+e+b+");
    ck_assert(window_is_empty(window));
    window_free(window);
    ck_assert_str_eq(outcomes, "a+c+d+e+b+");
}
END_TEST

START_TEST(a_refused_message_fails_those_behind_it) {
    setup();
    put("k", "a");
    put("k", "b");
    put("l", "c");
    assert_next("a", 1);
    assert_next("c", 2);
    window_confirm(window, 1, false, false);
    ck_assert_str_eq(outcomes, "a-b-");
    window_confirm(window, 2, false, true);
    ck_assert_str_eq(outcomes, "a-b-c+");
    /* the key restarts */
    put("k", "d");
    assert_next("d", 3);
    window_free(window);
    ck_assert_str_eq(outcomes, "a-b-c+d-");
}
END_TEST

START_TEST(a_returned_message_fails_even_when_confirmed) {
    setup();
    put("k", "a");
    put("", "b");
    assert_next("a", 1);
    assert_next("b", 2);
    ck_assert_str_eq(window_returned(window, 1)->routing_key, "a");
    ck_assert_str_eq(outcomes, "");
    window_confirm(window, 2, true, true);
    ck_assert_str_eq(outcomes, "a-b+");
    window_free(window);
}
END_TEST

START_TEST(unknown_tags_change_nothing) {
    setup();
    put("", "a");
    put("", "b");
    assert_next("a", 1);
    ck_assert_ptr_null(window_returned(window, 0));
    ck_assert_ptr_null(window_returned(window, 2));
    window_confirm(window, 0, true, true);
    window_confirm(window, 2, true, true);
    window_confirm(window, 1 + WINDOW_MOST, false, true);
    ck_assert_str_eq(outcomes, "");
    assert_next("b", 2);
    window_confirm(window, 2, false, true);
    /* twice, while the one before is still out */
    window_confirm(window, 2, false, false);
    ck_assert_ptr_null(window_returned(window, 2));
    ck_assert_str_eq(outcomes, "b+");
    ck_assert(!window_is_empty(window));
    window_confirm(window, 1, false, true);
    ck_assert_ptr_null(window_returned(window, 1));
    ck_assert_str_eq(outcomes, "b+a+");
    ck_assert(window_is_empty(window));
    window_free(window);
}
END_TEST

START_TEST(messages_in_flight_are_sent_again_first) {
    setup();
    put("k", "a");
    put("k", "b");
    put("l", "c");
    put("m", "d");
    put("", "e");
    assert_next("a", 1);
    assert_next("c", 2);
    assert_next("d", 3);
    window_returned(window, 1);
    window_confirm(window, 2, false, true);
    ck_assert_str_eq(outcomes, "c+");
    window_take_back(window);
    assert_next("a", 1);
    assert_next("d", 2);
    assert_next("e", 3);
    assert_none_next();
    /* that it came back on the old connection no longer counts */
    window_confirm(window, 3, true, true);
    ck_assert_str_eq(outcomes, "c+a+d+e+");
    assert_next("b", 4);
    window_free(window);
    ck_assert_str_eq(outcomes, "c+a+d+e+b-");
}
END_TEST

START_TEST(a_closed_window_fails_messages_immediately) {
    setup();
    put("key", "sent");
    put("key", "behind");
    put("", "waits");
    assert_next("sent", 1);
    window_close(window);
    put("key", "late");
    ck_assert(window_is_empty(window));
    assert_none_next();
    ck_assert_str_eq(outcomes, "sent-behind-waits-late-");
    window_free(window);
}
END_TEST

START_TEST(no_more_messages_are_in_flight_than_the_window_holds) {
    uint64_t tag;

    setup();
    for (int i = 0; i < WINDOW_MOST + 1; i++)
        put("", "");
    for (int i = 0; i < WINDOW_MOST; i++)
        ck_assert_ptr_nonnull(window_next(window, &tag));
    ck_assert_uint_eq(tag, WINDOW_MOST);
    assert_none_next();
    /* a gap at the beginning keeps the space */
    window_confirm(window, 2, false, true);
    assert_none_next();
    window_confirm(window, 1, false, true);
    ck_assert(window_has_next(window));
    assert_next("", WINDOW_MOST + 1);
    assert_none_next();
    window_confirm(window, WINDOW_MOST + 1, true, true);
    ck_assert(window_is_empty(window));
    window_free(window);
}
END_TEST

CHECK_MAIN("amqp_window", messages_of_one_key_follow_each_other,
           a_refused_message_fails_those_behind_it, a_returned_message_fails_even_when_confirmed,
           unknown_tags_change_nothing, messages_in_flight_are_sent_again_first,
           a_closed_window_fails_messages_immediately,
           no_more_messages_are_in_flight_than_the_window_holds)
