/*
 * What the service does to documents: it makes those that belong to others, writes what has become
 * of them, and what it has to tell about them.  Nothing here is held to what clients may edit.
 */
#pragma once

#include "declared/document_store.h"

#define DOCUMENT_EVENTS_MOST       32 /* of one document; the oldest go */
#define DOCUMENT_STATUS_BYTES_MOST ((size_t)64 * 1024)

/*
 * Makes one of the owner's project that belongs to it.  `body` and `status` (NULL: the kind's
 * first) are the caller's own trees, `labels` may be NULL, and so may `node`.  Who has made one
 * finds it by document_owned(): where `name` is taken, as "a-b" with "c" has the name of "a" with
 * "b-c", something stands behind it.  ERROR_CONFLICT: the owner is being deleted.
 */
int document_own_create(struct work *work, const struct document_kind *kind,
                        const struct document *owner, const char *name, json_t *labels,
                        json_t *body, json_t *status, const char *node, struct document *ret,
                        struct error *err);
/* The same of one whose id (work_uuid()) others have to know before it is made. */
int document_own_create_as(struct work *work, const char *id, const struct document_kind *kind,
                           const struct document *owner, const char *name, json_t *labels,
                           json_t *body, json_t *status, const char *node, struct document *ret,
                           struct error *err);

/*
 * Makes `before` what `after` says: labels, body, status, finalizers, deletion, node.  Its number
 * and its generation (which rises with the body) follow, and nothing has a number that changes
 * nothing; deleted and without finalizers it goes.  ERROR_CONFLICT: it is not `before` any more.
 */
int document_own_write(struct work *work, const struct document *before, struct document *after,
                       struct error *err);

/*
 * What `node` says of a document that it has to act on; all of the status, in place of what stood
 * there.  ERROR_BAD_REQUEST, ERROR_TOO_LARGE; ERROR_CONFLICT: it is another node's, or nobody's.
 */
int document_status_put(struct work *work, const struct document *before, const char *node,
                        const json_t *status, struct document *ret, struct error *err);

/* ---- what happened to it ---- */

struct document_event {
    const char *type, *reason, *message;
    int64_t times, first_at, last_at; /* shown */
};

/* "Normal" or "Warning"; a reason in CamelCase.  The same once more counts up. */
int document_event(struct work *work, const struct document *document, const char *type,
                   const char *reason, const char *message, struct error *err);
/* The newest last: how many, or -1. */
int document_events(struct work *work, const char *document_id, struct document_event **ret,
                    struct error *err);
