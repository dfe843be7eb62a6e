/*
 * Work on one thing by one thread at a time, by the thing's name: a volume, a share.
 */
#pragma once

#include <stdbool.h>

struct turn {
    const char *name; /* while it is had, what it was taken for */
    struct turn *next;
};

/* false: somebody else has it.  `name` must live until turn_leave(). */
bool turn_take(struct turn *turn, const char *name);
void turn_wait(struct turn *turn, const char *name);
/* Of one that is not had: nothing. */
void turn_leave(struct turn *turn);

#define autoturn __attribute__((cleanup(turn_leave)))
