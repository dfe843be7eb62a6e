/*
 * Settings of the API, fixed at start.
 */
#pragma once

#include "db/db.h"
#include "http/origin.h"
#include "identity/identity.h"
#include "operation/settings.h"
#include "policy/rule.h"

struct attachment;

struct api_settings {
    struct db *db;
    const struct settings *settings;
    const struct policy *policy;
    const struct identity *identity;
    const struct http_origin *origin; /* allowed origins of callers without identity; NULL: any */
    const char *public_endpoint;      /* NULL: from the request's Host */
    const char *project_id_regex;     /* NULL: [0-9a-f\-]+ */
    unsigned slots; /* of clients that wait for backends (request_slots.h); 0: unlimited */
    /* Threads for expensive reads (read.c), of which one project may use all but one; 0: none, each
     * read runs where it was received. */
    unsigned readers;
    unsigned watchers; /* most concurrent watches; 0: 500 */
    /* Does its server use the disk?  1, 0, or -1: unknown (err). Blocks for a while, called from
     * several threads; NULL: no query, treated as used. */
    int (*server_uses)(void *arg, struct arena *arena, const struct attachment *attachment,
                       const char *request_id, struct error *err);
    void *server_uses_arg;
    /* reply in the calling thread (tests): db_transaction instead of db_submit */
    bool inline_transactions;
};
