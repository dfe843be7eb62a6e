/*
 * The parts of a running service, filled in by their files; an absent part is NULL. Starting one
 * may fail half way, and stopping one that never started does nothing.  This layer only connects
 * the parts.
 */
#pragma once

#include "cmd/messaging.h"
#include "cmd/role.h"
#include "common/clock.h"
#include "common/error.h"
#include "http/origin.h"
#include "operation/settings.h"
#include "operation/taker.h"

#include <signal.h>

struct parts {
    const struct config *config;
    unsigned there; /* of PART_… */
    const struct listener *listener;
    struct arena *arena;
    struct settings settings;
    struct operation_taker taker; /* the manager of this process */
    int lock;
    char place[UUID_SIZE]; /* content of the lock file */

    struct db *db;
    struct messaging messaging;
    struct relay *relay;
    struct manager_backend *backends;
    struct compute_sender *compute;
    struct images *manager_images; /* of the manager; NULL: not configured */
    struct manager *manager;
    struct policy *policy;
    const char *names[6]; /* of origin */
    char machine[256];
    struct http_origin origin;
    struct authtoken *authtoken;     /* NULL: callers are not authenticated */
    struct servers *servers;         /* Nova, for the use of volumes; NULL: not configured */
    struct images *images;           /* of the API, the same */
    struct key_manager *key_manager; /* the same */
    struct identity *keystone;       /* of the API when there is an authtoken */
    struct api *api;
    struct controller *controller; /* beside the API */
    struct http_server *http;
    const char *volume_url; /* atomic: root of the API while it listens; otherwise NULL */
    struct own_user *agent_user;
    struct hypervisor *hypervisor;
    struct agent *agent;
    struct own_user *csi_user;
    struct csi_driver *csi;
    struct own_user *kubernetes_user;
    struct bridge *kubernetes;
    struct own_user *storage_user;
    struct storage_agent *storage;
    struct end_watch *end; /* from the first signal on */
};

/* An option of [DEFAULT]. */
const char *part_text(const struct parts *parts, const char *key);
/* They are authenticated. */
bool part_knows_callers(const struct parts *parts);
/* The URL of a path of the listener, in the arena. */
const char *part_listener_url(const struct parts *parts, const char *path);
/* Root of the volume API for a client: volume_endpoint of `section`, the API of this process, the
 * catalog's for `user` (NULL), or the default. */
const char *part_volume_url(const struct parts *parts, const char *section,
                            const struct own_user *user);
/* The agent's URL for managers. */
const char *part_agent_url(const struct parts *parts);
/* The address of the CSI driver; NULL: not configured. */
const char *part_csi_endpoint(const struct config *config);

int part_store_start(struct parts *parts, struct error *err);
void part_store_stop(struct parts *parts);

/* Of the state directory: it has one manager at a time. */
int part_lock_take(struct parts *parts, struct error *err);
void part_lock_release(struct parts *parts);

/* Authentication by Keystone; without it every caller is trusted. */
int part_gate_start(struct parts *parts, struct error *err);
void part_gate_set_deadline(struct parts *parts); /* limits pending validations at shutdown */
void part_gate_close(struct parts *parts);        /* its threads respond to requests of API and
                                                   * agent */
void part_gate_stop(struct parts *parts);

int part_api_start(struct parts *parts, struct error *err);
void part_api_stop(struct parts *parts);

/* The reconciliation of declared volumes. */
int part_controller_start(struct parts *parts, struct error *err);
void part_controller_stop(struct parts *parts);

int part_messages_start(struct parts *parts, struct error *err);
int part_messages_flow(struct parts *parts, struct error *err); /* from here on messages are
                                                                 * received */
void part_messages_stop(struct parts *parts);

int part_manager_start(struct parts *parts, struct error *err);
int part_manager_look(struct parts *parts, struct error *err);
void part_manager_drain(struct parts *parts);
void part_manager_stop(struct parts *parts);

/* Waits for these signals, which are blocked: from the first one on logs what delays the shutdown,
 * and ends the process at the second one. */
void part_end_watch(struct parts *parts, const sigset_t *ends);
/* The rest of the shutdown is not logged; a signal ends the process. */
void part_end_forget(struct parts *parts);

/* The public addresses of the service, and whether it may be exposed. */
int part_listener_check(struct parts *parts, struct error *err);
int part_listener_start(struct parts *parts, struct error *err);
void part_listener_stop(struct parts *parts);

int part_agent_start(struct parts *parts, struct error *err);
void part_agent_stop(struct parts *parts);

int part_csi_start(struct parts *parts, struct error *err);
void part_csi_stop(struct parts *parts);

int part_kubernetes_start(struct parts *parts, struct error *err);
void part_kubernetes_stop(struct parts *parts);

int part_storage_start(struct parts *parts, struct error *err);
void part_storage_stop(struct parts *parts);
