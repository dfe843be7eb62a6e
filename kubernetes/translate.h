/*
 * Translation between an object of Kubernetes and its document in the volume API. Pure functions;
 * trees are in the arena.
 *
 * A document is named "<namespace>.<name>", which is unique because a namespace has no dot.  It has
 * the uid of its object in an annotation: a document without it, or with another's, belongs to
 * another client and is left alone.
 */
#pragma once

#include "common/arena.h"

#include <jansson.h>
#include <stdbool.h>

#define TRANSLATE_UID       "kubernetes.scoria.io/uid"
#define TRANSLATE_FINALIZER "kubernetes.scoria.io/volume"

/* Metadata. */
const char *object_text(const json_t *object, const char *key); /* "" when there is none */
bool object_has_finalizer(const json_t *object);
/* The object with or without the finalizer. */
json_t *object_with_finalizer(struct arena *arena, const json_t *object, bool wanted);

const char *translate_name(struct arena *arena, const char *namespace, const char *name);
/* Does the document belong to this object? */
bool translate_belongs(const json_t *document, const json_t *object);

/* The document to send; `ours` is the current one, NULL: none.  Other clients decide where a config
 * is published, unless the object does. */
json_t *translate_document(struct arena *arena, const json_t *object, const json_t *ours);
/* Has it had a volume? */
bool translate_was_bound(const json_t *object);
/* Was the snapshot taken? */
bool translate_was_taken(const json_t *object);
/* Was this generation sent, and accepted? */
bool translate_is_applied(const json_t *object);
/* Does `ours` include all of `sent`? It may have more. */
bool translate_is_sent(const json_t *ours, const json_t *sent);

/* Whether the volume API accepted the object. */
struct verdict {
    const char *status, *reason, *message; /* of the condition "Applied" */
};

/* The status for the object; `now`: an instant in Kubernetes' form. */
json_t *translate_status(struct arena *arena, const json_t *object, const json_t *ours,
                         const struct verdict *verdict, const char *now);

/* Values filled in by the service are copied to the object's spec, too (P8, P10, P42). NULL:
 * nothing is missing; otherwise the whole object. */
json_t *translate_spec_back(struct arena *arena, const json_t *object, const json_t *ours);
