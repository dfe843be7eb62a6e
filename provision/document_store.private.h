/*
 * The rows of documents, for whoever changes them.
 */
#pragma once

#include "provision/document_store.h"

/* The number of the change that this transaction makes; until it ends, nobody has another one. */
int document_next_version(struct work *work, int64_t *ret, struct error *err);

/* Of one as it is stored, without its status. */
size_t document_bytes(struct work *work, const struct document *document);
int document_insert(struct work *work, const struct document *document, struct error *err);
int document_update(struct work *work, const struct document *document, struct error *err);
int document_drop_row(struct work *work, const struct document *document, struct error *err);
