/*
 * Ends unused sessions (sessions.h), as those of a target whose host crashed or could not reach
 * this node to close them.  A thread checks all sessions at intervals.  A session ends
 *
 *   when its volume's document shows that its target has ended: the volume is served in a later
 *   epoch, or is assigned to no node and its last node has reported that;
 *   when it had no connection for a while, whatever the document says or if there is none: a target
 *   that uses a replica is connected, and opens another session when its own has ended.
 *
 * A target stays when the API is about to reassign its volume, until the next target serves it.
 */
#pragma once

#include "client/client.h"
#include "replication/node/sessions.h"

struct session_reaper;

struct session_reaper_settings { /* referenced objects outlive it */
    struct sessions *sessions;
    struct client api;
    int64_t period_ms; /* 0: 120 000 */
    int64_t idle_ms;   /* without a connection; 0: 600 000 */
};

struct session_reaper *session_reaper_new(const struct session_reaper_settings *settings);
int session_reaper_start(struct session_reaper *reaper, struct error *err);
/* Waits at most `ms`; false: it is blocked, and its memory is kept.  NULL is fine. */
bool session_reaper_stop(struct session_reaper *reaper, int64_t ms);

/* Checks all sessions once, as the thread does; for one caller at a time. */
void session_reaper_scan(struct session_reaper *reaper);
