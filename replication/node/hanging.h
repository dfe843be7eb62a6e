/*
 * A replica in a pool that does not answer (knocks.h), as a target is to see it: nothing of it is
 * touched, and each call says so.
 */
#pragma once

#include "replication/engine/replica_access.h"

extern const struct replica_access replica_hanging;
/* -1. */
int hanging_refuse(const char *pool, struct error *err);
