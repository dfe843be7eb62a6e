/*
 * Rings when a document of this node has changed: two watches of the API, of replicas and of
 * volumes, each in a thread of its own.  What has changed is asked for by who hears it.
 */
#pragma once

#include "client/client.h"

#include <stdbool.h>

struct assignment_watches;

struct assignment_watches_settings { /* what they point to outlives them */
    struct client api;
    const char *node;
    void (*notify)(void *arg); /* by any of their threads */
    void *arg;
    int64_t retry_ms; /* after one that failed; 0: 5 000 */
};

int assignment_watches_start(const struct assignment_watches_settings *settings,
                             struct assignment_watches **ret, struct error *err);
/* Both watch: nothing changes unheard. */
bool assignment_watches_connected(struct assignment_watches *watches);
/* Within `ms`; false: one hangs.  NULL is fine. */
bool assignment_watches_stop(struct assignment_watches *watches, int64_t ms);
