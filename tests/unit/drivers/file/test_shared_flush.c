#include "drivers/file/shared_flush.h"

#include "tests/lib/check_main.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

enum { THREADS = 4 };

static struct {
    struct shared_flush flush;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int begun, allowed; /* calls of fsync() */
    int fails;          /* the number of the one that does */
} disk;

/* In place of the system's: each waits until it is allowed. */
int fsync(int fd) {
    int number;

    (void)fd;
    pthread_mutex_lock(&disk.lock);
    number = ++disk.begun;
    pthread_cond_broadcast(&disk.changed);
    while (disk.allowed < number)
        pthread_cond_wait(&disk.changed, &disk.lock);
    pthread_mutex_unlock(&disk.lock);
    errno = EIO;
    return number == disk.fails ? -1 : 0;
}

static void setup(int fails) {
    shared_flush_init(&disk.flush);
    pthread_mutex_init(&disk.lock, NULL);
    pthread_cond_init(&disk.changed, NULL);
    disk.begun = disk.allowed = 0;
    disk.fails = fails;
}

static void allow(int number) {
    pthread_mutex_lock(&disk.lock);
    disk.allowed = number;
    pthread_cond_broadcast(&disk.changed);
    pthread_mutex_unlock(&disk.lock);
}

static void wait_begun(int number) {
    pthread_mutex_lock(&disk.lock);
    while (disk.begun < number)
        pthread_cond_wait(&disk.changed, &disk.lock);
    pthread_mutex_unlock(&disk.lock);
}

static void wait_waiting(unsigned threads) {
    unsigned waiting;

    do {
        sched_yield();
        pthread_mutex_lock(&disk.flush.lock);
        waiting = disk.flush.waiting;
        pthread_mutex_unlock(&disk.flush.lock);
    } while (waiting < threads);
}

/* Its errno. */
static void *flush_once(void *arg) {
    (void)arg;
    return (void *)(intptr_t)(shared_flush(&disk.flush, -1) < 0 ? errno : 0);
}

/* One thread's flush is in progress when the others come; the errno of each. */
static void flush_together(int fails, int results[THREADS]) {
    pthread_t threads[THREADS];
    void *result;

    setup(fails);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, flush_once, NULL), 0);
        if (i == 0)
            wait_begun(1);
    }
    wait_waiting(THREADS - 1);
    allow(THREADS);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        results[i] = (int)(intptr_t)result;
    }
}

START_TEST(threads_that_come_during_a_flush_share_the_next_one) {
    int results[THREADS];

    flush_together(0, results);
    ck_assert_int_eq(disk.begun, 2);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(results[i], 0);
    ck_assert_int_eq(shared_flush(&disk.flush, -1), 0);
    ck_assert_int_eq(disk.begun, 3);
}
END_TEST

START_TEST(a_failure_is_of_all_threads_that_shared_the_flush) {
    int results[THREADS];

    flush_together(1, results);
    ck_assert_int_eq(results[0], EIO);
    for (int i = 1; i < THREADS; i++)
        ck_assert_int_eq(results[i], 0);
    flush_together(2, results);
    ck_assert_int_eq(results[0], 0);
    for (int i = 1; i < THREADS; i++)
        ck_assert_int_eq(results[i], EIO);
    ck_assert_int_eq(shared_flush(&disk.flush, -1), 0);
}
END_TEST

CHECK_MAIN("shared_flush", threads_that_come_during_a_flush_share_the_next_one,
           a_failure_is_of_all_threads_that_shared_the_flush)
