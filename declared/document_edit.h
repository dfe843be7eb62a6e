/*
 * Changes of documents by clients.
 *
 * An edit that names a resourceVersion is refused when the document has changed since
 * (ERROR_CONFLICT); an edit without effect gets no version. Deleting a document with finalizers
 * sets its time of deletion, and removing the last finalizer deletes it. Owned documents are
 * deleted before their owner.
 */
#pragma once

#include "declared/document_store.h"

/*
 * Creates one in the caller's project from a whole document; *ret: the stored one.
 * ERROR_BAD_REQUEST, ERROR_CONFLICT for a name in use, ERROR_OVER_QUOTA, ERROR_TOO_LARGE.
 * `dry_run`, of all four: checks everything and writes nothing; *ret: the document that would be
 * stored.
 */
int document_create(struct work *work, const struct document_kind *kind, const json_t *given,
                    bool dry_run, struct document *ret, struct error *err);
/* Replaces `before`; omitted fields get their defaults. */
int document_replace(struct work *work, const struct document *before, const json_t *given,
                     bool dry_run, struct document *ret, struct error *err);
/* Applies a merge patch (RFC 7386): omitted fields stay. */
int document_patch(struct work *work, const struct document *before, const json_t *patch,
                   bool dry_run, struct document *ret, struct error *err);
/* Deleted at once, or with its last finalizer; *ret: the stored document. */
int document_delete(struct work *work, const struct document *document, bool dry_run,
                    struct document *ret, struct error *err);
