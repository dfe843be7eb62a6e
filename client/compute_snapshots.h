/*
 * One call of os-assisted-volume-snapshots.
 */
#pragma once

#include "client/client.h"
#include "client/compute_answer.h"

/* File names as struct driver_assist has them. */
struct compute_assist {
    const char *volume_id, *snapshot_id;
    const char *host, *endpoint, *request_id; /* as of an event */
    bool again;                               /* it was asked before */
    const char *new_file;                     /* NULL: the snapshot is deleted */
    const char *const *together; /* snapshots that are taken at one moment, this one among them */
    unsigned together_count;     /* 0: it is taken alone; only our own agents know more */
    const char *file_to_merge, *merge_target_file;
};

/* At the endpoint that `client` has.  Refused with ERROR_BAD_REQUEST: it was looked at, and cannot
 * be done. */
enum event_verdict compute_snapshot_ask(const struct client *client, struct arena *arena,
                                        const struct compute_assist *assist, struct error *err);
