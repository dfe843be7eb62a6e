/*
 * Hosts of volumes (node@backend) without a manager, as after a machine or a section of the
 * configuration was renamed, and the renaming of their rows.
 *
 * The host of an attachment is that of a connector and is no host of this kind; nodes of replica
 * pools and declared volumes are those of storage agents, and keep their names, too.
 */
#pragma once

#include "operation/work.h"

struct unserved_host {
    const char *host;
    int64_t volumes, groups, operations;
    int64_t reported_at; /* as from `now` */
};

/* Hosts with rows whose manager has not reported for service_down_time, without those of `served`
 * (ended with NULL); how many. */
int host_unserved(struct work *work, const char *const *served, struct unserved_host **ret,
                  struct error *err);

/*
 * Renames a node with all of its backends, one backend (node@backend), or one pool of a backend
 * (node@backend#pool).  The new name has the same form, and is valid; the old one may be any that
 * rows have, as one with '#' in its node.  A pool stays at its backend.  Counts the rows with the
 * old name.  Of a node "a" and a node "a@x" that had a manager each keeps its backends.
 */
struct host_rename {
    const char *old_name, *new_name;
    bool dry_run;
    int64_t volumes, groups, operations, messages, pools, services;
};

/* ERROR_BAD_REQUEST: an invalid name; ERROR_NOT_FOUND: no row has it; ERROR_CONFLICT: its manager
 * reports, or a backend may be that of another node. */
int host_rename(struct work *work, struct host_rename *rename, struct error *err);
