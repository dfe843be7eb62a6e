/*
 * Failed rebuilds of one volume, remembered for each replica: one that cannot be rebuilt, as on
 * a full pool, delays its own next attempt and no other replica's.
 */
#pragma once

#include "common/backoff.h"
#include "common/error.h"
#include "replication/engine/generation.h"

#include <stdbool.h>
#include <stdint.h>

struct rebuild_failure {
    char replica[UUID_SIZE]; /* "": none */
    struct backoff backoff;
    struct error why;
    bool away; /* the replica cannot be rebuilt now: its pool is not there, or fails */
};

struct rebuild_failures { /* all zeros: none */
    struct rebuild_failure of[REPLICAS_MOST];
    unsigned decisions;
};

/* `now_us`, `retry_us`: of the monotonic clock. */
void rebuild_failures_add(struct rebuild_failures *failures, const char *replica,
                          const struct error *why, int64_t now_us);
/* Can the replica be rebuilt now?  When its pool has come back, its earlier failures are forgotten
 * and the next attempt is due. */
void rebuild_failures_see(struct rebuild_failures *failures, const char *replica, bool ready);
/* `decisions`: of the volume's target (target_status).  With each, blocks that a rebuild could not
 * read may be readable: the next attempt of every replica is due, and its failures stay counted. */
void rebuild_failures_heed(struct rebuild_failures *failures, unsigned decisions);
/* It was rebuilt. */
void rebuild_failures_forget(struct rebuild_failures *failures, const char *replica);
/* NULL: none of this replica. */
const struct rebuild_failure *rebuild_failures_find(const struct rebuild_failures *failures,
                                                    const char *replica);
/* The index of the one to be rebuilt next: due, and of these the one with the fewest failures, the
 * first of equals.  -1: none is due. */
int rebuild_failures_next(const struct rebuild_failures *failures, const char *const *replicas,
                          unsigned count, int64_t now_us);
