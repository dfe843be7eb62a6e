/*
 * Access to a replica in an unresponsive pool (health_probes.h) for a target: each call fails at
 * once, and nothing in the pool is accessed.
 */
#pragma once

#include "replication/engine/replica_access.h"

extern const struct replica_access replica_unresponsive;
/* -1. */
int unresponsive_refuse(const char *pool, struct error *err);
