/*
 * Settings of the API, fixed at start.
 */
#pragma once

#include "db/db.h"
#include "http/origin.h"
#include "identity/identity.h"
#include "operation/settings.h"
#include "policy/rule.h"
#include "rest/watch.h"

struct confirmation;
struct request;

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
    const struct watch_functions *watches; /* NULL: no list can be watched */
    unsigned watchers;                     /* most concurrent watches; 0: 500 */
    /* Is the question of a refused request confirmed?  Stores the answer, or may replace the
     * refusal.  `late`: there is no time left for a query.  Blocks for a while, called from several
     * threads; NULL: nothing is. */
    bool (*confirm)(void *arg, const struct request *request, struct confirmation *confirmation,
                    bool late, struct error *refusal);
    /* A request failed in spite of an answer that has an effect: undoes it. Set with `confirm`. */
    void (*withdraw)(void *arg, const struct request *request,
                     const struct confirmation *confirmation);
    void *confirm_arg; /* of both */
    /* reply in the calling thread (tests): db_transaction instead of db_submit */
    bool inline_transactions;
};
