/*
 * What stands on the disk of a replica as sums, to be compared with others elsewhere
 * (replication/engine/replica_access.h).
 */
#pragma once

#include "replication/engine/replica_access.h"

/* As replica_access.sums, in any epoch; of a `count` of 0: only where the first block is. */
int replica_sums(const struct replica *replica, int64_t *at, int64_t end, unsigned count,
                 unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err);

/* `size` bytes from `at` on, as they stand on the disk. */
int replica_read(const struct replica *replica, int64_t at, size_t size, void *ret,
                 struct error *err);
