/*
 * The agent of one hypervisor host: answers the compute API's routes for events and assisted
 * snapshots and its version documents, works on disks of running domains, and reports to the volume
 * API.  It hears and reports over HTTP
 * only; it keeps nothing on disk: after a crash it asks the API what is extending on its host.
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
    /* root of the volume API with /v3, no slash at the end; NULL: in the catalog of `user` */
    const char *volume_url;
    const char *own_url;   /* what it registers as endpoint: …/v2.1 */
    const char *token;     /* X-Auth-Token for the volume API; NULL: none */
    struct own_user *user; /* who calls the volume API; NULL: nobody in particular */
    /* who may send events: tokens with the role admin or service; NULL: everybody */
    const struct http_origin *origin; /* what callers without identity may come from; NULL: any */
    const struct authtoken *authtoken;
    struct hypervisor *hypervisor;
    bool resumes;        /* guests that an I/O error has stopped go on when it is over */
    unsigned workers;    /* volumes worked on at once; 0: 4 */
    int64_t heartbeat_s; /* 0: 10 */
    int64_t retry_ms;    /* first pause before a failed call is repeated, doubled up to 60 times
                               that; 0: 1 000 */
    /* how long a disk may stay busy, e.g. with a block job (A6); 0: 30 000 */
    int64_t busy_ms;
    int64_t unreachable_ms; /* how long the hypervisor may stay silent (A10); 0: 120 000 */
};

int agent_start(const struct agent_settings *settings, struct agent **ret, struct error *err);

/* An http_handler; arg is the struct agent. Paths come with the mount's prefix already cut. */
void agent_handle(void *agent, struct http_exchange *exchange);

unsigned agent_open_jobs(struct agent *agent); /* volumes in work or waiting for their next try */

/* Only after the HTTP server in front of it has stopped. Exchanges still open are answered 503. */
void agent_stop(struct agent *agent);
