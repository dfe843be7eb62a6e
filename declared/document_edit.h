/*
 * What clients do to documents.
 *
 * An edit that names the number of the document as it was read is refused when it has changed since
 * (ERROR_CONFLICT); one that changes nothing has no number.  A document with finalizers is not gone
 * when it is deleted: it has a time of deletion, and goes with the last of them.  What belongs to
 * it goes before it does.
 */
#pragma once

#include "declared/document_store.h"

/*
 * Makes one in the caller's project of what a client has `given`, a whole document; *ret is it as
 * it stands.  ERROR_BAD_REQUEST, ERROR_CONFLICT for a name that is taken, ERROR_OVER_QUOTA,
 * ERROR_TOO_LARGE.
 * `tries`, of all four: everything is checked and nothing written; *ret is it as it would stand.
 */
int document_create(struct work *work, const struct document_kind *kind, const json_t *given,
                    bool dry_run, struct document *ret, struct error *err);
/* Makes `before` what was given.  What it does not say has its default. */
int document_replace(struct work *work, const struct document *before, const json_t *given,
                     bool dry_run, struct document *ret, struct error *err);
/* The same of a merge patch (RFC 7386): what it does not say stays. */
int document_patch(struct work *work, const struct document *before, const json_t *patch,
                   bool dry_run, struct document *ret, struct error *err);
/* Gone at once, or when its finalizers are; *ret is it as it stands then. */
int document_delete(struct work *work, const struct document *document, bool dry_run,
                    struct document *ret, struct error *err);
