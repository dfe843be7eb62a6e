/*
 * One call of os-volume-trims of our own agents: the guest that has a volume gives back room.  No
 * compute service has such a call.
 */
#pragma once

#include "client/client.h"
#include "client/compute_answer.h"

struct compute_trim {
    const char *id; /* that the report names */
    const char *volume_id, *instance_uuid;
    const char *host, *endpoint, *request_id; /* as of an event */
    bool again;                               /* it was asked before */
};

/* At the endpoint that `client` has.  Refused with ERROR_BAD_REQUEST or ERROR_CONFLICT: it was
 * looked at, and cannot be done, or not now; err says why in words for people. */
enum event_verdict compute_trim_ask(const struct client *client, struct arena *arena,
                                    const struct compute_trim *trim, struct error *err);
