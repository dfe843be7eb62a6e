/*
 * Queries the compute service (Nova): does a server use a volume?
 *
 * As the user of section nova.  To a user without the right to see the servers of all projects they
 * do not exist: such a response counts only after the service has shown that it hides none from
 * this user.
 *
 * Thread-safe; a query blocks for about 10 s at most, and as long again for each response of
 * Keystone that it needs.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"

enum server_use {
    SERVER_USE_UNKNOWN = -1, /* see err */
    SERVER_USES_NOT = 0,
    SERVER_USES = 1,
};

struct server_question {
    const char *server_id, *volume_id, *attachment_id; /* all UUIDs */
    const char *request_id;                            /* sent as the global request id */
};

struct servers;

/* *ret is NULL when the configuration has neither an endpoint nor a user.  The config must live as
 * long. */
int servers_new(const struct config *config, struct servers **ret, struct error *err);
void servers_free(struct servers *servers); /* NULL is fine */

enum server_use servers_ask(struct servers *servers, struct arena *arena,
                            const struct server_question *question, struct error *err);
