/*
 * Volumes with a policy (csi/config.private.h) and their snapshots (ids: "configsnap-" and the uid)
 * in the calls of the controller service.
 */
#pragma once

#include "csi/controller/controller.private.h"

#define SNAPSHOT_PREFIX "configsnap-"
#define POLICY_KEY      "cstorVolumePolicy"
/* Of a snapshot that no response has reported yet. */
#define UNREPORTED_ANNOTATION "csi.scoria.io/unreported"
#define CLONE_ANNOTATION \
    "csi.scoria.io/clone" /* of a snapshot: the mark of the clone that is
                                                     * created from it */

/* A row: starts with its id and its status. */
struct config_snapshot {
    const char *id, *status; /* phase; "deleting" */
    const char *name, *csi_name, *message;
    const char *clone;              /* mark of the clone that it is for; "": a user's snapshot */
    const char *volume, *volume_id; /* the config's name, and the volume's id */
    int64_t bytes, taken_us;        /* 0: not taken yet */
    size_t pools, pending;          /* pools that have it, and that will have it */
    bool is_unreported;
};

extern const struct remote_documents config_snapshot_documents;
extern const struct controller_kind config_kind, config_snapshot_kind;

/* Is it a valid name of a document? */
bool config_is_name(const char *text);
/* The document's name for a mark. */
const char *config_name_of(struct arena *arena, const char *mark);

/* Applies the patch, and updates the row from the result. */
int config_change(const struct client *api, struct arena *arena, struct volume_config *config,
                  json_t *patch, struct error *err);
/* Changes only the node: to this one, or "" for none, from the one in the row.  GRPC_ABORTED:
 * another call has changed it meanwhile. */
int config_publish_on(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, const char *node_id, struct error *err);

/* The gRPC code for a refusal by the API, with its message. */
int config_refused(struct error *err);
Csi__V1__Volume *config_shown(struct arena *arena, const struct volume_config *config);
int config_check_capabilities(Csi__V1__VolumeCapability *const *capabilities, size_t count,
                              struct error *err);

/* ---- volumes without policy (config_plain.c) ---- */

/* Does a volume without policy have the name?  GRPC_ALREADY_EXISTS; an unreported one is deleted,
 * GRPC_ABORTED until it is gone. */
int config_check_plain_name(const struct grpc_call *call, const struct client *api,
                            const char *mark, struct error *err);
/* A volume without a policy, or a snapshot of one, is not a valid source: GRPC_INVALID_ARGUMENT, or
 * GRPC_NOT_FOUND. */
int config_refuse_plain(const struct client *api, struct arena *arena,
                        const struct controller_kind *kind, const char *id, struct error *err);

/* ---- snapshots (config_snapshots.c) ---- */

struct config_shot {
    const char *name,
        *csi_name; /* of the document; the mark of the snapshot, or of the clone that it is for */
    bool is_for_clone;
    const struct volume_config *config;
};
/* Finds or creates the snapshot with this name, and waits until it is taken. */
int config_snapshot_take(const struct grpc_call *call, const struct client *api,
                         const struct config_shot *shot, struct config_snapshot *ret,
                         struct error *err);

/* ---- clones (config_clone.c) ---- */

struct config_clone {
    const char *source_id; /* the source volume */
    const char *csi_name;
    const char *snapshot; /* name of its snapshot */
    int64_t replicas;
};
/* GRPC_NOT_FOUND for an invalid source. */
int config_clone_name(const struct client *api, struct arena *arena, struct config_clone *clone,
                      struct error *err);
/* *ret: the clone's source in its document, once that is ready. */
int config_clone_prepare(const struct grpc_call *call, const struct client *api,
                         const struct config_clone *clone, const Csi__V1__CapacityRange *range,
                         const char **ret, int64_t *ret_gb, struct error *err);
/* Deletes the clone's snapshot once the clone is independent of it. */
int config_clone_finish(const struct grpc_call *call, const struct client *api,
                        struct volume_config *config, struct error *err);

/* ---- delete (config_remove.c) ---- */

/* The clone was not created: if that is final, its snapshot is deleted.  Returns `result`, or the
 * reason why the snapshot remains. */
int config_clone_undo(const struct client *api, struct arena *arena,
                      const struct config_clone *clone, int result, struct error *err);
/* Deletes the clone's snapshot, and releases its config. */
int config_clone_release(const struct grpc_call *call, const struct client *api,
                         struct volume_config *config, struct error *err);
/* Deletes it, and the snapshot that it was being cloned from. */
int config_remove(const struct grpc_call *call, const struct client *api, const char *id,
                  struct error *err);

/* ---- classes (config_class.c) ---- */

#define CONFIG_GIB_MOST 1024

struct config_class {
    const char *policy;  /* "": the defaults */
    int64_t replicas;    /* as requested; 0: not given */
    int64_t count;       /* resulting number */
    const json_t *pools; /* of its policy; empty or NULL: any */
    bool is_there;       /* the policy exists */
};
int config_class_read(const controller_parameter *const *parameters, size_t count,
                      struct config_class *ret, struct error *err);
/* Reads its policy. */
int config_class_resolve(const struct client *api, struct arena *arena, struct config_class *class,
                         struct error *err);

/* ---- limits (config_limits.c) ---- */

/* {"iops": 100} */
int config_limits_read(struct arena *arena, const controller_parameter *const *parameters,
                       size_t count, json_t **ret, struct error *err);
/* Waits until the config has its policy, of which they are a part. */
int config_limits_set(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, json_t *limits, struct error *err);

/* ---- space (config_reclaim.c) ---- */

/* Deallocates zeros of its replicas, unless a node has the volume: then the node does it, and
 * nothing is done here. */
int config_reclaim(const struct grpc_call *call, const struct client *api, const char *id,
                   Reclaimspace__ControllerReclaimSpaceResponse *answer, struct error *err);
void reclaim_report(struct arena *arena, int64_t before_bytes, int64_t after_bytes,
                    Reclaimspace__ControllerReclaimSpaceResponse *ret);
