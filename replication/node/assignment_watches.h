/*
 * Notifies changes of this node's documents: two watches of the API, of replicas and of volumes,
 * each in a thread of its own.  The receiver reads the documents.
 */
#pragma once

#include "client/client.h"

#include <stdbool.h>

struct assignment_watches;

struct assignment_watches_settings { /* referenced objects outlive them */
    struct client api;
    const char *node;
    void (*notify)(void *arg); /* called by any of their threads */
    void *arg;
    int64_t retry_ms; /* after a failure; 0: 5 000 */
};

int assignment_watches_start(const struct assignment_watches_settings *settings,
                             struct assignment_watches **ret, struct error *err);
/* Both are connected: every change is notified. */
bool assignment_watches_connected(struct assignment_watches *watches);
/* Waits at most `ms`; false: one is blocked.  NULL is fine. */
bool assignment_watches_stop(struct assignment_watches *watches, int64_t ms);
