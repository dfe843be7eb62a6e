#include "csi/node/volume_lock.h"

#include "common/clock.h"
#include "common/thread.h"

#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t released;
static struct volume_lock *locks;

static void prepare(void) {
    thread_cond_init(&released);
}

/* The caller holds the mutex. */
static struct volume_lock *volume_lock_find(const char *name) {
    struct volume_lock *lock = locks;

    while (lock && strcmp(lock->name, name) != 0)
        lock = lock->next;
    return lock;
}

/* The caller holds the mutex. */
static bool try_take(struct volume_lock *lock, const char *name) {
    if (volume_lock_find(name))
        return false;
    *lock = (struct volume_lock){ .name = name, .next = locks };
    locks = lock;
    return true;
}

bool volume_lock_try(struct volume_lock *lock, const char *name) {
    bool taken;

    pthread_mutex_lock(&mutex);
    taken = try_take(lock, name);
    pthread_mutex_unlock(&mutex);
    return taken;
}

bool volume_lock_request(struct volume_lock *lock, const char *name) {
    bool taken;

    pthread_mutex_lock(&mutex);
    taken = try_take(lock, name);
    if (!taken)
        volume_lock_find(name)->requested = true;
    pthread_mutex_unlock(&mutex);
    return taken;
}

bool volume_lock_is_requested(const struct volume_lock *lock) {
    bool requested;

    pthread_mutex_lock(&mutex);
    requested = lock->requested;
    pthread_mutex_unlock(&mutex);
    return requested;
}

bool volume_lock_wait(struct volume_lock *lock, const char *name, int64_t most_ms) {
    int64_t until_us = clock_monotonic_us() + most_ms * 1000;
    bool taken;

    pthread_once(&once, prepare);
    pthread_mutex_lock(&mutex);
    while (!(taken = try_take(lock, name)) && thread_cond_wait(&released, &mutex, until_us))
        ;
    pthread_mutex_unlock(&mutex);
    return taken;
}

void volume_lock_release(struct volume_lock *lock) {
    struct volume_lock **at = &locks;

    if (!lock->name)
        return;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&mutex);
    while (*at != lock)
        at = &(*at)->next;
    *at = lock->next;
    lock->name = NULL;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&mutex);
}
