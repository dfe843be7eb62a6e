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

#include "rest/watch.h"

#define WATCHERS_LOOK_MS 500
/* Interval of bookmarks to idle watches. */
#define WATCHERS_WORD_MS 10000

extern const struct watch_functions document_watchers;
