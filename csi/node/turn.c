#include "csi/node/turn.h"

#include "common/clock.h"
#include "common/thread.h"

#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t left;
static struct turn *turns;

static void prepare(void) {
    thread_cond_init(&left);
}

/* With the lock. */
static struct turn *find(const char *name) {
    struct turn *turn = turns;

    while (turn && strcmp(turn->name, name) != 0)
        turn = turn->next;
    return turn;
}

/* With the lock. */
static bool try_take(struct turn *turn, const char *name) {
    if (find(name))
        return false;
    *turn = (struct turn){ .name = name, .next = turns };
    turns = turn;
    return true;
}

bool turn_take(struct turn *turn, const char *name) {
    bool taken;

    pthread_mutex_lock(&lock);
    taken = try_take(turn, name);
    pthread_mutex_unlock(&lock);
    return taken;
}

bool turn_want(struct turn *turn, const char *name) {
    bool taken;

    pthread_mutex_lock(&lock);
    taken = try_take(turn, name);
    if (!taken)
        find(name)->wanted = true;
    pthread_mutex_unlock(&lock);
    return taken;
}

bool turn_is_wanted(const struct turn *turn) {
    bool wanted;

    pthread_mutex_lock(&lock);
    wanted = turn->wanted;
    pthread_mutex_unlock(&lock);
    return wanted;
}

bool turn_wait(struct turn *turn, const char *name, int64_t most_ms) {
    int64_t until_us = clock_monotonic_us() + most_ms * 1000;
    bool taken;

    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    while (!(taken = try_take(turn, name)) && thread_cond_wait(&left, &lock, until_us))
        ;
    pthread_mutex_unlock(&lock);
    return taken;
}

void turn_leave(struct turn *turn) {
    struct turn **at = &turns;

    if (!turn->name)
        return;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    turn->name = NULL;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&lock);
}
