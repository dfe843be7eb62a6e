/*
 * Stored documents.
 *
 * Each change of any document gets a version, greater than all before: its resourceVersion.
 * Versions are assigned one after the other (a transaction with one excludes others until it
 * ends), so a reader of one version has seen all lower ones, and a watch continues from there.
 *
 * A deleted document is removed when it has no finalizers and owns no documents.
 */
#pragma once

#include "declared/document.h"
#include "operation/pairs.h"
#include "operation/query.h"

#define DOCUMENTS_MOST      20000                /* of a kind in a project */
#define DOCUMENT_BYTES_MOST ((size_t)128 * 1024) /* of one, as JSON without its status */
/* Additional bytes of the service's own fields in a client's document. */
#define DOCUMENT_OWN_BYTES_MOST ((size_t)16 * 1024)
/* Deletions are stored for so many versions: a watch that lags further must list again. */
#define DOCUMENT_CHANGES_KEPT 10000

extern const struct pair_rows document_label_rows;

/* By its name in the caller's project, or by its uid; visible to the caller. ERROR_NOT_FOUND. */
int document_find(struct work *work, const struct document_kind *kind, const char *id_or_name,
                  struct document *ret, struct error *err);
/* By its name in that project: 1, 0, or -1. */
int document_named(struct work *work, const struct document_kind *kind, const char *project_id,
                   const char *name, struct document *ret, struct error *err);
/* Documents owned by `owner_id`, in the order of creation: their number, or -1. */
int document_owned(struct work *work, const char *owner_id, const struct document_kind *kind,
                   struct document **ret, struct error *err);
/* Rows for a list, over the alias d; cut at the limit of memory, after the first at least, or after
 * a hundred. */
int document_list(struct work *work, const struct query *query, struct document **ret,
                  struct error *err); /* their number, or -1 */
/* The number of others of its kind and project that have the label with this value. */
int document_count_labelled(struct work *work, const struct document *but, const char *key,
                            const char *value, int64_t *ret, struct error *err);
/* The version of the last change of all. */
int document_last_version(struct work *work, int64_t *ret, struct error *err);
