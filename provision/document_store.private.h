/*
 * The rows of documents, for whoever changes them.
 */
#pragma once

#include "provision/document_store.h"

/* The number of the change that this transaction makes; until it ends, nobody has another one. */
int document_next_version(struct work *work, int64_t *ret, struct error *err);

/* How many the caller's project has. */
int document_count(struct work *work, const struct document_kind *kind, int64_t *ret,
                   struct error *err);
/* Of one as it is stored, without its status. */
size_t document_bytes(struct work *work, const struct document *document);
int document_insert(struct work *work, const struct document *document, struct error *err);
/*
 * Makes `before` what `after` says, and gives that its number: it goes when it can, and with it the
 * one that it belonged to when that was waiting for it.  ERROR_CONFLICT: there is no `before` any
 * more, or another one.
 */
int document_store(struct work *work, const struct document *before, struct document *after,
                   struct error *err);
