/*
 * What stands on the disk of a replica as sums, to be compared with others elsewhere
 * (engine/replica_access.h).
 */
#pragma once

#include "engine/replica_access.h"

/* As replica_access.sums, in any epoch. */
int replica_sums(const struct replica *replica, int64_t *at, int64_t end, unsigned count,
                 unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err);
