/*
 * An object of Kubernetes and the document that our API keeps for it, each made of the other.
 * Nothing here asks anybody; trees are the arena's.
 *
 * A document is called "<namespace>.<name>": no namespace has a dot, so two of them never meet.  It
 * carries the uid of its object in an annotation: one without it, or with another's, is not the
 * object's and is left alone.
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
/* The object with our finalizer, or without it. */
json_t *object_with_finalizer(struct arena *arena, const json_t *object, bool wanted);

const char *translate_name(struct arena *arena, const char *namespace, const char *name);
/* Is the document this object's? */
bool translate_belongs(const json_t *document, const json_t *object);

/* What our API is to be told; `ours` is what it has, NULL: nothing.  Where a config is published
 * others decide, unless the object says it. */
json_t *translate_document(struct arena *arena, const json_t *object, const json_t *ours);
/* Has it had a volume? */
bool translate_was_bound(const json_t *object);
/* Was it a snapshot that was there? */
bool translate_was_taken(const json_t *object);
/* Was this generation told, and taken? */
bool translate_is_applied(const json_t *object);
/* Does `ours` say all that `told` does?  It may say more. */
bool translate_is_told(const json_t *ours, const json_t *told);

/* Whether our API took what the object says. */
struct verdict {
    const char *status, *reason, *message; /* of the condition "Applied" */
};

/* The status that the object is to have; `now`: an instant, as Kubernetes writes them. */
json_t *translate_status(struct arena *arena, const json_t *object, const json_t *ours,
                         const struct verdict *verdict, const char *now);

/* What the service has filled in belongs into the object's spec, too (P8, P10, P42).  NULL: nothing
 * is missing there; else the whole object. */
json_t *translate_spec_back(struct arena *arena, const json_t *object, const json_t *ours);
