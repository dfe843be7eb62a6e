/*
 * Those who watch documents: each has an answer in pieces (http/stream.h), which one thread writes
 * as documents change.
 *
 * It reads the changes of a kind once for all who have come as far, and for each who has not, until
 * it has.  A change that the client does not take is not kept: who reads slowly is told later, and
 * then what is true by then.  Changes of this process are told at once, those of others within
 * WATCHERS_LOOK_MS.
 *
 * A project, and an address, may watch in as many places as it leaves to others; the projects
 * behind an address share those of it (seats.h).
 *
 * One lock guards the arrivals and the flags; the rest is the thread's.
 */
#pragma once

#include "api/request.h"
#include "declared/document_changes.h"

#define WATCHERS_LOOK_MS 500
/* Who hears nothing else hears a bookmark, so often. */
#define WATCHERS_WORD_MS 10000

struct watchers;

/* At most `most` at once; without `threaded` nothing looks by itself, watchers_look() does.  NULL
 * when the thread cannot be had. */
struct watchers *watchers_new(struct db *db, const struct settings *settings, unsigned most,
                              bool threaded);
/* Ends all. NULL is fine. */
void watchers_free(struct watchers *watchers);

/* Begins the answer of request->watch; request and exchange are gone then.  -1: there is no room
 * for it, ERROR_TRY_LATER. */
int watchers_put(struct watchers *watchers, struct request *request, struct error *err);
/* Documents have changed. From any thread. */
void watchers_look(struct watchers *watchers);
