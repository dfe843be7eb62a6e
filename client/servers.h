/*
 * What the compute service (Nova) knows of its servers: does one of them use a volume?
 *
 * Asked as the user of section nova.  One who may not see every project's servers hears of those
 * that they do not exist: such an answer counts only after the service has shown that it hides none
 * from him.
 *
 * Thread-safe; a question blocks for about 10 s at most, and as long again for each answer of
 * Keystone that it needs.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"

enum server_use {
    SERVER_USE_UNKNOWN = -1, /* err says why */
    SERVER_USES_NOT = 0,
    SERVER_USES = 1,
};

struct server_question {
    const char *server_id, *volume_id, *attachment_id; /* all UUIDs */
    const char *request_id;                            /* goes along as the global one */
};

struct servers;

/* *ret is NULL when the configuration names neither an endpoint nor a user.  The config must live
 * as long. */
int servers_new(const struct config *config, struct servers **ret, struct error *err);
void servers_free(struct servers *servers); /* NULL is fine */

enum server_use servers_ask(struct servers *servers, struct arena *arena,
                            const struct server_question *question, struct error *err);
