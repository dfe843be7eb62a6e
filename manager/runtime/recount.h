/*
 * Recounts figures of pools that managers of the previous release, which may run beside this one,
 * do not maintain: compared with the rows soon after the start and then every hour, and written
 * only where they differ.
 */
#pragma once

#include "manager/runtime/state.private.h"

/* Does so when due.  Called by the ticker thread. */
int recount_pools(struct manager *manager, struct error *err);
