/*
 * The documents that there are.
 *
 * Every change of any document has a number, greater than all before: its resourceVersion.  They
 * are given one after the other (a transaction that has one is the only one until it ends), so who
 * has seen a number has seen all that are smaller, and a watch goes on from there.
 *
 * One that is deleted goes when it has no finalizers and nothing belongs to it any more.
 */
#pragma once

#include "declared/document.h"
#include "ledger/pairs.h"
#include "ledger/query.h"

#define DOCUMENTS_MOST      20000                /* of one kind in a project */
#define DOCUMENT_BYTES_MOST ((size_t)128 * 1024) /* of one, as JSON without its status */
/* What the service says itself in one that is a client's, beyond that. */
#define DOCUMENT_OWN_BYTES_MOST ((size_t)16 * 1024)
/* Who has seen a number that is older than the last one by no more is told what has gone since. */
#define DOCUMENT_CHANGES_KEPT 10000

extern const struct pair_rows document_label_rows;

/* By its name in the caller's project, or by its uid, visible to the caller.  ERROR_NOT_FOUND. */
int document_find(struct work *work, const struct document_kind *kind, const char *id_or_name,
                  struct document *ret, struct error *err);
/* By its name alone, in that project: 1, 0, or -1. */
int document_named(struct work *work, const struct document_kind *kind, const char *project_id,
                   const char *name, struct document *ret, struct error *err);
/* Those that belong to `owner_id`, in the order in which they were made: how many, or -1. */
int document_owned(struct work *work, const char *owner_id, const struct document_kind *kind,
                   struct document **ret, struct error *err);
/* Rows for a list, over the alias d; it ends where they take more memory than they may, behind the
 * first at the least, and behind the hundredth. */
int document_list(struct work *work, const struct query *query, struct document **ret,
                  struct error *err); /* how many, or -1 */
/* How many others of its kind and project have the label with this value. */
int document_count_labelled(struct work *work, const struct document *but, const char *key,
                            const char *value, int64_t *ret, struct error *err);
/* The number of the last change of all. */
int document_last_version(struct work *work, int64_t *ret, struct error *err);
