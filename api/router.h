/*
 * From an HTTP exchange to a handler and back: path, version, identity, body, policy, transaction,
 * answer or fault; in the order of the API's rules.
 */
#pragma once

#include "db/db.h"
#include "http/origin.h"
#include "http/server.h"
#include "identity/identity.h"
#include "ledger/settings.h"
#include "policy/rule.h"

struct api;

struct api_settings {
    struct db *db;
    const struct settings *settings;
    const struct policy *policy;
    const struct identity *identity;
    const struct http_origin *origin; /* what callers without identity may come from; NULL: any */
    const char *public_endpoint;      /* NULL: from the request's Host */
    const char *project_id_regex;     /* NULL: [0-9a-f\-]+ */
    /* answer in the calling thread (tests): db_transaction instead of db_submit */
    bool inline_transactions;
};

int api_new(const struct api_settings *settings, struct api **ret, struct error *err);
/* An http_handler; arg is the struct api. */
void api_handle(void *api, struct http_exchange *exchange);
const struct api_settings *api_settings_of(const struct api *api);
/* Some operations ended (any thread): requests that wait for one look again. */
void api_operations_ended(struct api *api);
/* Waits for writes that are queued (so before db_close()); ends requests that wait with 503. */
void api_free(struct api *api);
