/*
 * Watches of documents: each has a streamed response (http/stream.h), which one thread writes as
 * documents change.
 *
 * It reads the changes of a kind once for all watches that are up to date, and separately for each
 * one behind.  A change is not buffered for a slow client: it gets the state as of later.  Changes
 * of this process are sent at once, those of others within WATCHERS_LOOK_MS.
 *
 * A project, and an address, may use as many slots as it leaves to others; the projects behind an
 * address share its slots (request_slots.h).
 *
 * One lock guards the arrivals and the flags; the rest is the thread's.
 */
#pragma once

#include "declared/document_changes.h"
#include "rest/request.h"

#define WATCHERS_LOOK_MS 500
/* Interval of bookmarks to idle watches. */
#define WATCHERS_WORD_MS 10000

struct watchers;

/* At most `most` at once; without `threaded` nothing runs by itself, watchers_look() checks.  NULL
 * when no thread can be started. */
struct watchers *watchers_new(struct db *db, const struct settings *settings, unsigned most,
                              bool threaded);
/* Ends all.  NULL is fine. */
void watchers_free(struct watchers *watchers);

/* Starts the response of request->watch; request and exchange are gone then.  -1: no slot,
 * ERROR_TRY_LATER. */
int watchers_put(struct watchers *watchers, struct request *request, struct error *err);
/* Documents have changed.  From any thread. */
void watchers_look(struct watchers *watchers);
