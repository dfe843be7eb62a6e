/*
 * The storage agent of one node: has its replicas in the node's pools made and removed, and its
 * volumes' targets served, as documents of the API say, and reports how they are.
 *
 * It talks HTTP with the API and knows no database.  All that counts stands in documents and beside
 * the data: it may die at any moment, and while it is away daemons serve on.  One works in a run
 * directory at a time.
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
    const char *volume_url;    /* root of the volume API; NULL: what the catalog says to `user` */
    const char *run_directory; /* absolute, and there */
    struct own_user *user;     /* who calls it; outlives the agent; NULL: nobody in particular */
};

int storage_agent_start(const struct storage_agent_settings *settings, struct storage_agent **ret,
                        struct error *err);
/* Daemons serve on.  false: something hangs in the kernel, and what it uses is left; no other agent
 * begins in the run directory before this process has ended.  NULL is fine. */
bool storage_agent_stop(struct storage_agent *agent);
