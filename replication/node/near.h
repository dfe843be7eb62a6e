/*
 * What lies in the pools of this node, for who is not to wait for one that ceases to answer between
 * a knock (knocks.h) and what is done there: each call is bounded (pool_calls.h), and where one was
 * left nothing else is done.
 *
 * Who waits for the data to be on the disk has the time of a call for each piece of them: a disk
 * that has gigabytes to write is slow, and loses no replica.
 *
 * A call that was left is done late, or not at all, as one at another host may be
 * (replication/engine/replica_access.h).  Nothing that was done there since is undone by it: who
 * left it does nothing there before it has come back, and who has opened the replica in a higher
 * epoch lets no other change it.
 */
#pragma once

#include "replication/engine/replica_access.h"
#include "replication/node/pool_calls.h"
#include "replication/node/pool_look.h"

/* replica_here, for target_settings.here; belongs to the thread of the calls. */
struct replica_access near_access(struct pool_calls *calls);
/* pool_look(); false: it does not answer. */
bool near_pool_look(struct pool_calls *calls, const char *path, const char *name,
                    struct pool_look *ret);
