/*
 * What the agent tells and asks the volume API by itself: a heartbeat; and, at the start and
 * whenever the API comes back, which volumes are extending on this host, so that an extend outlives
 * a crash of the agent and an event that got lost.
 */
#pragma once

#include "client/volumes.h"
#include "common/worker.h"
#include "compute/job.h"

struct reporter;

struct reporter_settings {
    struct client api;
    const char *host, *endpoint;
    struct worker_pool *pool; /* stopped before reporter_free() */
    struct jobs *jobs;
    int64_t heartbeat_ms, retry_ms;
};

struct reporter *reporter_new(const struct reporter_settings *settings); /* begins at once */
void reporter_free(struct reporter *reporter);
