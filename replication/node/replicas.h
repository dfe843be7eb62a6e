/*
 * The replicas of one pool: creates their files, reads and reports their status, and deletes them
 * when their documents say so.
 *
 * Data are deleted for one reason only: the document exists and has a deletion time, the API
 * accepts the pool of this node, and the pool is the same before and afterwards.  Files that no
 * document names stay.  A file that existed before is created again without data, to be rebuilt by
 * its volume's target.
 *
 * Belongs to one thread, that of its pool; calls block as the pool does.
 */
#pragma once

#include "replication/node/pool_status.h"
#include "replication/node/reports.h"

struct replicas;
struct sessions;

struct replicas_settings {
    const char *pool, *path;   /* outlive it */
    struct sessions *sessions; /* of other nodes with these replicas; NULL: none */
    const char *run_directory; /* of write logs, which are deleted with the replicas; NULL: none */
    struct reports *reports;
    int64_t check_ms; /* between two checks of a healthy replica */
};

struct replicas *replicas_new(const struct replicas_settings *settings);
/* Cancels copies and reclaims; only replicas_free() may follow. */
void replicas_end(struct replicas *replicas);
void replicas_free(struct replicas *replicas);

/* All replicas assigned to this pool.  The files of others stay. */
void replicas_set(struct replicas *replicas, struct assignment *const *assignments, unsigned count);

/* Logs directories in the pool that no document names. */
void replicas_log_unknown(struct replicas *replicas);

/* All replicas are due, as after a change of the pool. */
void replicas_check_soon(struct replicas *replicas);
/* Reconciles the replicas that are due.  `accepted`: the pool, by the API.  Returns
 * when the next one is due, on the monotonic clock. */
int64_t replicas_work(struct replicas *replicas, const struct pool_status *pool, bool accepted);
