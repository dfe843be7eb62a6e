/*
 * The controller of the CSI driver: volumes, snapshots and groups for a container orchestrator,
 * as a client of the volume API that keeps nothing of its own.
 *
 * Calls may come twice, from two processes at once, and again after an answer that was lost; the
 * name that the orchestrator chose decides.  It is written into the metadata of what is made
 * (CSI_NAME_KEY), with the cluster's, and only what has it is deleted.  Our API is told that
 * nothing else may have it (common/alone_header.h).  Another Cinder makes one more: so whoever
 * makes something looks afterwards whether something older has the name, and takes its own back if
 * so: of those with one name the oldest is the one, for everybody. That holds as long as its clocks
 * agree and its rows appear in their order; here it holds always. Groups have no metadata: their
 * name and description are alone.  What no answer has told yet has another mark (CSI_UNTOLD_KEY),
 * and only that is thrown away when it could not be made.
 */
#pragma once

#include "client/snapshots.h"
#include "client/volumes.h"
#include "common/gib.h"
#include "csi/driver.private.h"

#define CSI_NAME_KEY   "csi.name"
#define CSI_UNTOLD_KEY "csi.untold"

/* Of whichever call: their messages are alike. */
typedef Csi__V1__ControllerModifyVolumeRequest__MutableParametersEntry controller_parameter;
#define CONTROLLER_PARAMETERS(request_) \
    (const controller_parameter *const *)(request_)->parameters, (request_)->n_parameters
#define CONTROLLER_MUTABLE(request_)                                     \
    (const controller_parameter *const *)(request_)->mutable_parameters, \
        (request_)->n_mutable_parameters

/* A name or an id that must be there. */
int controller_need(const char *text, const char *field, struct error *err);
/* There is none such `of`: GRPC_INVALID_ARGUMENT, with the known one that it may be meant for. */
int controller_unknown(const char *key, const char *what, const char *of, const char *const *known,
                       size_t count, struct error *err);
/* A parameter that Kubernetes' sidecars add for the information of all. */
bool controller_is_told(const char *parameter);
Csi__V1__Timestamp *controller_timestamp(struct arena *arena, int64_t us);

/*
 * The code for a refusal by the API, `err`, of a call that is well-formed, from the status of the
 * object that is in the way: ABORTED while something goes on there, INTERNAL after an error,
 * `otherwise` when it stays as it is.
 */
int controller_refused(const char *status, enum grpc_code otherwise, struct error *err);
/* The same about volumes, whose statuses are read again. */
int controller_refused_of(const struct client *api, struct arena *arena, char *const *ids,
                          size_t count, enum grpc_code otherwise, struct error *err);

/* How long what goes on elsewhere is waited for: short of the caller's deadline, so that it hears
 * why.  After each look: true to look again, after a while that grows; false: it is over. */
struct patience {
    int64_t until_us;
    unsigned looks;
};
struct patience patience_of(const struct grpc_call *call);
bool patience_again(const struct grpc_call *call, struct patience *patience);

/* ---- names ---- */

/* A query for what has the mark in its metadata. */
const char *controller_query(struct arena *arena, const char *mark);
/*
 * A name as it is marked: the orchestrator's, and before it the cluster's where that has one
 * ("@CLUSTER/NAME"; one that begins with "@" itself is "@/NAME"). So each cluster has names of its
 * own.
 */
const char *controller_mark(const struct grpc_call *call, const char *name);
/* The orchestrator's name in a mark, and the cluster's, of *ret_length bytes. */
const char *controller_name_in(const char *mark, const char **ret_cluster, size_t *ret_length);
/*
 * Did this driver create it, by its mark (NULL or "": it has none)?  0, or
 * GRPC_FAILED_PRECONDITION: what was created by others, or for another cluster, is not this
 * driver's to delete. A mark without cluster, as drivers without that option make it, is any
 * cluster's.
 */
int controller_check_owner(const struct grpc_call *call, const char *label, const char *id,
                           const char *mark, struct error *err);
