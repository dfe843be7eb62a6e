/*
 * Documents: declared objects and their observed state, with the parts of resources of Kubernetes:
 * metadata, spec, status. This is their form everywhere.
 */
#pragma once

#include "declared/kind.h"

#include <jansson.h>

struct document {
    const struct document_kind *kind;
    const char *id;
    const char *project_id, *name;
    const char *owner_id; /* the owning document; NULL: none */
    const char *node;     /* that acts on it; NULL: none */
    int64_t version;      /* metadata.resourceVersion */
    int64_t first_version;
    int64_t generation; /* grows with each change of the desired state */
    json_t *labels, *annotations, *finalizers;
    json_t *body; /* spec, publish, versionDetails: without status */
    json_t *status;
    int64_t created_at, updated_at, deleted_at; /* shown; 0: never */
    int64_t size_gb;                            /* counted in quotas (declared/document_quota.h) */
    int64_t bytes;                              /* counted for its project, as in the database */
};

/* Its desired state. */
static inline json_t *document_spec(const struct document *document) {
    return json_object_get(document->body, "spec");
}

#define DOCUMENT_NOT_COUNTED (-1)
#define DOCUMENT_ELSEWHERE   0
#define DOCUMENT_WITHOUT_GB  (-2) /* counted as one object without gigabytes */

/* A document as sent by a client. */
struct document_form {
    const char *name, *id;                            /* NULL: not given */
    int64_t version;                                  /* as it was read; 0: not given */
    json_t *labels, *annotations, *finalizers, *body; /* in normal form */
};

#define FINALIZERS_MOST 16

/* Parses a document of this kind; `before`: the document that it edits; NULL: a new one.
 * ERROR_BAD_REQUEST. */
int document_read(struct arena *arena, const struct document_kind *kind,
                  const struct document *before, const json_t *given, struct document_form *ret,
                  struct error *err);

/* Name, body and status as shown. Without `for_admin` nothing about hosts: lists of pools keep
 * their length with empty names, and the name of a replica is its uid. */
const char *document_name_shown(const struct document *document, bool for_admin);
json_t *document_body_shown(struct arena *arena, const struct document *document, bool for_admin);
json_t *document_status_shown(struct arena *arena, const struct document *document, bool for_admin);

/* An instant in the form of documents: to the second, with its zone. */
const char *document_time(struct arena *arena, int64_t instant_us);
/* The whole document, or its metadata; in the arena. */
json_t *document_json(struct arena *arena, const struct document *document);
json_t *document_metadata(struct arena *arena, const struct document *document);
