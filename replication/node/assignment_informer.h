/*
 * Assignment informer: lists the documents of replicas and volumes that name this node when the API
 * notifies a change (assignment_watches.h), at intervals, and more often while no watch is
 * connected.  All assignments are delivered when one has changed.
 *
 * A local volume that the API does not list for this node is read by its uid, and its own document
 * applies.  If the API does not know such a document, nothing is delivered: an orderly deletion
 * ends the target first.
 */
#pragma once

#include "client/client.h"
#include "replication/node/assignment.h"

struct assignment_informer;

struct assignment_informer_settings { /* referenced objects outlive it */
    struct client api;
    const char *node;
    int64_t period_ms; /* without a connected watch; 0: 1 000 */
    /* Called by its thread only. */
    void (*set_replicas)(void *arg, struct assignment *const *assignments, unsigned count);
    void (*set_volumes)(void *arg, struct assignment *const *assignments, unsigned count);
    const char **(*local_volumes)(void *arg, struct arena *arena); /* see targets_local_volumes() */
    void *arg;
};

int assignment_informer_start(const struct assignment_informer_settings *settings,
                              struct assignment_informer **ret, struct error *err);
/* Waits at most `ms`; false: it is blocked.  NULL is fine. */
bool assignment_informer_stop(struct assignment_informer *informer, int64_t ms);

/* Pause for a list that took so long: the API answers other nodes, too.  The duration may
 * be that of an outage, or of a suspension of this process, so the pause has a limit. */
int64_t assignment_informer_pause_us(int64_t list_us, int64_t period_ms);
/* Earliest begin of the next list, after one from begun_us to now_us: pauses may be late by a short
 * time, so that a few short lists follow each other at once.  `*paid_us` is kept between calls. */
int64_t assignment_informer_next_us(int64_t begun_us, int64_t now_us, int64_t period_ms,
                                    int64_t *paid_us);
