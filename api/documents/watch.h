/*
 * GET of a list of documents with watch=true: a streamed list, one line of JSON for each change
 * (watchers.h).
 */
#pragma once

#include "declared/kind.h"

#include <stdbool.h>

struct error;
struct request;

/* For a handler: reads the watch's filters and start version into request->watch.  ERROR_GONE: list
 * again. */
int document_watch(struct request *request, const struct document_kind *kind, struct error *err);
