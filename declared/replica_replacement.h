/*
 * Replicas that the service replaces by itself: how many at once in all volumes, and whether the
 * pools that are offline are so many that their disks cannot be what is lost.
 */
#pragma once

#include "ledger/work.h"

/* How many are being copied. */
int replica_replacement_count(struct work *work, int64_t *ret, struct error *err);
/* One of this config is; nothing when it was already. */
int replica_replacement_begin(struct work *work, const char *config_id, struct error *err);
/* None is any more; nothing when none was. */
int replica_replacement_end(struct work *work, const char *config_id, struct error *err);

/* 1: half of all pools, or more, have not been online for the last `us`; 0: fewer. */
int replica_replacement_is_outage(struct work *work, int64_t us, struct error *err);
