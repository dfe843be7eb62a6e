/*
 * Work on one thing by one thread at a time, by the thing's name: a volume, a share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct turn {
    const char *name; /* while it is had, what it was taken for */
    struct turn *next;
    bool wanted;
};

/* false: somebody else has it.  `name` must live until turn_leave(). */
bool turn_take(struct turn *turn, const char *name);
/* The same, and whoever has it can see that it is wanted. */
bool turn_want(struct turn *turn, const char *name);
bool turn_is_wanted(const struct turn *turn);
/* false: somebody else has had it for all of `most_ms`. */
bool turn_wait(struct turn *turn, const char *name, int64_t most_ms);
/* Of one that is not had: nothing. */
void turn_leave(struct turn *turn);

#define autoturn __attribute__((cleanup(turn_leave)))
