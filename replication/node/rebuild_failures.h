/*
 * Failed rebuilds and repairs of one volume, for each replica: a replica that cannot be rebuilt, as
 * on a full pool, delays its own next attempt only.  A snapshot that failed is one of them.
 */
#pragma once

#include "common/backoff.h"
#include "common/error.h"
#include "replication/engine/generation.h"

#include <stdbool.h>
#include <stdint.h>

/* So much more free space than twice the former is worth an attempt after lack of it. */
#define REBUILD_SPACE_BYTES (INT64_C(1) << 20)

#define REBUILD_FAILURE_SNAPSHOT "snapshot" /* in place of a replica */

struct rebuild_failure {
    char replica[UUID_SIZE]; /* "": none */
    struct backoff backoff;
    struct error why;
    bool away;                /* the replica cannot be rebuilt now: its pool is missing or fails */
    int64_t least_free_bytes; /* of its pool since then; -1: not known */
};

struct rebuild_failures {                        /* all zeros: none */
    struct rebuild_failure of[MEMBERS_MOST + 2]; /* and of no single replica, and of a snapshot */
    unsigned decisions;
};

/* `now_us`, `retry_us`: of the monotonic clock. */
void rebuild_failures_add(struct rebuild_failures *failures, const char *replica,
                          const struct error *why, int64_t now_us);
/* Notes whether the replica can be rebuilt now.  The return of its pool resets its failures, and
 * its next attempt is due. */
void rebuild_failures_see(struct rebuild_failures *failures, const char *replica, bool ready);
bool rebuild_failures_lack_space(const struct rebuild_failures *failures);
/* Free space of its pool;  After a failure for lack of space, more space makes the next
 * attempt due. */
void rebuild_failures_note_space(struct rebuild_failures *failures, const char *replica,
                                 int64_t free_bytes);
/* `decisions`: of the volume's target (target_status).  Each may have made blocks readable that a
 * rebuild could not read: the next attempt of every replica is due, with its failures still
 * counted. */
void rebuild_failures_note_decisions(struct rebuild_failures *failures, unsigned decisions);
/* After a successful rebuild. */
void rebuild_failures_forget(struct rebuild_failures *failures, const char *replica);
/* NULL: none. */
const struct rebuild_failure *rebuild_failures_find(const struct rebuild_failures *failures,
                                                    const char *replica);
/* Index of the next replica to be rebuilt: of those due the one with the fewest failures, the first
 * of equals.  -1: none is due. */
int rebuild_failures_next(const struct rebuild_failures *failures, const char *const *replicas,
                          unsigned count, int64_t now_us);
