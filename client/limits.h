/*
 * What users of volumes on a host are held to, as the volume API says (os-volume-limits).  Failures
 * are client.h's.
 */
#pragma once

#include "client/client.h"
#include "common/io_limits.h"

struct remote_limits {
    const char *volume_id;
    struct io_limits limits;
};

/* Of the volumes attached to the host that have any.  Returns how many. */
int limits_list(const struct client *api, struct arena *arena, const char *host,
                struct remote_limits **ret, struct error *err);
/* That of the volume; NULL: it has none. */
const struct io_limits *limits_find(const struct remote_limits *limits, unsigned count,
                                    const char *volume_id);
