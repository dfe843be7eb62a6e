/*
 * Which replicas of a volume may vote, and may the volume be served?  Pure functions of the
 * replicas' states (replication/engine/generation.h).
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
 *   - nor does one of before the last salvage (replication/engine/target_recovery.c), even where
 *     those that were salvaged cannot be reached and the others would be a majority.
 *
 * How many are wanted may change with any generation, if generation_follows().  Who is new in one
 * is the last that it is written to.
 *
 * Behind an unclean stop voters may differ: where a write was in flight, and where one has missed a
 * write that was answered.  A block is read only if as many voters are equal there as are needed.
 * A write is answered when as many members have it as are needed, so what it has overwritten is on
 * wanted - needed of them at most, which are fewer than are needed: an equal majority always has
 * the last write that was answered.  Nothing is ever chosen: a block without a majority is refused.
 * So the volume is served at once, and the replicas are compared and repaired while it is
 * (resynchronization); but how many are wanted is not lowered before that has ended, since fewer
 * votes would be needed then than members may lack a write.
 */
#pragma once

#include "replication/engine/generation.h"

enum quorum_verdict {
    QUORUM_NONE,      /* too few voters, or it cannot be told which */
    QUORUM_SERVES,    /* the voters are equal, but for damage */
    QUORUM_RESYNC,    /* an unclean stop: served at once, and resynchronized meanwhile */
    QUORUM_AMBIGUOUS, /* two generations might count */
};

struct quorum_plan {
    enum quorum_verdict verdict;
    bool votes[REPLICAS_MOST]; /* by the index of the state */
    unsigned voters, needed;   /* needed: 0 if nothing is known */
    bool stopped_clean;
    struct generation current; /* the one that counts */
};

/* states[i] is NULL when the replica cannot be used: away, damaged, too short, read only.  `floor`:
 * generation_floor() of the last salvage. */
void quorum_plan(const char *volume, const struct replica_state *const *states, unsigned count,
                 int64_t floor, struct quorum_plan *ret);

/* May a volume of `current` go on without the replica? */
bool quorum_spares(const struct generation *current, const char *replica);
