/*
 * Sums over volumes, without reading them one by one.  `all_projects` is for admins; other callers
 * get their own project.
 */
#pragma once

#include "model/volume/volume.h"

struct summary {
    const char *project_id; /* NULL: of all projects in the query */
    int64_t count, size_gb;
};

int summary_volumes(struct work *work, bool all_projects, struct summary *ret, struct error *err);
/* Of a backend (node@backend): the total first, then each project's; how many. */
struct host_summary {
    struct summary volumes, snapshots; /* the project is the volumes' */
};
int summary_of_host(struct work *work, const char *host, struct host_summary **ret,
                    struct error *err);
/* Every different pair of user metadata, ordered by key and value. */
int summary_metadata(struct work *work, bool all_projects, struct pairs *ret, struct error *err);
