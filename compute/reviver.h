/*
 * Guests that an I/O error of a volume over NBD has stopped go on when its server is there again:
 * looked for once in a while, as a server that begins anew tells nobody.  One that fails again is
 * stopped again, and was resumed once in that while.
 *
 * Not so one of whose volumes the API says that they are not attached to it: whoever took it away
 * meanwhile has given it to another guest, and it is that one whom the server is there for.  An API
 * that does not answer is waited for.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor.h"

struct reviver_settings {
    struct hypervisor *hypervisor;
    struct client api;
    int64_t pause_ms;
};

struct reviver;

/* Begins at once, in a thread of its own. */
struct reviver *reviver_new(const struct reviver_settings *settings);
void reviver_free(struct reviver *reviver);
