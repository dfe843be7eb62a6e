/*
 * GET of a list of documents with watch=true: the list goes on, a line of JSON for each change
 * (watchers.h).
 */
#pragma once

#include "declared/kind.h"

#include <stdbool.h>

struct error;
struct request;

/* Does it ask for a watch?  1; 0: or for its head alone, which is a list's; -1: that is no
 * boolean. */
int document_watch_asked(const struct request *request, struct error *err);
/* A handler's work: reads what is to be watched, and from which version on, into request->watch.
 * ERROR_GONE: list anew. */
int document_watch(struct request *request, const struct document_kind *kind, struct error *err);