/* The mark in metadata; NULL: none. */
const char *controller_mark_in(const json_t *metadata);
/* Is it ours, under this mark? */
bool controller_named(const json_t *metadata, const char *mark);
/* Nobody has been told of it yet. */
bool controller_is_untold(const json_t *metadata);
/* From now on somebody has.  `kind`: "volumes", "snapshots". */
int controller_tell(const struct client *api, struct arena *arena, const char *kind, const char *id,
                    struct error *err);

/* ---- things (things.c) ---- */

/* One kind of what the API has: a row of it begins with its id and its status. */
struct controller_kind {
    const char *label; /* "volume" */
    size_t row_size;
    const char *const *passing; /* statuses that end by themselves */
    size_t passing_count;
    int (*read)(const struct client *api, struct arena *arena, const char *id, void *ret,
                struct error *err);
    int (*page)(const struct client *api, struct arena *arena, const char *query,
                const char *marker, unsigned limit, void **ret, struct error *err);
    /* Those that may have the mark, and has this one it? */
    const char *(*query)(struct arena *arena, const char *mark);
    bool (*is_named)(const void *row, const char *mark);
    /* May it go?  Whether this driver created it, at least. */
    int (*check_delete)(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err);
    int (*destroy)(const struct client *api, struct arena *arena, const char *id,
                   struct error *err);
};

extern const struct controller_kind volume_kind, snapshot_kind;

/* GRPC_NOT_FOUND for what there is not, in whatever form the id comes. */
int controller_read(const struct client *api, struct arena *arena,
                    const struct controller_kind *kind, const char *id, void *ret,
                    struct error *err);
/* Waits until the row's status is none of the passing ones. GRPC_ABORTED; GRPC_NOT_FOUND when it
 * has gone meanwhile. */
int controller_settle(const struct grpc_call *call, const struct client *api,
                      const struct controller_kind *kind, void *row, struct error *err);
/* What has begun may go on whatever this failure is: then no code may say that it is over, or the
 * caller would forget what there will be. */
int controller_unsure(int result, struct error *err);
/* FOUND with the oldest of the mark, 0 when there is none. */
int controller_find(const struct client *api, struct arena *arena,
                    const struct controller_kind *kind, const char *mark, void *ret,
                    struct error *err);
#define FOUND (GRPC_CODES + 1)
/* The same after one was made: 0; is the oldest that one? */
int controller_find_made(const struct client *api, struct arena *arena,
                         const struct controller_kind *kind, const char *mark, const char *made_id,
                         void *ret, bool *ret_mine, struct error *err);
/* Deletes and waits until it is gone. */
int controller_delete(const struct grpc_call *call, const struct client *api,
                      const struct controller_kind *kind, const char *id, struct error *err);

/* ---- lists ---- */

struct controller_list {
    const struct controller_kind *kind;
    const char *query;   /* NULL: all */
    int32_t max_entries; /* 0: as many as one answer may have */
    const char *token;   /* NULL or "": from the first */
    /* A row goes with its page: what is wanted of it is copied.  Anything but 0 ends the list. */
    int (*keep)(void *arg, const void *row, struct error *err);
    void *arg;
};

/* How many are kept at most. */
unsigned controller_most(int32_t max_entries);
/* Has the rows kept; *ret_next (may be NULL) is the token of those behind them, "" when there are
 * none. */
int controller_collect(const struct client *api, struct arena *arena,
                       const struct controller_list *list, char **ret_next, struct error *err);

/* ---- volumes ---- */

/* GiB for a range of bytes: at least `least_gb`, or what is asked; GRPC_OUT_OF_RANGE. */
int controller_size(const Csi__V1__CapacityRange *range, int64_t least_gb, int64_t *ret_gb,
                    struct error *err);
/* Is it whole, and can a volume be used so?  0, or a refusal. */
int controller_check_capability(const Csi__V1__VolumeCapability *capability, bool multiattach,
                                struct error *err);
bool controller_is_multi_node(const Csi__V1__VolumeCapability *capability);
Csi__V1__Volume *controller_volume(struct arena *arena, const struct remote_volume *volume);
/* Of an attachment without instance: the node; NULL: it is no node of ours. */
const char *controller_node(const struct remote_attachment *attachment);
/* NULL: the node does not have it. */
const struct remote_attachment *controller_attached_to(const struct remote_volume *volume,
                                                       const char *node_id);
