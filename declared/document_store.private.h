/*
 * Rows of documents, for the files that change them.
 */
#pragma once

#include "declared/document_store.h"

#define DOCUMENT_COLUMNS                                                                     \
    "d.id, d.kind, d.project_id, d.name, d.owner_id, d.version, d.first_version, "           \
    "d.generation, d.metadata, d.body, d.status, d.created_at, d.updated_at, d.deleted_at, " \
    "d.node, COALESCE(d.size_gb, -1), d.bytes"
#define DOCUMENT_SELECT "SELECT " DOCUMENT_COLUMNS " FROM documents d"
/* A query_read of a struct document, and the memory that its trees need. */
int document_row_read(struct work *work, const struct db_rows *rows, void *item, struct error *err);
size_t document_row_bytes(const struct db_rows *rows);

/* The version of this transaction's change; other transactions wait for its end. */
int document_next_version(struct work *work, int64_t *ret, struct error *err);

/* Number of documents of this kind in the caller's project. */
int document_count(struct work *work, const struct document_kind *kind, int64_t *ret,
                   struct error *err);
/* Bytes of one as stored, without its status and `publish`: a project at its limit can still
 * publish its volumes. */
size_t document_bytes(struct work *work, const struct document *document);
/*
 * Do the bytes of `after` fit the limits of a document and of its project? Always when they are no
 * more than those of `before` (NULL: none). Not called for changes by the service, whose bytes
 * count. ERROR_TOO_LARGE, ERROR_OVER_QUOTA.
 */
int document_check_bytes(struct work *work, const struct document *before,
                         const struct document *after, struct error *err);
/* Takes its quota. ERROR_OVER_QUOTA. */
int document_insert(struct work *work, struct document *document, struct error *err);
/*
 * Writes `after` with a new version. A document that can be removed is, and with it an owner that
 * waited for nothing else. ERROR_CONFLICT: the stored one is no longer `before`.
 */
int document_store(struct work *work, const struct document *before, struct document *after,
                   struct error *err);
