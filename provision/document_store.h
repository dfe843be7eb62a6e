/*
 * The documents that there are.
 *
 * Every change of any document has a number, greater than all before: its resourceVersion.  They
 * are given one after the other (a transaction that has one is the only one until it ends), so who
 * has seen a number has seen all that are smaller, and a watch goes on from there.  An edit that
 * names the number of the document as it was read is refused when it has changed since
 * (ERROR_CONFLICT); one that changes nothing has no number.
 *
 * A document with finalizers is not gone when it is deleted: it has a time of deletion, and goes
 * with the last of them.  What belongs to it goes when it does.
 */
#pragma once

#include "ledger/pairs.h"
#include "ledger/query.h"
#include "provision/document.h"

#define DOCUMENTS_MOST      20000                /* of one kind in a project */
#define DOCUMENT_BYTES_MOST ((size_t)128 * 1024) /* of one, as JSON without its status */

extern const struct pair_rows document_label_rows;

/* By its name in the caller's project, or by its uid, visible to the caller.  ERROR_NOT_FOUND. */
int document_find(struct work *work, const struct document_kind *kind, const char *id_or_name,
                  struct document *ret, struct error *err);
/* Rows for a list, over the alias d; it ends where they take more memory than they may, behind the
 * first at the least. */
int document_list(struct work *work, const struct query *query, struct document **ret,
                  struct error *err); /* how many, or -1 */
/* How many of the project's have the label with this value. */
int document_count_labelled(struct work *work, const char *project_id, const char *key,
                            const char *value, int64_t *ret, struct error *err);
/* The number of the last change of all. */
int document_last_version(struct work *work, int64_t *ret, struct error *err);

/*
 * Makes one in the caller's project of what a client has `given`, a whole document; *ret is it as
 * it stands.  ERROR_BAD_REQUEST, ERROR_CONFLICT for a name that is taken, ERROR_OVER_QUOTA,
 * ERROR_TOO_LARGE.
 * `tries`, of all four: everything is checked and nothing written; *ret is it as it would stand.
 */
int document_create(struct work *work, const struct document_kind *kind, const json_t *given,
                    bool tries, struct document *ret, struct error *err);
/* Makes `before` what was given.  What it does not say has its default. */
int document_replace(struct work *work, const struct document *before, const json_t *given,
                     bool tries, struct document *ret, struct error *err);
/* The same of a merge patch (RFC 7386): what it does not say stays. */
int document_patch(struct work *work, const struct document *before, const json_t *patch,
                   bool tries, struct document *ret, struct error *err);
/* Gone at once, or when its finalizers are; *ret is it as it stands then. */
int document_delete(struct work *work, const struct document *document, bool tries,
                    struct document *ret, struct error *err);