/* Nodes that have it, in the arena. */
char **controller_nodes(struct arena *arena, const struct remote_volume *volume, size_t *ret_count);
/* What was asked, as an answer that says yes to it. */
Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed *
controller_confirm(struct arena *arena, const Csi__V1__ValidateVolumeCapabilitiesRequest *request);
/* How many volumes a node may have; 0: any number. */
int64_t controller_room(const struct grpc_call *call);
/* Does the node take the volume beside the others that it has?  GRPC_RESOURCE_EXHAUSTED. */
int controller_check_room(const struct grpc_call *call, const struct client *api,
                          const char *node_id, const char *volume_id, struct error *err);
/* Removes attachments that a call has begun and left: nobody can tell of which node they are. */
int controller_detach_begun(const struct client *api, struct arena *arena, const char *volume_id,
                            struct error *err);

/* GRPC_NOT_FOUND: of the nodes that there are, if that is said, this is none. */
int controller_check_node(const struct grpc_call *call, const char *node_id, struct error *err);
/* Puts a pair behind the context; there is room for it. */
void controller_put_context(struct arena *arena, Csi__V1__ControllerPublishVolumeResponse *answer,
                            const char *key, const char *value);
/* Waits for what goes on with the volume, and has one whose last extend failed be as it was before
 * that; its data were never touched. */
int controller_recover(const struct grpc_call *call, const struct client *api,
                       struct remote_volume *volume, struct error *err);
/* Are these requests whole? */
int controller_check_expand(const Csi__V1__ControllerExpandVolumeRequest *request, int64_t *ret_gb,
                            struct error *err);
int controller_check_context(const Csi__V1__ValidateVolumeCapabilitiesRequest *request,
                             struct error *err);

/* Parameters that may be modified later: those of metadata, with `more` (may be NULL) behind them,
 * and the type; *ret_type stays where none is given. */
int controller_read_mutable(struct arena *arena, const controller_parameter *const *entries,
                            size_t count, const struct remote_pair *more,
                            const struct remote_pair **ret, const char **ret_type,
                            struct error *err);

/* ---- snapshots ---- */

Csi__V1__Snapshot *controller_snapshot(struct arena *arena, const struct remote_snapshot *snapshot);
/* Is the request whole? */
int controller_check_snapshot(const Csi__V1__CreateSnapshotRequest *request, struct error *err);
/* A list that is being answered, and has room. */
struct snapshots_answer {
    struct arena *arena;
    Csi__V1__ListSnapshotsResponse *answer;
};
int controller_keep_snapshot(const struct snapshots_answer *to, Csi__V1__Snapshot *snapshot);

/* ---- volumes that are made from a policy (controller_configs.private.h) ---- */

bool config_is_snapshot_id(const char *id);
bool config_is_wanted(const controller_parameter *const *parameters, size_t count);
grpc_handler config_create, config_get_capacity, config_delete, config_get, config_publish,
    config_unpublish, config_expand, config_validate, config_modify, config_create_snapshot,
    config_delete_snapshot, config_get_snapshot;
/* Has one of them the name?  GRPC_ALREADY_EXISTS, GRPC_ABORTED. */
int config_check_name(const struct client *api, struct arena *arena, const char *mark,
                      struct error *err);
/* A volume without policy is to be made of this: GRPC_INVALID_ARGUMENT if it is of one with it. */
int config_check_source(const struct client *api, struct arena *arena, const char *volume_id,
                        const char *snapshot_id, struct error *err);
/* Puts what the request asks for behind what the answer has: one, or all that is taken. */
int config_list_snapshots(const struct client *api, struct arena *arena,
                          const Csi__V1__ListSnapshotsRequest *request,
                          Csi__V1__ListSnapshotsResponse *answer, struct error *err);

/* ---- the calls ---- */

grpc_handler controller_create_volume, controller_delete_volume, controller_get_volume,
    controller_list_volumes, controller_validate, controller_get_capacity, controller_publish,
    controller_unpublish, controller_expand, controller_create_snapshot, controller_delete_snapshot,
    controller_list_snapshots, controller_get_snapshot, controller_modify;
