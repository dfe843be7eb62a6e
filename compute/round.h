/*
 * Rounds of a job that is repeated until it has ended: the pause behind each, and how long
 * something is waited for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* ROUND_REPORTS: with an outcome that is to be told first. */
enum round_end { ROUND_ENDED, ROUND_REPORTS, ROUND_WAITS, ROUND_RETRIES, ROUND_RETRIES_SLOWLY };

/* All zero: a job that begins. */
struct round_pace {
    unsigned tries;         /* failed calls in a row */
    unsigned waits_for;     /* as the job calls it */
    int64_t waits_since_us; /* monotonic; 0: does not wait */
};

/*
 * Milliseconds to the next round, behind one that waits or will be tried again, which counts as
 * one more try.  Pauses of tries double; a refusal that only an operator can end has a long one.
 */
int64_t round_pause_ms(struct round_pace *pace, enum round_end end, int64_t first_ms);

/* Has `what` been waited for, and nothing else meanwhile, for less than that? */
bool round_may_wait(struct round_pace *pace, unsigned what, int64_t most_ms);
