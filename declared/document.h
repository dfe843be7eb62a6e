/*
 * Documents: what is declared, and what has become of it, as resources of Kubernetes are: metadata,
 * spec, status.  They travel in that form everywhere.
 */
#pragma once

#include "declared/kind.h"

#include <jansson.h>

struct document {
    const struct document_kind *kind;
    const char *id; /* metadata.uid */
    const char *project_id, *name;
    const char *owner_id; /* the document that it belongs to; NULL: none */
    const char *node;     /* that has to act on it; NULL: none */
    int64_t version;      /* metadata.resourceVersion */
    int64_t first_version;
    int64_t generation; /* rises with what is wanted, not with what is */
    json_t *labels, *annotations, *finalizers;
    json_t *body; /* spec, publish, versionDetails: without status */
    json_t *status;
    int64_t created_at, updated_at, deleted_at; /* shown; 0: never */
    int64_t size_gb; /* what quotas have of it (declared/document_quota.h) */
    int64_t bytes;   /* what its project answers for, as it stands in the database */
};

#define DOCUMENT_NOT_COUNTED (-1)
#define DOCUMENT_ELSEWHERE   0
#define DOCUMENT_WITHOUT_GB  (-2) /* one of its kind, with none of the gigabytes */

/* What a client has sent. */
struct document_form {
    const char *name, *id;                            /* NULL: not said */
    int64_t version;                                  /* as it was read; 0: not said */
    json_t *labels, *annotations, *finalizers, *body; /* in normal form */
};

#define FINALIZERS_MOST 16

/* Of one of this kind; `before`: it is an edit of that one; NULL: a new one. ERROR_BAD_REQUEST. */
int document_read(struct arena *arena, const struct document_kind *kind,
                  const struct document *before, const json_t *given, struct document_form *ret,
                  struct error *err);

/* What is shown of its name, body and status; without `hosts` nothing that tells of our hosts:
 * lists of pools keep their length, each name is empty, and the name of a replica is its uid. */
const char *document_name_shown(const struct document *document, bool for_admin);
json_t *document_body_shown(struct arena *arena, const struct document *document, bool for_admin);
json_t *document_status_shown(struct arena *arena, const struct document *document, bool for_admin);

/* An instant as documents have it: to the second, with its zone. */
const char *document_time(struct arena *arena, int64_t instant_us);
/* The whole, and its metadata alone; in the arena. */
json_t *document_json(struct arena *arena, const struct document *document);
json_t *document_metadata(struct arena *arena, const struct document *document);
