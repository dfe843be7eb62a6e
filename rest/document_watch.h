/*
 * GET of a list of documents with watch=true: a streamed list, one line of JSON for each change
 * (watchers.h).
 */
#pragma once

#include "declared/kind.h"

#include <stdbool.h>

struct error;
struct request;

/* Is a watch requested?  1; 0: no, or a HEAD, which is a list's; -1: not a boolean. */
int document_watch_asked(const struct request *request, struct error *err);
/* For a handler: reads the watch's filters and start version into request->watch.  ERROR_GONE: list
 * again. */
int document_watch(struct request *request, const struct document_kind *kind, struct error *err);
