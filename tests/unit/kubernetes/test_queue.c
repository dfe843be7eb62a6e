#include "kubernetes/queue.h"

#include "common/clock.h"
#include "common/thread.h"
#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

static const struct queue_item *take_named(struct queue *queue, const char *name) {
    const struct queue_item *item = queue_take(queue);

    ck_assert_ptr_nonnull(item);
    ck_assert_str_eq(item->name, name);
    return item;
}

START_TEST(a_name_stands_there_once_and_in_its_order) {
    struct queue *queue = queue_new(1, 1);

    queue_call(queue, 0, "a", "x");
    queue_call(queue, 0, "b", "x");
    queue_call(queue, 1, "a", "x");
    queue_call(queue, 0, "a", "x");
    ck_assert_uint_eq(queue_size(queue), 3);
    ck_assert_str_eq(queue_take(queue)->namespace, "a");
    ck_assert_str_eq(queue_take(queue)->namespace, "b");
    ck_assert_uint_eq(queue_take(queue)->kind, 1);
    queue_free(queue);
}
END_TEST

START_TEST(many_of_one_namespace_keep_another_waiting_for_one) {
    static const char *const taken[] = { "crowd", "alone", "crowd", "other", "crowd" };
    struct queue *queue = queue_new(1, 1);
    char name[16];

    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "x-%u", i);
        queue_call(queue, 0, "crowd", name);
    }
    queue_call(queue, 0, "alone", "x");
    for (unsigned i = 0; i < sizeof taken / sizeof *taken; i++) {
        const struct queue_item *item = queue_take(queue);

        ck_assert_str_eq(item->namespace, taken[i]);
        queue_settle(queue, item);
        if (i == 1) /* behind the one that is next */
            queue_call(queue, 0, "other", "x");
    }
    for (unsigned i = 3; i < 1000; i++) {
        snprintf(name, sizeof name, "x-%u", i);
        queue_settle(queue, take_named(queue, name));
    }
    ck_assert_uint_eq(queue_size(queue), 0);
    queue_free(queue);
}
END_TEST

START_TEST(an_item_queued_during_its_work_is_processed_again) {
    struct queue *queue = queue_new(60000, 60000);
    const struct queue_item *item;

    queue_call(queue, 0, "a", "x");
    item = take_named(queue, "x");
    queue_call(queue, 0, "a", "x");
    queue_settle(queue, item);
    item = take_named(queue, "x");
    queue_call(queue, 0, "a", "x");
    queue_retry(queue, item); /* without its pause of a minute */
    queue_settle(queue, take_named(queue, "x"));
    ck_assert_uint_eq(queue_size(queue), 0);
    queue_free(queue);
}
END_TEST

START_TEST(a_failed_item_pauses_while_others_are_processed) {
    struct queue *queue = queue_new(1, 4);

    queue_call(queue, 0, "a", "x");
    for (unsigned tries = 0; tries < 5; tries++) {
        const struct queue_item *item = take_named(queue, "x");

        ck_assert_uint_eq(item->tries, tries);
        queue_retry(queue, item);
    }
    queue_settle(queue, take_named(queue, "x"));
    queue_call(queue, 0, "a", "x");
    ck_assert_uint_eq(queue_take(queue)->tries, 0);
    queue_free(queue);
}
END_TEST

START_TEST(a_call_ends_a_pause) {
    struct queue *queue = queue_new(3600000, 3600000);

    queue_call(queue, 0, "a", "x");
    queue_call(queue, 0, "a", "y");
    queue_retry(queue, take_named(queue, "x"));
    queue_settle(queue, take_named(queue, "y"));
    queue_call(queue, 0, "a", "x");
    ck_assert_uint_eq(take_named(queue, "x")->tries, 1);
    queue_free(queue);
}
END_TEST

static void *take_one(void *arg) {
    return (void *)(uintptr_t)queue_take(arg);
}

START_TEST(a_waiting_worker_is_woken_by_a_new_item_and_at_shutdown) {
    struct queue *queue = queue_new(1, 1);
    pthread_t thread;
    void *got;

    ck_assert_int_eq(thread_start(&thread, "taker", take_one, queue), 0);
    queue_call(queue, 0, "a", "x");
    pthread_join(thread, &got);
    ck_assert_ptr_nonnull(got);
    ck_assert_int_eq(thread_start(&thread, "taker", take_one, queue), 0);
    queue_close(queue);
    pthread_join(thread, &got);
    ck_assert_ptr_null(got);
    queue_free(queue);
}
END_TEST

CHECK_MAIN("queue", a_name_stands_there_once_and_in_its_order,
           many_of_one_namespace_keep_another_waiting_for_one,
           an_item_queued_during_its_work_is_processed_again,
           a_failed_item_pauses_while_others_are_processed, a_call_ends_a_pause,
           a_waiting_worker_is_woken_by_a_new_item_and_at_shutdown)
