#include "common/ticker.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#include <semaphore.h>
#include <unistd.h>

#define LONG_MS  3600000
#define SOON_US  20000
#define NEVER_US ((int64_t)3600 * 1000000)

struct watch {
    sem_t begun, may_end;
    bool holds;
    int64_t pause_ms, next_pause_ms;
};

static int64_t tick(void *arg) {
    struct watch *watch = arg;
    int64_t pause_ms = watch->pause_ms;

    watch->pause_ms = watch->next_pause_ms;
    sem_post(&watch->begun);
    while (watch->holds && sem_wait(&watch->may_end) < 0)
        ;
    return pause_ms;
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) < 0)
        ;
}

static struct ticker *start_pausing(struct watch *watch, int64_t pause_ms, int64_t next_pause_ms) {
    watch->pause_ms = pause_ms;
    watch->next_pause_ms = next_pause_ms;
    sem_init(&watch->begun, 0, 0);
    sem_init(&watch->may_end, 0, 0);
    return ticker_start("test", tick, watch);
}

static struct ticker *start(struct watch *watch, int64_t pause_ms) {
    return start_pausing(watch, pause_ms, pause_ms);
}

static int begun(struct watch *watch) {
    int count = 0;

    sem_getvalue(&watch->begun, &count);
    return count;
}

START_TEST(a_ticker_ticks_at_once_and_again_after_the_pause) {
    struct watch watch = { .holds = false };
    struct ticker *ticker = start(&watch, 1);

    for (int i = 0; i < 3; i++)
        wait_for(&watch.begun);
    ticker_stop(ticker);
}
END_TEST

START_TEST(each_tick_has_a_pause_of_its_own) {
    struct watch watch = { .holds = false };
    struct ticker *ticker = start_pausing(&watch, 1, LONG_MS);

    for (int i = 0; i < 2; i++)
        wait_for(&watch.begun);
    usleep(SOON_US);
    ck_assert_int_eq(begun(&watch), 0);
    ticker_stop(ticker);
}
END_TEST

START_TEST(a_ticker_ticks_early_when_woken) {
    struct watch watch = { .holds = false };
    struct ticker *ticker = start(&watch, LONG_MS);

    wait_for(&watch.begun);
    ck_assert(ticker_wait_first(ticker, clock_monotonic_us() + NEVER_US));
    ticker_wake(ticker);
    wait_for(&watch.begun);
    ticker_stop(ticker);
    ck_assert_int_eq(begun(&watch), 0);
}
END_TEST

START_TEST(a_ticker_woken_during_a_tick_ticks_once_more) {
    struct watch watch = { .holds = true };
    struct ticker *ticker = start(&watch, LONG_MS);

    wait_for(&watch.begun);
    ticker_wake(ticker);
    ticker_wake(ticker);
    sem_post(&watch.may_end);
    wait_for(&watch.begun);
    sem_post(&watch.may_end);
    ticker_stop(ticker);
    ck_assert_int_eq(begun(&watch), 0);
}
END_TEST

START_TEST(a_tick_that_does_not_end_is_not_waited_for) {
    struct watch watch = { .holds = true };
    struct ticker *ticker = start(&watch, LONG_MS);

    ck_assert(!ticker_wait_first(ticker, clock_monotonic_us() + SOON_US));
    sem_post(&watch.may_end);
    ck_assert(ticker_wait_first(ticker, clock_monotonic_us() + NEVER_US));
    ck_assert(ticker_wait_first(ticker, 0));
    ticker_stop(ticker);
}
END_TEST

CHECK_MAIN("ticker", a_ticker_ticks_at_once_and_again_after_the_pause,
           each_tick_has_a_pause_of_its_own, a_ticker_ticks_early_when_woken,
           a_ticker_woken_during_a_tick_ticks_once_more, a_tick_that_does_not_end_is_not_waited_for)
