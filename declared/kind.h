/*
 * The kinds of documents: their names in the API and among the resources of Kubernetes, their
 * fields, and the rules between them.
 */
#pragma once

#include "declared/schema.h"

#include <stdbool.h>

#define DOCUMENT_API_VERSION "cstor.openebs.io/v1"

struct document;
struct work;

/* The size of a document for quotas. */
struct document_size {
    int64_t bytes;
    bool elsewhere; /* its owner is counted elsewhere */
};

struct document_kind {
    const char *name;
    const char *collection; /* "volume_configs", in paths */
    const char *word;       /* "volume_config", around one of them */
    const char *label;      /* "Volume config", in sentences */
    const char *short_name; /* "cvc", as kubectl has it */
    /* Of the whole document but apiVersion, kind and metadata. */
    const struct schema_field *fields;
    const char *initial_status; /* JSON */
    /* stays until the service has removed its objects; NULL: there are none */
    const char *finalizer;
    bool read_only;          /* written by the service; clients read it */
    bool is_name_admin_only; /* its name has that of a pool: shown to administrators alone */
    /* fields of the status written by its node; NULL: none */
    const struct schema_field *status_fields;
    /* Rules beyond the fields, of a new one and of an edit. NULL: none. */
    int (*check)(struct work *work, struct document *document, struct error *err);
    int (*check_edit)(struct work *work, const struct document *before, struct document *after,
                      struct error *err);
    /* Changes of its objects in the transaction of an edit. NULL: none. */
    int (*follow_edit)(struct work *work, const struct document *before,
                       const struct document *after, struct error *err);
    /* May it be deleted? ERROR_CONFLICT. */
    int (*check_delete)(struct work *work, const struct document *document, struct error *err);
    /* The object that it counts as in its project's quotas (operation/quota_limit.h), and its size.
     * NULL: not counted. */
    const char *counts_as;
    int (*size)(struct work *work, const struct document *document, struct document_size *ret,
                struct error *err);
    /* Completes and checks a status reported by its node. */
    int (*check_status)(struct work *work, const struct document *before, struct document *after,
                        struct error *err);
};

extern const struct document_kind kind_volume_policy, kind_volume_config, kind_replicated_volume,
    kind_volume_replica, kind_volume_config_snapshot;
/* All kinds, ended with NULL. */
extern const struct document_kind *const document_kinds[];

/* By its name in documents; NULL. */
const struct document_kind *document_kind_named(const char *name);
/* By any of its names, as given by users; NULL. */
const struct document_kind *document_kind_called(const char *name);

/* Fields of a policy: its spec, and spec.policy of a config (P2-P6, P11). */
extern const struct schema_field volume_policy_fields[], volume_qos_fields[];
extern const struct schema_field volume_client_fields[];
extern const char *const volume_export_words[];

#define EPOCH_MOST     ((int64_t)1 << 52) /* that a node may report */
#define SNAPSHOTS_MOST 64                 /* of one config */
#define CLIENTS_MOST   4                  /* hosts admitted to a volume beside its own */

/* Of a clone: the config of its source (P48). */
#define LABEL_SOURCE "openebs.io/source-volume"
