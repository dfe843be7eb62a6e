/*
 * Applies the I/O limits that the volume API defines to the disks of this host: it is queried
 * periodically, and differing limits are set.  So a new disk, a restarted guest and changed specs
 * or types have their limits soon, and a restart loses nothing.
 *
 * While the API does not respond, nothing changes.  Limits of other programs stay unless the volume
 * has limits of its own.
 */
#pragma once

#include "client/client.h"
#include "compute/hypervisor/hypervisor.h"

struct limiter;

struct limiter_settings {
    struct hypervisor *hypervisor;
    struct client api;
    const char *host;
    int64_t pause_ms; /* between two queries */
};

/* Starts immediately, in a thread of its own. */
struct limiter *limiter_new(const struct limiter_settings *settings);
void limiter_free(struct limiter *limiter);
