/*
 * Sums of a replica's blocks on the disk, for comparisons with other hosts
 * (replication/engine/replica_access.h).
 */
#pragma once

#include "replication/engine/replica_access.h"

/* As replica_access.sums, in any epoch; a `count` of 0: only the position of the first block. */
int replica_sums(const struct replica *replica, int64_t *at, int64_t end, unsigned count,
                 unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err);

/* `size` bytes from `at` on, as they stand on the disk. */
int replica_read(const struct replica *replica, int64_t at, size_t size, void *ret,
                 struct error *err);
