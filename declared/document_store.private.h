/*
 * The rows of documents, for whoever changes them.
 */
#pragma once

#include "declared/document_store.h"

#define DOCUMENT_COLUMNS                                                                     \
    "d.id, d.kind, d.project_id, d.name, d.owner_id, d.version, d.first_version, "           \
    "d.generation, d.metadata, d.body, d.status, d.created_at, d.updated_at, d.deleted_at, " \
    "d.node, COALESCE(d.size_gb, -1), d.bytes"
#define DOCUMENT_SELECT "SELECT " DOCUMENT_COLUMNS " FROM documents d"
/* A query_read of one into a struct document, and how much memory its trees take. */
int document_row_read(struct work *work, const struct db_rows *rows, void *item, struct error *err);
size_t document_row_bytes(const struct db_rows *rows);

/* The number of the change that this transaction makes; until it ends, nobody has another one. */
int document_next_version(struct work *work, int64_t *ret, struct error *err);

/* How many the caller's project has. */
int document_count(struct work *work, const struct document_kind *kind, int64_t *ret,
                   struct error *err);
/* Of one as it is stored, without its status and where it is published: who has no room left goes
 * on using what he has. */
size_t document_bytes(struct work *work, const struct document *document);
/*
 * Has `after` room, and the project for it beside all others?  What takes no more than `before`
 * (NULL: there is none) has always.  What the service writes is not asked, and counts.
 * ERROR_TOO_LARGE, ERROR_OVER_QUOTA.
 */
int document_check_bytes(struct work *work, const struct document *before,
                         const struct document *after, struct error *err);
/* Takes of quotas what it takes.  ERROR_OVER_QUOTA. */
int document_insert(struct work *work, struct document *document, struct error *err);
/*
 * Makes `before` what `after` says, and gives that its number: it goes when it can, and with it the
 * one that it belonged to when that was waiting for it.  ERROR_CONFLICT: there is no `before` any
 * more, or another one.
 */
int document_store(struct work *work, const struct document *before, struct document *after,
                   struct error *err);
