/*
 * Guests that an I/O error of a volume over NBD has stopped go on when its server is there again:
 * looked for once in a while, as a server that begins anew tells nobody.  One that fails again is
 * stopped again, and was resumed once in that while.
 */
#pragma once

#include "compute/hypervisor.h"

struct reviver;

/* Begins at once, in a thread of its own. */
struct reviver *reviver_new(struct hypervisor *hypervisor, int64_t pause_ms);
void reviver_free(struct reviver *reviver);
