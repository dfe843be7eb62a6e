/*
 * Rounds of a job that is repeated until it has ended: the pause after each, and the limits of its
 * waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* ROUND_REPORTS: with an outcome that has to be reported first. */
enum round_end { ROUND_ENDED, ROUND_REPORTS, ROUND_WAITS, ROUND_RETRIES, ROUND_RETRIES_SLOWLY };

/* All zero: a new job. */
struct round_pace {
    unsigned tries;         /* consecutive failed calls */
    unsigned waits_for;     /* the job's code for its wait */
    int64_t waits_since_us; /* monotonic; 0: no wait */
};

/*
 * Milliseconds to the next round, after one that waits or failed; a failure is counted.  Pauses
 * after failures double; a refusal that only an operator can resolve has a long pause.
 */
int64_t round_pause_ms(struct round_pace *pace, enum round_end end, int64_t first_ms);

/* Has the job waited for `what`, without interruption, for less than that? */
bool round_may_wait(struct round_pace *pace, unsigned what, int64_t most_ms);
