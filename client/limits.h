/*
 * I/O limits of volumes attached to a host, from the volume API (os-volume-limits). Failures as in
 * client.h.
 */
#pragma once

#include "client/client.h"
#include "common/io_limits.h"

struct remote_limits {
    const char *volume_id;
    struct io_limits limits;
};

/* Of the volumes attached to the host that have limits.  Returns their number. */
int limits_list(const struct client *api, struct arena *arena, const char *host,
                struct remote_limits **ret, struct error *err);
/* Of the volume; NULL: it has none. */
const struct io_limits *limits_find(const struct remote_limits *limits, unsigned count,
                                    const char *volume_id);
