/*
 * Replacements of replicas by the service: how many run at once in all volumes, and whether so
 * many pools are offline that an outage, and no loss of disks, must be the cause.
 */
#pragma once

#include "operation/work.h"

/* Number of replicas being copied. */
int replica_replacement_count(struct work *work, int64_t *ret, struct error *err);
/* One of this config begins; without effect when one has begun. */
int replica_replacement_begin(struct work *work, const char *config_id, struct error *err);
/* It ends; without effect when there is none. */
int replica_replacement_end(struct work *work, const char *config_id, struct error *err);

/* 1: at least half of all pools have not been online throughout the last `us`; 0: fewer. */
int replica_replacement_is_outage(struct work *work, int64_t us, struct error *err);
