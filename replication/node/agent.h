/*
 * The storage agent of one node: creates and removes its replicas in the node's pools and serves
 * its volumes, as documents of the API assign them, and reports their status.
 *
 * It talks HTTP with the API and knows no database.  Everything that must last is in documents and
 * beside the data: the agent may terminate at any moment, and daemons go on serving without it.  A
 * run directory has one agent at a time.
 */
#pragma once

#include "common/error.h"
#include "config/config.h"

struct own_user;
struct storage_agent;

extern const struct option storage_options[]; /* sections storage and OPTION_POOL */

struct storage_agent_settings {
    const struct config *config; /* outlives it */
    const char *node;
    const char *volume_url;    /* root of the volume API; NULL: from the catalog of `user` */
    const char *run_directory; /* absolute path of an existing directory */
    struct own_user *user;     /* credentials; outlives the agent; NULL: none */
};

int storage_agent_start(const struct storage_agent_settings *settings, struct storage_agent **ret,
                        struct error *err);
/* Daemons go on serving.  false: a thread is blocked in the kernel, and its memory is kept; no
 * other agent starts in the run directory before this process has terminated.  NULL is fine. */
bool storage_agent_stop(struct storage_agent *agent);
