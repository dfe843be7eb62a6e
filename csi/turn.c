#include "csi/turn.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct turn *turns;

/* With the lock. */
static bool try_take(struct turn *turn, const char *name) {
    for (const struct turn *other = turns; other; other = other->next)
        if (strcmp(other->name, name) == 0)
            return false;
    *turn = (struct turn){ name, turns };
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

void turn_wait(struct turn *turn, const char *name) {
    pthread_mutex_lock(&lock);
    while (!try_take(turn, name))
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

void turn_leave(struct turn *turn) {
    struct turn **at = &turns;

    if (!turn->name)
        return;
    pthread_mutex_lock(&lock);
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    turn->name = NULL;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&lock);
}
