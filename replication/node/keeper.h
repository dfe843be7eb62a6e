/*
 * Keeps one volume's target as its document says: opens it, starts it, watches it, makes replicas
 * level, rebuilds those that do not vote, lets it grow, stops it, and reports how it is.
 *
 * Each has a thread: a pool that hangs or a daemon that does not answer holds up its own volume and
 * no other.  A keeper that ends because the agent does leaves the daemon to serve; the next one
 * finds it.
 */
#pragma once

#include "replication/node/reports.h"

struct gates_settings;
struct keeper;
struct knocks;
struct rebuilds;
struct replica_access;
struct sessions;

struct keeper_settings { /* what they point to outlives every keeper */
    const char *node;
    const char *run_directory; /* of all volumes */
    /* Of replicas of other nodes, and of other nodes with ours; NULL: there are none. */
    const struct replica_access *remote;
    struct sessions *sessions;
    const struct gates_settings *gates; /* NULL: no other host is let in */
    struct knocks *knocks;              /* NULL: nobody asks whether pools answer */
    const char *tls_directory;
    const char *program; /* NULL: qemu-storage-daemon */
    struct reports *reports;
    struct rebuilds *rebuilds, *scrubs;
    int64_t rebuild_speed;    /* bytes a second; 0: as fast as it can */
    int64_t scrub_speed;      /* the same of comparing replicas, */
    int64_t scrub_interval_s; /* from the end of one time to the next; 0: when it is found again */
    int64_t timeout_ms;       /* of one answer of the daemon; 0: the engine's */
    int64_t watch_ms;         /* between two looks at one that is well; 0: 1 000 */
    int64_t retry_ms;         /* before the first repetition of what failed; 0: 1 000 */
    int64_t hang_ms; /* a pool may not answer, before its replica is done without; 0: 6 000 */
};

/* Holds the assignment. */
int keeper_start(const struct keeper_settings *settings, struct assignment *assignment,
                 struct keeper **ret, struct error *err);
/* False: it has ended. */
bool keeper_set(struct keeper *keeper, struct assignment *assignment);
/* No document names it any more: without a target it ends. */
void keeper_unname(struct keeper *keeper);
const char *keeper_uid(const struct keeper *keeper);

/* It has stopped its target because nobody wants it here, and does nothing any more; nor does what
 * it has left in a pool that hangs. */
bool keeper_ended(struct keeper *keeper);
void keeper_tell_end(struct keeper *keeper);
/* Within `ms`, after it has ended or was told to; false: it hangs, and what it uses is left.
 * *ret_left: so is what may change something in a pool yet, and has nothing of ours. */
bool keeper_join(struct keeper *keeper, int64_t ms, bool *ret_left);

/* Has this volume something in the run directory, or a daemon? */
bool keeper_finds(const struct keeper_settings *settings, const char *uid);
/* Reports that the volume has no target here. */
void keeper_report_none(const struct keeper_settings *settings,
                        const struct assignment *assignment);
