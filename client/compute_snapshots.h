/*
 * One call of os-assisted-volume-snapshots.
 */
#pragma once

#include "client/client.h"
#include "client/compute_answer.h"

/* File names as in struct driver_assist. */
struct compute_assist {
    const char *volume_id, *snapshot_id;
    const char *host, *endpoint, *request_id; /* as of an event */
    bool again;                               /* a repeated request */
    const char *new_file;                     /* NULL: the snapshot is deleted */
    const char *const *together; /* the snapshots of one atomic set, including this one */
    unsigned together_count;     /* 0: a single snapshot; agents of scoria only */
    const char *file_to_merge, *merge_target_file;
};

/* At the endpoint of `client`. Refused with ERROR_BAD_REQUEST: processed, and not possible. */
enum event_verdict compute_snapshot_ask(const struct client *client, struct arena *arena,
                                        const struct compute_assist *assist, struct error *err);
