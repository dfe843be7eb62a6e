/*
 * Changes of documents by the service: it creates owned documents, writes their status, and
 * records events. The rules for edits of clients do not apply.
 */
#pragma once

#include "declared/document_store.h"

#define DOCUMENT_EVENTS_MOST       32 /* of one document; the oldest are deleted */
#define DOCUMENT_STATUS_BYTES_MOST ((size_t)64 * 1024)

/*
 * Creates an owned document in the owner's project. `body` and `status` (NULL: the kind's initial
 * one) are the caller's own trees, `labels` and `node` may be NULL. Where `name` is taken (as
 * "a-b" with "c" and "a" with "b-c" have one name) a suffix is added: callers find theirs by
 * document_owned(). ERROR_CONFLICT: the owner is being deleted.
 */
int document_own_create(struct work *work, const struct document_kind *kind,
                        const struct document *owner, const char *name, json_t *labels,
                        json_t *body, json_t *status, const char *node, struct document *ret,
                        struct error *err);
/* The same with an id (work_uuid()) that others must know before the document is created. */
int document_own_create_as(struct work *work, const char *id, const struct document_kind *kind,
                           const struct document *owner, const char *name, json_t *labels,
                           json_t *body, json_t *status, const char *node, struct document *ret,
                           struct error *err);

/*
 * Writes the changes from `before` to `after`: labels, body, status, finalizers, deletion, node.
 * Version and generation (which grows with the body) follow; without changes nothing is written; a
 * deleted document without finalizers is removed. ERROR_CONFLICT: the stored one is no longer
 * `before`.
 */
int document_own_write(struct work *work, const struct document *before, struct document *after,
                       struct error *err);

/*
 * Status of a document as reported by the `node` that acts on it; replaces the whole status.
 * ERROR_BAD_REQUEST, ERROR_TOO_LARGE; ERROR_CONFLICT: it is assigned to another node, or to none.
 */
int document_status_put(struct work *work, const struct document *before, const char *node,
                        const json_t *status, struct document *ret, struct error *err);

/* ---- events ---- */

struct document_event {
    const char *type, *reason, *message;
    int64_t times, first_at, last_at; /* wall clock */
};

/* "Normal" or "Warning"; a reason in CamelCase. A repeated event is counted. */
int document_event(struct work *work, const struct document *document, const char *type,
                   const char *reason, const char *message, struct error *err);
/* The newest last: their number, or -1. */
int document_events(struct work *work, const char *document_id, struct document_event **ret,
                    struct error *err);
