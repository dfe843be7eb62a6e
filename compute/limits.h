/*
 * Holds the guests of this host to what the volume API says of their volumes: it is asked once in a
 * while, and what differs is set.  So a disk that is new, a guest that was started anew, and specs
 * or types that were changed have their limits soon, and whoever dies forgets nothing.
 *
 * While the API does not answer, everything stays.  Limits that somebody else has set stay unless
 * the volume has some of its own.
 */
#pragma once

#include "client/client.h"
#include "compute/hypervisor.h"

struct limiter;

struct limiter_settings {
    struct hypervisor *hypervisor;
    struct client api;
    const char *host;
    int64_t pause_ms; /* between two looks */
};

/* Begins at once, in a thread of its own. */
struct limiter *limiter_new(const struct limiter_settings *settings);
void limiter_free(struct limiter *limiter);
