/*
 * The agent of a hypervisor host: serves the compute API's routes for external events and assisted
 * snapshots and its version documents, resizes and snapshots disks of running domains, and reports
 * to the volume API.  It communicates over HTTP only and stores nothing on disk: after a restart it
 * queries the API for the volumes that are extending on its host.
 *
 * Texts of the settings must live as long as the agent.
 */
#pragma once

#include "common/error.h"
#include "config/option.h"
#include "http/exchange.h"

struct agent;
struct hypervisor;
struct own_user;
struct http_origin;
struct authtoken;

extern const struct option agent_options[]; /* section compute_agent */

struct agent_settings {
    const char *host; /* as in the connectors of its instances */
    /* root of the volume API with /v3, without a trailing slash; NULL: from the catalog of
     * `user` */
    const char *volume_url;
    const char *own_url;   /* endpoint that the agent registers: …/v2.1 */
    const char *token;     /* X-Auth-Token for the volume API; NULL: none */
    struct own_user *user; /* service user for calls to the volume API; NULL: none */
    /* NULL: events are accepted without authorization; otherwise from tokens with the role admin or
     * service */
    const struct http_origin *origin; /* origin of requests without a token; NULL: any */
    const struct authtoken *authtoken;
    struct hypervisor *hypervisor;
    bool resumes;        /* resume guests that an I/O error has stopped */
    unsigned workers;    /* volumes processed concurrently; 0: 4 */
    int64_t heartbeat_s; /* 0: 10 */
    int64_t retry_ms;    /* first pause before a failed call is repeated, doubled up to 60 times
                          * that; 0: 1 000 */
    /* longest wait for a busy disk, e.g. one with a block job (A6); 0: 30 000 */
    int64_t busy_ms;
    int64_t unreachable_ms; /* longest wait for an unresponsive hypervisor (A10); 0: 120 000 */
};

int agent_start(const struct agent_settings *settings, struct agent **ret, struct error *err);

/* An http_handler; arg is the struct agent.  Paths come without the mount's prefix. */
void agent_handle(void *agent, struct http_exchange *exchange);

unsigned agent_open_jobs(struct agent *agent); /* volumes in work or waiting for their next
                                                * attempt */

/* Only after the HTTP server in front of it has stopped.  Open exchanges are answered with 503. */
void agent_stop(struct agent *agent);
