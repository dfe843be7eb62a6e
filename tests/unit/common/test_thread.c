#include "common/thread.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#include <semaphore.h>
#include <string.h>

static void *wait_for_post(void *arg) {
    while (sem_wait(arg) < 0)
        ;
    return NULL;
}

START_TEST(a_thread_has_its_name_and_is_joined_in_time_or_not) {
    pthread_t thread;
    char name[16];
    sem_t end;

    sem_init(&end, 0, 0);
    ck_assert_int_eq(thread_start(&thread, "a name of more than fifteen", wait_for_post, &end), 0);
    ck_assert_int_eq(pthread_getname_np(thread, name, sizeof(name)), 0);
    ck_assert_str_eq(name, "a name of more ");
    ck_assert(!thread_join_within(thread, 0));
    sem_post(&end);
    ck_assert(thread_join_within(thread, 180000));
    sem_destroy(&end);
}
END_TEST

START_TEST(a_wait_ends_at_its_instant) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    int64_t until_us = clock_monotonic_us() + 1000;

    thread_cond_init(&cond);
    pthread_mutex_lock(&lock);
    ck_assert(!thread_cond_wait(&cond, &lock, 0));
    while (thread_cond_wait(&cond, &lock, until_us))
        ;
    ck_assert_int_ge(clock_monotonic_us(), until_us);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&cond);
}
END_TEST

CHECK_MAIN("thread", a_thread_has_its_name_and_is_joined_in_time_or_not, a_wait_ends_at_its_instant)
