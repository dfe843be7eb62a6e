/*
 * The agent's own requests to the volume API: a heartbeat; and, at the start and after each outage
 * of the API, a query for the volumes that are extending on this host, so that an extend survives a
 * crash of the agent and a lost event.
 */
#pragma once

#include "client/volumes.h"
#include "common/worker.h"
#include "compute/jobs/job.h"

struct reporter;

struct reporter_settings {
    struct client api;
    const char *host, *endpoint;
    struct worker_pool *pool; /* stopped before reporter_free() */
    struct jobs *jobs;
    int64_t heartbeat_ms, retry_ms;
};

struct reporter *reporter_new(const struct reporter_settings *settings); /* starts immediately */
void reporter_free(struct reporter *reporter);
