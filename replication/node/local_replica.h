/*
 * Access to replicas in pools of this node with a timeout for each call (pool_calls.h), as a pool
 * may become unresponsive between a probe (health_probes.h) and the call.  A pool with an abandoned
 * call is not accessed.
 *
 * Where data must be written to the disk, each piece of it has the timeout of a call: a disk with
 * gigabytes to write is slow, and its replica is not lost.
 *
 * An abandoned call may take effect late or never, as one at another host may
 * (replication/engine/replica_access.h).  It does not undo later changes: its caller does nothing
 * else in that pool before the call has returned, and a replica opened in a higher epoch refuses
 * it.
 */
#pragma once

#include "replication/engine/replica_access.h"
#include "replication/node/pool_calls.h"
#include "replication/node/pool_status.h"

/* replica_local with timeouts, for target_settings.here; belongs to the thread of the calls. */
struct replica_access local_replica_access(struct pool_calls *calls);
/* pool_status_read(); false: the pool is unresponsive. */
bool local_pool_status(struct pool_calls *calls, const char *path, const char *name,
                       struct pool_status *ret);
