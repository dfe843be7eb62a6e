/*
 * The kinds of documents: what each is called, on our API and among the resources of Kubernetes,
 * what it may say, and the rules between its fields.
 */
#pragma once

#include "declared/schema.h"

#include <stdbool.h>

#define DOCUMENT_API_VERSION "cstor.openebs.io/v1"

struct document;
struct work;

/* What quotas are to have of a document. */
struct document_size {
    int64_t bytes;
    bool elsewhere; /* what it belongs to is counted elsewhere */
};

struct document_kind {
    const char *name;       /* "CStorVolumeConfig" */
    const char *collection; /* "volume_configs", in paths */
    const char *word;       /* "volume_config", around one of them */
    const char *label;      /* "Volume config", in sentences */
    const char *short_name; /* "cvc", as kubectl has it */
    /* Of the whole document but apiVersion, kind and metadata. */
    const struct schema_field *fields;
    const char *initial_status; /* JSON */
    const char *finalizer;   /* stays until the service has cleared up; NULL: nothing to clear up */
    bool read_only;          /* the service writes it; clients look at it */
    bool is_name_admin_only; /* its name has that of a pool: for administrators alone */
    const struct schema_field *status_fields; /* what its node writes of it; NULL: nothing */
    /* What the fields cannot say of a new one, or of an edit.  NULL: nothing. */
    int (*check)(struct work *work, struct document *document, struct error *err);
    int (*check_edit)(struct work *work, const struct document *before, struct document *after,
                      struct error *err);
    /* May it go?  ERROR_CONFLICT. */
    int (*check_delete)(struct work *work, const struct document *document, struct error *err);
    /* What it is in its project's quotas (ledger/quota_limit.h): one of these, and what it takes of
     * their gigabytes.  NULL: nothing. */
    const char *counts_as;
    int (*size)(struct work *work, const struct document *document, struct document_size *ret,
                struct error *err);
    /* What follows from a status that its node has written. */
    int (*check_status)(struct work *work, const struct document *before, struct document *after,
                        struct error *err);
};

extern const struct document_kind kind_volume_policy, kind_volume_config, kind_replicated_volume,
    kind_volume_replica, kind_volume_config_snapshot;
/* All there are, ended with NULL. */
extern const struct document_kind *const document_kinds[];

/* By its name, as documents have it; NULL. */
const struct document_kind *document_kind_named(const char *name);
/* By any of its names, as people write them; NULL. */
const struct document_kind *document_kind_called(const char *name);

/* What a policy says: its spec, and spec.policy of a config (P2-P6, P11). */
extern const struct schema_field volume_policy_fields[], volume_qos_fields[];
extern const struct schema_field volume_client_fields[];
extern const char *const volume_export_words[];

#define REPLICAS_MOST  7                  /* of one volume */
#define EPOCH_MOST     ((int64_t)1 << 52) /* that a node may report */
#define SNAPSHOTS_MOST 64                 /* of one config */
#define CLIENTS_MOST   4                  /* hosts that reach a volume beside its own */

/* Of a clone: the config that it was made of (P48). */
#define LABEL_SOURCE "openebs.io/source-volume"
