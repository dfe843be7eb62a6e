/*
 * Resumes guests that an I/O error of a volume over NBD has stopped, when the server is available
 * again.  It is probed periodically, as a restarted server sends no notification.  A guest that
 * fails again stops again, at most once in that period.
 *
 * A guest is not resumed when one of its volumes is no longer attached to it according to the API:
 * the volume may have been attached to another guest meanwhile.  While the API does not respond,
 * the guest stays stopped.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor/hypervisor.h"

struct resumer_settings {
    struct hypervisor *hypervisor;
    struct client api;
    int64_t pause_ms;
};

struct resumer;

/* Starts immediately, in a thread of its own. */
struct resumer *resumer_new(const struct resumer_settings *settings);
void resumer_free(struct resumer *resumer);
