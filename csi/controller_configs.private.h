/*
 * Volumes made from a policy: configs of the volume API (docs/provisioning.md), which its
 * controller makes true.  Whoever makes, grows or deletes one says what is wanted; only a volume
 * that a node is to have, or has no longer, and its size are waited for.
 *
 * Of those with one name there is one: the API itself has no second.  The volume's id is "config-"
 * and the uid of the config; its name is the orchestrator's, or where that cannot be one, follows
 * from it.  So it is with their snapshots, whose ids are "configsnap-" and the uid.
 */
#pragma once

#include "client/documents.h"
#include "csi/controller.private.h"

#define CONFIG_PREFIX   "config-"
#define SNAPSHOT_PREFIX "configsnap-"
#define POLICY_KEY      "cstorVolumePolicy"
#define NAME_ANNOTATION "csi.scoria.io/name" /* as the orchestrator said it */

/* A row: its id and its status first. */
struct volume_config {
    const char *id, *status; /* phase; "deleting" */
    const char *uid, *name, *version;
    const char *csi_name, *policy, *source; /* "": none */
    const char *node;                       /* that is to have it; "": none */
    int64_t bytes;                          /* that are wanted, */
    int64_t has_bytes;                      /* and there; 0: nothing yet */
    int64_t replicas, block_size;
    const char *trouble; /* what its conditions say; NULL: nothing */
    bool has_policy;     /* its own copy */
};

/* What its node says of the volume. */
struct config_volume {
    bool there;
    const char *uid, *phase, *node, *message;
    bool serves;   /* as it is wanted, */
    bool released; /* or nowhere any more */
};

/* A row: its id and its status first. */
struct config_snapshot {
    const char *id, *status; /* phase; "deleting" */
    const char *name, *csi_name, *message;
    const char *volume, *volume_id; /* the config's name, and the volume's id */
    int64_t bytes, taken_us;        /* 0: not taken yet */
};

extern const struct remote_documents config_documents;
extern const struct controller_kind config_kind, config_snapshot_kind;

/* "" and 0 for what is not there. */
const char *config_says(const json_t *object, const char *key);
int64_t config_storage(const json_t *holder);
/* The name of a document for this one of an orchestrator. */
const char *config_name_of(struct arena *arena, const char *csi_name);

/* From its document; texts are the document's. */
int config_take(struct arena *arena, const json_t *document, struct volume_config *ret,
                struct error *err);
/* GRPC_NOT_FOUND. */
int config_read(const struct client *api, struct arena *arena, const char *id,
                struct volume_config *ret, struct error *err);
int config_read_volume(const struct client *api, struct arena *arena,
                       const struct volume_config *config, struct config_volume *ret,
                       struct error *err);
/* Takes the patch, and the config is as it is then. */
int config_change(const struct client *api, struct arena *arena, struct volume_config *config,
                  json_t *patch, struct error *err);
/* Nothing but the node: to this one, or "" to none, from the one that was read.  GRPC_ABORTED: it
 * has become another's meanwhile. */
int config_publish_on(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, const char *node_id, struct error *err);
/* As the API has refused something: what it said, in CSI's words. */
int config_refused(struct error *err);

Csi__V1__Volume *config_shown(struct arena *arena, const struct volume_config *config);
Csi__V1__VolumeCondition *config_condition(struct arena *arena, const struct volume_config *config,
                                           const struct config_volume *volume);
int config_check_capabilities(Csi__V1__VolumeCapability *const *capabilities, size_t count,
                              struct error *err);
