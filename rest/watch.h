/*
 * Watches of lists: a route's handler puts one into request->watch, and the response is streamed.
 * The lists define what they have of it (struct resource); these functions follow the changes.
 */
#pragma once

#include <stdbool.h>

struct db;
struct error;
struct request;
struct settings;
struct watchers;

struct watch_functions {
    /* At most `most` at once; without `threaded` nothing runs by itself, look() checks.  NULL when
     * no thread can be started. */
    struct watchers *(*open)(struct db *db, const struct settings *settings, unsigned most,
                             bool threaded);
    /* Ends all.  NULL is fine. */
    void (*close)(struct watchers *watchers);
    /* Starts the response of request->watch; request and exchange are gone then.  -1: no slot,
     * ERROR_TRY_LATER. */
    int (*put)(struct watchers *watchers, struct request *request, struct error *err);
    /* There are changes.  From any thread. */
    void (*look)(struct watchers *watchers);
};
