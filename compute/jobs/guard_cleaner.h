/*
 * At the start of the agent: removes the resize guards that a terminated agent may have left in
 * running guests.  An unresponsive guest keeps them until the next attempt on its disk.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"

struct cleaner;

/* Starts immediately, in a thread of its own; retried until the hypervisor responds. */
struct cleaner *guard_cleaner_new(struct hypervisor *hypervisor, int64_t retry_ms);
void guard_cleaner_free(struct cleaner *cleaner);
