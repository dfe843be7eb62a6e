/*
 * Which replicas of a volume may vote, and may the volume be served? Pure functions of the
 * replicas' states (replication/engine/generation.h).
 *
 * They rely on these promises: a write is answered only if as many members of the generation have
 * it as are needed; a volume starts, and another replica is written to, only after all remaining
 * members have, durably, a new generation that names them and no others; and only with more than
 * half of the wanted replicas. Some may have only the base when another replica joins: those that
 * have the new one are enough, and the others no majority of the base. So of any two generations
 * that were ever written to, one is made from the other or a common replica knows both, and a
 * replica that missed a write is in no generation that counts:
 *
 *   - a replica votes for a generation that names it and that it has itself, or whose base it
 *     has (then writing the generation was interrupted, and a majority of the base is required,
 *     too);
 *   - the highest generation counts, and of two with one number the one that a majority votes
 *     for; if it has no majority, none has: an unreachable replica may have a higher one;
 *   - a stale, empty, damaged or foreign replica never votes, and is to be rebuilt;
 *   - nor does one of before the last forced recovery (replication/engine/target_recovery.c),
 *     even where the recovered replicas cannot be reached and the others would be a majority.
 *
 * The wanted number may change with any generation, if generation_follows(). The generation is
 * written to a new member last, or first where the others are too few for it: these have its base,
 * and with it they are enough.
 *
 * After an unclean stop voters may differ: where a write was in flight, and where one has missed an
 * answered write. A block is read only if as many voters are equal there as are needed. A write is
 * answered when as many members have it as are needed, so the content that it has overwritten is on
 * wanted - needed of them at most, which are fewer than are needed: an equal majority always has
 * the last answered write. No content is ever chosen: a block without a majority is refused. So the
 * volume is served at once, and the replicas are compared and repaired meanwhile
 * (resynchronization); but the wanted number is not lowered before that has ended, since fewer
 * votes would be needed then than members may lack a write.
 */
#pragma once

#include "replication/engine/generation.h"

enum quorum_verdict {
    QUORUM_NONE,      /* too few voters, or they cannot be determined */
    QUORUM_SERVES,    /* the voters are equal, but for damage */
    QUORUM_RESYNC,    /* an unclean stop: served at once, and resynchronized meanwhile */
    QUORUM_AMBIGUOUS, /* two generations might count */
};

struct quorum_plan {
    enum quorum_verdict verdict;
    bool votes[MEMBERS_MOST]; /* by the index of the state */
    unsigned voters, needed;  /* needed: 0 if no generation is known */
    bool stopped_clean;
    struct generation current; /* the one that counts */
};

/* Up to MEMBERS_MOST states. states[i] is NULL when the replica cannot be used: missing, damaged,
 * too short, read only.  `floor`: generation_floor() of the last forced recovery. */
void quorum_plan(const char *volume, const struct replica_state *const *states, unsigned count,
                 int64_t floor, struct quorum_plan *ret);

/* Has `current` a majority without the replica? */
bool quorum_spares(const struct generation *current, const char *replica);
