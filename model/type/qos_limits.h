/*
 * QoS specs for the back-end, which the service itself enforces: on the host that has the volume
 * attached, by the component of scoria there, which queries them repeatedly.
 */
#pragma once

#include "common/io_limits.h"
#include "model/type/qos.h"

struct qos_limits {
    const char *volume_id;
    struct io_limits limits;
};

/* Of the volumes attached to this host whose types have any; how many. */
int qos_limits_on_host(struct work *work, const char *host, struct qos_limits **ret,
                       struct error *err);
