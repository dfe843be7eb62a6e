/*
 * What this node is to have, as the API says: the documents of replicas and volumes that name it. A
 * thread asks when the API tells of a change (assignment_watches.h), and now and then; as long as
 * it tells nothing, again and again.  All of it is handed over when something of it has changed.
 *
 * A volume that something is left of here and that the API no more names for this node is asked for
 * by its uid: what its own document says counts.  If the API knows no such document, nothing is
 * handed over: whoever deleted a volume in good order has seen its target end before.
 */
#pragma once

#include "client/client.h"
#include "replication/node/assignment.h"

struct assignment_informer;

struct assignment_informer_settings { /* what they point to outlives it */
    struct client api;
    const char *node;
    int64_t period_ms; /* while nothing is told of changes; 0: 1 000 */
    /* Called by its thread alone. */
    void (*set_replicas)(void *arg, struct assignment *const *assignments, unsigned count);
    void (*set_volumes)(void *arg, struct assignment *const *assignments, unsigned count);
    const char **(*local_volumes)(void *arg, struct arena *arena); /* see targets_held() */
    void *arg;
};

int assignment_informer_start(const struct assignment_informer_settings *settings,
                              struct assignment_informer **ret, struct error *err);
/* Within `ms`; false: it hangs.  NULL is fine. */
bool assignment_informer_stop(struct assignment_informer *informer, int64_t ms);
