/*
 * Volumes with a policy: configs of the volume API (docs/provisioning.md), which its controller
 * reconciles.  To create, resize or delete one is to change its desired state; the driver waits
 * only for a volume to be served on a node or released from it, and for its size.
 *
 * A name belongs to one config: the API guarantees that.  The volume's id is "config-" and the uid
 * of the config; the name of the config is the orchestrator's, or derived from it where that is not
 * valid.  The same holds for snapshots: their ids are "configsnap-" and the uid.
 */
#pragma once

#include "client/documents.h"
#include "csi/driver.private.h"

#define CONFIG_PREFIX   "config-"
#define NAME_ANNOTATION "csi.scoria.io/name"       /* its mark (controller_mark()) */
#define SOURCE_LABEL    "openebs.io/source-volume" /* the service retains the source volume */
#define CLONE_FINALIZER \
    "csi.scoria.io/clone" /* of a config: its snapshot has to be deleted
                                                     * first */

/* A row: starts with its id and its status. */
struct volume_config {
    const char *id, *status; /* phase; "deleting" */
    const char *uid, *name, *version;
    const char *csi_name, *policy, *source; /* its mark; "": none */
    const char *node;                       /* desired node; "": none */
    int64_t bytes;                          /* desired, */
    int64_t has_bytes;                      /* and actual size; 0: none yet */
    int64_t replicas, block_size;
    const char *fault;                  /* of its conditions, in a sentence for users; NULL: none */
    bool has_policy;                    /* its own copy of the policy */
    const json_t *finalizers, *reclaim; /* the result of the last reclaim */
    const json_t *progress;             /* of running operations; NULL: none */
    bool is_clone, keeps_source;        /* a clone that is not complete; its source is retained */
};

/* The volume's state as reported by its node. */
struct config_volume {
    const char *uid, *node;
    bool serves;   /* served as desired */
    bool released; /* served nowhere any more */
};

extern const struct remote_documents config_documents;

bool config_is_id(const char *id);
/* "" and 0 for missing members. */
const char *config_text_of(const json_t *object, const char *key);
/* Decodes a document; texts belong to it. */
int config_decode(struct arena *arena, const json_t *document, struct volume_config *ret,
                  struct error *err);
/* GRPC_NOT_FOUND. */
int config_read(const struct client *api, struct arena *arena, const char *id,
                struct volume_config *ret, struct error *err);
int config_read_volume(const struct client *api, struct arena *arena,
                       const struct volume_config *config, struct config_volume *ret,
                       struct error *err);
/* GRPC_NOT_FOUND. */
int config_none(const char *id, struct error *err);

/* ---- health (config_health.c) ---- */

Csi__V1__VolumeCondition *config_condition(struct arena *arena, const struct volume_config *config);
/* The fault of the volume with this id, with the progress of repairs; NULL: none known. */
const char *config_find_fault(struct grpc_call *call, const struct client *api, const char *id);
