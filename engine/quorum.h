/*
 * Which replicas of a volume may vote, and may the volume be served?  Pure functions of the
 * replicas' states (engine/generation.h).
 *
 * What is relied on: a write is answered only if as many members of the generation have it as are
 * needed; a volume starts, and another replica is written to, only after all that go on have a new
 * generation that names them and no others, durably; and only with more than half of the
 * replicas that are wanted.  So of any two that were ever written to, one is made from the other
 * or a common replica knows both, and who has missed a write is in no generation that counts:
 *
 *   - a replica votes for a generation that names it and that it has itself, or whose base it has
 *     (then writing the generation was interrupted, and a majority of the base is asked for, too);
 *   - the highest generation counts, and of two with one number the one that a majority votes for;
 *     if it has no majority, none has: what cannot be reached may know more;
 *   - a stale, empty, damaged or foreign replica never votes, and is to be rebuilt;
 *   - nor does one of before the last salvage (engine/target_salvage.c), even where those that
 *     were salvaged cannot be reached and the others would be a majority.
 *
 * How many are wanted may change with any generation, if generation_follows().  Who is new in one
 * is the last that it is written to.
 *
 * After a writer that did not end in good order replicas may differ where writes were on their way.
 * They are made level before anybody reads.  A write is answered when as many members have it as
 * are needed; so what it has overwritten is on no more than members - needed of them, and what one
 * more voter than that says is right, whoever is missing.  With a member away from three, two must
 * agree; of two members any is right; of four of five, two.  If voters were seen to differ while
 * they were served, or one may have missed a write when another was left out, as many as are needed
 * must.
 */
#pragma once

#include "engine/generation.h"

enum quorum_verdict {
    QUORUM_NONE,      /* too few voters, or it cannot be told which */
    QUORUM_SERVES,    /* the voters are equal */
    QUORUM_LEVEL,     /* … after `level_votes` have made them so */
    QUORUM_AMBIGUOUS, /* two generations might count */
};

struct quorum_plan {
    enum quorum_verdict verdict;
    bool votes[REPLICAS_MOST]; /* by the index of the state */
    unsigned voters, needed;   /* needed: 0 if nothing is known */
    /* How many equal ones decide about a block: 1 any, `voters` all must agree. */
    unsigned level_votes;
    bool stopped_clean;
    struct generation current; /* the one that counts */
};

/* states[i] is NULL when the replica cannot be used: away, damaged, too short, read only.  `floor`:
 * generation_floor() of the last salvage. */
void quorum_plan(const char *volume, const struct replica_state *const *states, unsigned count,
                 int64_t floor, struct quorum_plan *ret);

/* May a volume of `current` go on without the replica? */
bool quorum_spares(const struct generation *current, const char *replica);
