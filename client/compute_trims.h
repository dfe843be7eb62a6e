/*
 * One call of os-volume-trims of scoria's agents: the guest with the volume discards unused blocks.
 * Other compute services have no such call.
 */
#pragma once

#include "client/client.h"
#include "client/compute_answer.h"

struct compute_trim {
    const char *id; /* named by the report */
    const char *volume_id, *instance_uuid;
    const char *host, *endpoint, *request_id; /* as of an event */
    bool again;                               /* a repeated request */
};

/* At the endpoint of `client`. Refused with ERROR_BAD_REQUEST or ERROR_CONFLICT: processed, and not
 * possible, or not now; err has the reason for users. */
enum event_verdict compute_trim_ask(const struct client *client, struct arena *arena,
                                    const struct compute_trim *trim, struct error *err);
