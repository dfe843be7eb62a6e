/*
 * What lies in the pools of this node, seen by who is not to wait for one that ceases to answer
 * between a knock (knocks.h) and a look: the looks are bounded (looks.h), and where one was left
 * nothing else is done.
 */
#pragma once

#include "engine/replica_access.h"
#include "storage/looks.h"
#include "storage/pool_look.h"

/* replica_here, for target_settings.here. */
struct replica_access near_access(struct looks *looks);
/* replica_snapshot_size(); -1: the pool does not answer. */
int64_t near_snapshot_size(struct looks *looks, const struct replica *replica, const char *name);
/* pool_look(); false: it does not answer. */
bool near_pool_look(struct looks *looks, const char *path, const char *name, struct pool_look *ret);
