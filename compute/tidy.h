/*
 * At the start of the agent: takes away what its forerunner, killed in the middle of an attempt,
 * may have left in running guests.  A guest that does not answer keeps it until the next attempt
 * on its disk.
 */
#pragma once

#include "compute/hypervisor.h"

struct tidier;

/* Begins at once, in a thread of its own; tried again until the hypervisor answers. */
struct tidier *tidier_new(struct hypervisor *hypervisor, int64_t retry_ms);
void tidier_free(struct tidier *tidier);
