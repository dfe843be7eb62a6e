/*
 * Ends sessions (sessions.h) that nobody will use again, as those of a target whose host died, or
 * that could not reach this one when it closed them.  A thread looks at all of them now and then.
 * One ends
 *
 *   when its volume's document says that its target is over: the volume is served in a later
 *   epoch, or wanted nowhere and its node has said so;
 *   when nobody was connected to it for a while, whatever the document says, or whether there is
 *   one: a target that uses a replica is connected, and one that finds its session gone opens
 *   another.
 *
 * A target that the API is about to take the volume from serves until the next one does.
 */
#pragma once

#include "client/client.h"
#include "replication/node/sessions.h"

struct session_reaper;

struct session_reaper_settings { /* what they point to outlives it */
    struct sessions *sessions;
    struct client api;
    int64_t period_ms; /* 0: 120 000 */
    int64_t idle_ms;   /* without a connection; 0: 600 000 */
};

struct session_reaper *session_reaper_new(const struct session_reaper_settings *settings);
int session_reaper_start(struct session_reaper *reaper, struct error *err);
/* Within `ms`; false: it hangs, and what it uses is left.  NULL is fine. */
bool session_reaper_stop(struct session_reaper *reaper, int64_t ms);

/* One look at all, as the thread does; for one caller at a time. */
void session_reaper_scan(struct session_reaper *reaper);
