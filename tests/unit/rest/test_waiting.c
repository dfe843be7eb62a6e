#include "common/clock.h"
#include "rest/waiting.h"
#include "tests/lib/check_main.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

/* A waiter that is done once `ready` is set. */
struct guest {
    struct waiter waiter;
    atomic_bool ready;
    atomic_int looked;
    atomic_int ended; /* 0, or 1 + the reason */
};

static bool look(struct waiter *waiter, enum waiting_reason reason) {
    struct guest *guest = (struct guest *)((char *)waiter - offsetof(struct guest, waiter));

    atomic_fetch_add(&guest->looked, 1);
    if (reason == WAITING_LOOK && !atomic_load(&guest->ready))
        return false;
    atomic_store(&guest->ended, 1 + (int)reason);
    return true;
}

static void await(atomic_int *number, int least) {
    const struct timespec moment = { .tv_nsec = 1000000 };

    for (int i = 0; i < 20000 && atomic_load(number) < least; i++)
        nanosleep(&moment, NULL);
    ck_assert_int_ge(atomic_load(number), least);
}

START_TEST(without_a_thread_only_a_call_checks) {
    struct waiting *waiting = waiting_new(look, false);
    struct guest first = { .ready = false }, second = { .ready = true };

    waiting_put(waiting, &first.waiter, 60000);
    waiting_put(waiting, &second.waiter, 60000);
    ck_assert_int_eq(first.looked, 0);
    waiting_look(waiting);
    ck_assert_int_eq(first.ended, 0);
    ck_assert_int_eq(second.ended, 1 + WAITING_LOOK);
    first.ready = true;
    waiting_look(waiting);
    waiting_look(waiting);
    ck_assert_int_eq(first.ended, 1 + WAITING_LOOK);
    ck_assert_int_eq(first.looked, 2);
    ck_assert_int_eq(second.looked, 1);
    waiting_free(waiting);
}
END_TEST

START_TEST(a_wait_ends_with_its_time) {
    struct waiting *waiting = waiting_new(look, false);
    struct guest guest = { .ready = false };

    waiting_put(waiting, &guest.waiter, 0);
    waiting_look(waiting);
    ck_assert_int_eq(guest.ended, 1 + WAITING_TIMEOUT);
    waiting_free(waiting);
}
END_TEST

START_TEST(waiting_requests_are_ended_at_shutdown) {
    struct guest guests[3] = { { .ready = false } };

    for (int threaded = 0; threaded < 2; threaded++) {
        struct waiting *waiting = waiting_new(look, threaded);

        for (size_t i = 0; i < LENGTH(guests); i++) {
            atomic_store(&guests[i].ended, 0);
            waiting_put(waiting, &guests[i].waiter, 60000);
        }
        waiting_free(waiting);
        for (size_t i = 0; i < LENGTH(guests); i++)
            ck_assert_int_eq(atomic_load(&guests[i].ended), 1 + WAITING_STOP);
    }
}
END_TEST

START_TEST(the_thread_checks_when_woken_and_periodically) {
    struct waiting *waiting = waiting_new(look, true);
    struct guest woken = { .ready = false }, alone = { .ready = false };
    int seen;

    waiting_look(waiting);
    waiting_put(waiting, &woken.waiter, 60000);
    await(&woken.looked, 1);
    atomic_store(&woken.ready, true);
    waiting_look(waiting);
    await(&woken.ended, 1);
    waiting_put(waiting, &alone.waiter, 60000);
    await(&alone.looked, 1);
    seen = atomic_load(&alone.looked);
    await(&alone.looked, seen + 1);
    atomic_store(&alone.ready, true);
    await(&alone.ended, 1);
    waiting_free(waiting);
    ck_assert_int_eq(atomic_load(&alone.ended), 1 + WAITING_LOOK);
}
END_TEST

CHECK_MAIN("waiting", without_a_thread_only_a_call_checks, a_wait_ends_with_its_time,
           waiting_requests_are_ended_at_shutdown, the_thread_checks_when_woken_and_periodically)
