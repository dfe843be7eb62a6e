/*
 * The highest epoch that ever opened a replica (replication/engine/replica_access.h), in a file
 * beside its state. It is a file of its own: a state that is lost or damaged removes no fence.
 *
 * A call that changes a replica holds its epoch meanwhile, and no higher one is taken; that is for
 * moments only. An epoch that another process holds for seconds, because it was paused, is
 * ERROR_UNAVAILABLE.
 */
#pragma once

#include "replication/engine/replica.h"

/* 0: none opened it. -1: unknown, and so no epoch may open it. */
int64_t replica_epoch(const struct replica *replica, struct error *err);

/* Raises it to at least `epoch`, durably. ERROR_CONFLICT: a higher one opened it, and nothing
 * changes. */
int replica_epoch_take(const struct replica *replica, int64_t epoch, struct error *err);

/* The functions of replication/engine/replica.h, while they hold the epoch; a reset takes it, too.
 */
int replica_write_state_in(const struct replica *replica, int64_t epoch,
                           const struct replica_state *state, struct error *err);
int replica_reset_in(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                     int64_t epoch, struct error *err);
