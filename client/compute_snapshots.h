/*
 * One call of os-assisted-volume-snapshots, and what an answer of the compute side means.
 */
#pragma once

#include "client/client.h"

enum event_verdict {
    EVENT_REFUSED = -1, /* certainly nobody acts: err says why (R39, R40, X17) */
    EVENT_ACCEPTED = 0,
    EVENT_UNKNOWN = 1, /* it may have arrived (X18): the deadline decides; err says why */
};

/* File names as struct driver_assist has them. */
struct compute_assist {
    const char *volume_id, *snapshot_id;
    const char *host, *endpoint, *request_id; /* as of an event */
    bool again;                               /* it was asked before */
    const char *new_file;                     /* NULL: the snapshot is deleted */
    const char *file_to_merge, *merge_target_file;
};

/* At the endpoint that `client` has. */
enum event_verdict compute_snapshot_ask(const struct client *client, struct arena *arena,
                                        const struct compute_assist *assist, struct error *err);
/* Does the answer to any call say for certain that nobody acts? */
bool compute_turned_away(const struct http_answer *answer, const json_t *root);
