/*
 * What the API is made of: given once, at the start.
 */
#pragma once

#include "db/db.h"
#include "http/origin.h"
#include "identity/identity.h"
#include "ledger/settings.h"
#include "policy/rule.h"

struct attachment;

struct api_settings {
    struct db *db;
    const struct settings *settings;
    const struct policy *policy;
    const struct identity *identity;
    const struct http_origin *origin; /* what callers without identity may come from; NULL: any */
    const char *public_endpoint;      /* NULL: from the request's Host */
    const char *project_id_regex;     /* NULL: [0-9a-f\-]+ */
    unsigned seats; /* of clients that wait for backends (seats.h); 0: nobody counts them */
    /* Threads for reads that take much (read.c), of which one project has all but one; 0: there are
     * none, each runs where it was received. */
    unsigned readers;
    unsigned watchers; /* most clients that watch at once; 0: 500 */
    /* Does its server use the disk?  1, 0, or -1: nobody can tell (err).  Blocks for a while, from
     * several threads; NULL: nobody is asked, and it does. */
    int (*server_uses)(void *arg, struct arena *arena, const struct attachment *attachment,
                       const char *request_id, struct error *err);
    void *server_uses_arg;
    /* answer in the calling thread (tests): db_transaction instead of db_submit */
    bool inline_transactions;
};
