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
#include "csi/controller/controller.private.h"

#define CONFIG_PREFIX    "config-"
#define SNAPSHOT_PREFIX  "configsnap-"
#define POLICY_KEY       "cstorVolumePolicy"
#define NAME_ANNOTATION  "csi.scoria.io/name"       /* its mark (controller_mark()) */
#define CLONE_ANNOTATION "csi.scoria.io/clone"      /* of a snapshot: whose name is made of it */
#define SOURCE_LABEL     "openebs.io/source-volume" /* the service keeps that for this one */
#define CLONE_FINALIZER  "csi.scoria.io/clone"      /* of a config: its snapshot is to go first */

/* A row: its id and its status first. */
struct volume_config {
    const char *id, *status; /* phase; "deleting" */
    const char *uid, *name, *version;
    const char *csi_name, *policy, *source; /* its mark; "": none */
    const char *node;                       /* that is to have it; "": none */
    int64_t bytes;                          /* that are wanted, */
    int64_t has_bytes;                      /* and there; 0: nothing yet */
    int64_t replicas, block_size;
    const char *trouble; /* what its conditions mean (config_fault_in()); NULL: nothing */
    bool has_policy;     /* its own copy */
    const json_t *finalizers, *reclaim; /* what came of the last reclaim */
    const json_t *progress;             /* of what runs; NULL: nothing does */
    bool is_clone, keeps_source;        /* a clone that is not done; its source stays for it */
};

/* What its node says of the volume. */
struct config_volume {
    bool there;
    const char *uid, *phase, *node;
    bool serves;   /* as it is wanted, */
    bool released; /* or nowhere any more */
};

/* A row: its id and its status first. */
struct config_snapshot {
    const char *id, *status; /* phase; "deleting" */
    const char *name, *csi_name, *message;
    const char *clone; /* name of the volume that it is taken for; "": it is a user's */
    const char *volume, *volume_id; /* the config's name, and the volume's id */
    int64_t bytes, taken_us;        /* 0: not taken yet */
    size_t pools, pending;          /* that hold it, and that are to */
};

extern const struct remote_documents config_documents, config_snapshot_documents;
extern const struct controller_kind config_kind, config_snapshot_kind;

/* "" and 0 for what is not there. */
const char *config_says(const json_t *object, const char *key);
/* Can it be a document's name? */
bool config_is_name(const char *text);
/* The name of a document for this one of an orchestrator. */
const char *config_name_of(struct arena *arena, const char *mark);

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
/* What has no policy is no source: GRPC_INVALID_ARGUMENT, or GRPC_NOT_FOUND. */
int config_refuse_plain_volume(const struct client *api, struct arena *arena, const char *id,
                               struct error *err);
int config_refuse_plain_snapshot(const struct client *api, struct arena *arena, const char *id,
                                 struct error *err);

/* ---- snapshots (config_snapshots.c) ---- */

struct config_shot {
    const char *name,
        *csi_name; /* of the document; of the snapshot, or of the clone that it is for */
    bool is_for_clone;
    const struct volume_config *config;
};
/* The one of this name, made if there is none, and taken. */
int config_snapshot_take(const struct grpc_call *call, const struct client *api,
                         const struct config_shot *shot, struct config_snapshot *ret,
                         struct error *err);

/* ---- clones (config_clone.c) ---- */

struct config_clone {
    const char *source_id; /* volume that it is made of */
    const char *csi_name;
    const char *snapshot; /* name of the one that it is made by */
    int64_t replicas;
};
/* GRPC_NOT_FOUND for what can be no source. */
int config_clone_name(const struct client *api, struct arena *arena, struct config_clone *clone,
                      struct error *err);
/* *ret: what its document names as source, when that is ready. */
int config_clone_prepare(const struct grpc_call *call, const struct client *api,
                         const struct config_clone *clone, const Csi__V1__CapacityRange *range,
                         const char **ret, int64_t *ret_gb, struct error *err);
/* The clone was not made: if that is over, nothing of it stays. `result`, or why it stays. */
int config_clone_undo(const struct client *api, struct arena *arena,
                      const struct config_clone *clone, int result, struct error *err);
/* When it is a volume of its own its snapshot goes. */
int config_clone_finish(const struct grpc_call *call, const struct client *api,
                        struct volume_config *config, struct error *err);
/* The same for one that is being deleted. */
int config_clone_let_go(const struct grpc_call *call, const struct client *api,
                        struct volume_config *config, struct error *err);
/* Snapshots of the volume that clones were to be made by go: how many there are still. -1. */
int config_clone_sweep(const struct client *api, struct arena *arena,
                       const struct volume_config *source, struct error *err);

/* As the API has refused something: what it said, in CSI's words. */
int config_refused(struct error *err);

Csi__V1__Volume *config_shown(struct arena *arena, const struct volume_config *config);
/* ---- classes (config_class.c) ---- */

#define CONFIG_GIB_MOST 1024

struct config_class {
    const char *policy;  /* "": the defaults */
    int64_t replicas;    /* as it says; 0: it does not */
    int64_t count;       /* as there will be */
    const json_t *pools; /* that its policy names; empty or NULL: any */
    bool is_there;       /* the policy */
};
int config_class_read(const controller_parameter *const *parameters, size_t count,
                      struct config_class *ret, struct error *err);
/* What its policy says. */
int config_class_resolve(const struct client *api, struct arena *arena, struct config_class *class,
                         struct error *err);

/* ---- limits (config_limits.c) ---- */

/* {"iops": 100} */
int config_limits_read(struct arena *arena, const controller_parameter *const *parameters,
                       size_t count, json_t **ret, struct error *err);
/* Waits until there is a policy that they are a part of. */
int config_limits_set(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, json_t *limits, struct error *err);

/* ---- room (config_reclaim.c) ---- */

/* Its replicas give back room, unless a node has it: then that is the node's matter, and there is
 * nothing to do. */
int config_reclaim(const struct grpc_call *call, const struct client *api, const char *id,
                   Reclaimspace__ControllerReclaimSpaceResponse *answer, struct error *err);
void reclaim_tell(struct arena *arena, int64_t before_bytes, int64_t after_bytes,
                  Reclaimspace__ControllerReclaimSpaceResponse *ret);

/* ---- health (config_health.c) ---- */

/* What is wrong, in a sentence for all; NULL: nothing. */
const char *config_fault_in(const json_t *conditions);
const char *config_fault(const struct volume_config *config, const struct config_volume *volume);
Csi__V1__VolumeCondition *config_condition(struct arena *arena, const struct volume_config *config,
                                           const struct config_volume *volume);
/* Deletes it, and what it was being made by. */
int config_remove(const struct grpc_call *call, const struct client *api, const char *id,
                  struct error *err);
/* Has a volume without policy the name?  GRPC_ALREADY_EXISTS, GRPC_ABORTED while it may go. */
int config_check_plain_name(const struct client *api, struct arena *arena, const char *mark,
                            struct error *err);
int config_check_capabilities(Csi__V1__VolumeCapability *const *capabilities, size_t count,
                              struct error *err);
