/*
 * The controller service of the CSI driver: volumes, snapshots and groups for a container
 * orchestrator, as a stateless client of the volume API.
 *
 * Calls may be repeated, concurrent in two processes, and repeated after a lost response; the name
 * chosen by the orchestrator identifies the object.  It is stored in the object's metadata
 * (CSI_NAME_KEY), with the cluster's name, and only objects with that key are deleted. scoria's API
 * guarantees that it is unique (common/scoria_headers.h).  Cinder does not: so after a create the
 * driver searches for an older object with the same name, and deletes its own if there is one; of
 * several objects the oldest is used by every caller.  That requires synchronous clocks and ordered
 * visibility of the rows there; scoria always guarantees it.  Groups have no metadata: their name
 * and description identify them.  An object that no response has reported yet has another key
 * (CSI_UNREPORTED_KEY), and only such an object is deleted when its creation fails.
 */
#pragma once

#include "client/snapshots.h"
#include "client/volumes.h"
#include "common/gib.h"
#include "csi/config.private.h"

#define CSI_NAME_KEY       "csi.name"
#define CSI_UNREPORTED_KEY "csi.untold"

/* Of any call: the messages have the same layout. */
typedef Csi__V1__ControllerModifyVolumeRequest__MutableParametersEntry controller_parameter;
#define CONTROLLER_PARAMETERS(request_) \
    (const controller_parameter *const *)(request_)->parameters, (request_)->n_parameters
#define CONTROLLER_MUTABLE(request_)                                     \
    (const controller_parameter *const *)(request_)->mutable_parameters, \
        (request_)->n_mutable_parameters

/* A required name or id. */
int controller_require(const char *text, const char *field, struct error *err);
/* GRPC_INVALID_ARGUMENT for an unknown key `of` an object, with the nearest known one. */
int controller_unknown(const char *key, const char *what, const char *of, const char *const *known,
                       size_t count, struct error *err);
/* An informational parameter, added by Kubernetes' sidecars. */
bool controller_is_informational(const char *parameter);
Csi__V1__Timestamp *controller_timestamp(struct arena *arena, int64_t us);

/*
 * The gRPC code for a refusal by the API, `err`, of a well-formed call, from the status of the
 * conflicting object: ABORTED during an operation, INTERNAL after an error, `otherwise` for a
 * stable status.
 */
int controller_refused(const char *status, enum grpc_code otherwise, struct error *err);
/* Does the refusal name an operation that ends by itself?  Some keep the status of their volume. */
bool controller_is_temporary(const struct error *err);
/*
 * The same for a volume: its status is read again.  A refusal because of another state than that
 * of an operation, such as missing storage, is FAILED_PRECONDITION: only `otherwise` is for one
 * because of the request.  GRPC_NOT_FOUND.
 */
int controller_refused_volume(const struct client *api, struct arena *arena, const char *id,
                              enum grpc_code otherwise, struct error *err);
/* The same for several volumes. */
int controller_refused_of(const struct client *api, struct arena *arena, char *const *ids,
                          size_t count, enum grpc_code otherwise, struct error *err);

/*
 * The code of a failed operation, and `what` has failed with the newest message about the object:
 * RESOURCE_EXHAUSTED for lack of space, FAILED_PRECONDITION where only a detached volume can have
 * it.
 */
int controller_failed(const struct client *api, struct arena *arena, const char *id,
                      enum grpc_code otherwise, const char *what, struct error *err);

/* Polling with growing pauses, up to a limit before the caller's deadline, so that the response
 * with the reason arrives in time; briefly while other calls wait for the thread. poll_again()
 * pauses and returns true to poll again, false: timed out. */
struct poll_wait {
    int64_t until_us, shared_until_us;
    unsigned polls;
};
struct poll_wait poll_wait_of(const struct grpc_call *call);
bool poll_again(const struct grpc_call *call, struct poll_wait *wait);

/* ---- names ---- */

/* A query for objects with the mark in their metadata. */
const char *controller_query(struct arena *arena, const char *mark);
/*
 * A mark is the orchestrator's name, with a prefix for a configured cluster ("@CLUSTER/NAME"; a
 * name that starts with "@" itself becomes "@/NAME").  So each cluster has its own names.
 */
const char *controller_mark(const struct grpc_call *call, const char *name);
/* The orchestrator's name in a mark, and the cluster's, of *ret_length bytes. */
const char *controller_name_in(const char *mark, const char **ret_cluster, size_t *ret_length);
/*
 * Was the object created by this driver, according to its mark (NULL or "": none)?  0, or
 * GRPC_FAILED_PRECONDITION: an object of other clients or of another cluster is not deleted.  A
 * mark without cluster, as of drivers without that option, belongs to any cluster.
 */
int controller_check_owner(const struct grpc_call *call, const char *label, const char *id,
                           const char *mark, struct error *err);
/* The mark in metadata; NULL: none. */
const char *controller_mark_in(const json_t *metadata);
/* Does the object have this mark? */
bool controller_named(const json_t *metadata, const char *mark);
/* No response has reported it yet. */
bool controller_is_unreported(const json_t *metadata);

/* ---- objects (objects.c) ---- */

/* A kind of objects of the API: its rows start with the id and the status. */
struct controller_kind {
    const char *label; /* "volume" */
    size_t row_size;
    const char *const *passing; /* transient statuses */
    size_t passing_count;
    int (*read)(const struct client *api, struct arena *arena, const char *id, void *ret,
                struct error *err);
    int (*page)(const struct client *api, struct arena *arena, const char *query,
                const char *marker, unsigned limit, void **ret, struct error *err);
    /* A query for candidates with a mark, and the check of a row. */
    const char *(*query)(struct arena *arena, const char *mark);
    bool (*is_named)(const void *row, const char *mark);
    /* May it be deleted?  At least checks that this driver created it. */
    int (*check_delete)(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err);
    /* `unreported`: only while it is a key of its metadata, ERROR_CONFLICT; NULL: always. */
    int (*destroy)(const struct client *api, struct arena *arena, const char *id,
                   const char *unreported, struct error *err);
    size_t metadata_at; /* offset in a row, of objects with CSI_UNREPORTED_KEY */
    /* Of a failed create: the code, unless the reason has another one, and the text. */
    enum grpc_code create_failed;
    const char *create_failure; /* "could not be created" */
    /* Has it parts that may be the reason of a refusal, and are being deleted or otherwise in a
     * transient state?  NULL: has none. */
    bool (*has_ending_parts)(const struct client *api, struct arena *arena, const void *row);
};

extern const struct controller_kind volume_kind, snapshot_kind;

/* GRPC_NOT_FOUND for a missing object, also for an id of any other form. */
int controller_read(const struct client *api, struct arena *arena,
                    const struct controller_kind *kind, const char *id, void *ret,
                    struct error *err);
/* Waits until the row's status is not transient.  GRPC_ABORTED; GRPC_NOT_FOUND when it is deleted
 * meanwhile. */
int controller_wait_idle(const struct grpc_call *call, const struct client *api,
                         const struct controller_kind *kind, void *row, struct error *err);
/* For a failure after which the operation may still complete: replaces a final code, as the caller
 * would otherwise drop the object. */
int controller_outcome_unknown(int result, struct error *err);
/* FOUND with the oldest object with the mark, 0: none. */
int controller_find(const struct client *api, struct arena *arena,
                    const struct controller_kind *kind, const char *mark, void *ret,
                    struct error *err);
#define FOUND (GRPC_CODES + 1)
/* The same after a create: 0; is the created object the oldest? */
int controller_find_made(const struct client *api, struct arena *arena,
                         const struct controller_kind *kind, const char *mark, const char *made_id,
                         void *ret, bool *ret_mine, struct error *err);
/* Deletes it, if no response has reported it, and waits until it is gone; no final code.
 * GRPC_ABORTED: it was reported meanwhile. */
int controller_drop_unreported(const struct grpc_call *call, const struct client *api,
                               const struct controller_kind *kind, const void *row,
                               struct error *err);
/* Deletes an unreported one that could not be created as requested; the result is that failure. */
int controller_discard_failed(const struct grpc_call *call, const struct client *api,
                              const struct controller_kind *kind, const void *row,
                              struct error *err);
/* Waits until it is created, maybe by an earlier call for its name.  A failed one is discarded. */
int controller_wait_created(const struct grpc_call *call, const struct client *api,
                            const struct controller_kind *kind, void *row, struct error *err);
/*
 * The result of a create, unless it is final: after that no call continues with the object of an
 * earlier call for the name, which may have had other parameters.  If that is unreported it is
 * deleted first, or the code is not final.
 */
int controller_created(const struct grpc_call *call, const struct client *api,
                       const struct controller_kind *kind, const char *mark, int result,
                       struct error *err);
/* Marks it as reported.  GRPC_ABORTED: it was deleted meanwhile. */
int controller_mark_reported(const struct client *api, struct arena *arena,
                             const struct controller_kind *kind, const char *id, struct error *err);
/* Deletes it and waits until it is gone. */
int controller_delete(const struct grpc_call *call, const struct client *api,
                      const struct controller_kind *kind, const char *id, struct error *err);

/* ---- lists ---- */

struct controller_list {
    const struct controller_kind *kind;
    const char *query;   /* NULL: all */
    int32_t max_entries; /* 0: up to the limit of a response */
    const char *token;   /* NULL or "": from the first */
    /* A row is freed with its page: needed data is copied.  Any result but 0 ends the list. */
    int (*keep)(void *arg, const void *row, struct error *err);
    void *arg;
};

/* Are there rows, and is each of them being deleted?  True as well when they cannot be read. */
bool controller_all_deleted(const struct client *api, struct arena *arena,
                            const struct controller_kind *kind, const char *query);
/* The limit of entries of a response. */
unsigned controller_most(int32_t max_entries);
/* Calls keep() for the rows; *ret_next (may be NULL) is the token of the following ones, "" for
 * none. */
int controller_collect(const struct client *api, struct arena *arena,
                       const struct controller_list *list, char **ret_next, struct error *err);

/* ---- volumes ---- */

/* GiB for a range of bytes: at least `least_gb` and the requested size; GRPC_OUT_OF_RANGE. */
int controller_size(const Csi__V1__CapacityRange *range, int64_t least_gb, int64_t *ret_gb,
                    struct error *err);
/* Is it valid and supported?  0, or a refusal. */
int controller_check_capability(const Csi__V1__VolumeCapability *capability, bool multiattach,
                                struct error *err);
bool controller_is_multi_node(const Csi__V1__VolumeCapability *capability);
Csi__V1__Volume *controller_volume(struct arena *arena, const struct remote_volume *volume);
/* The node of an attachment without an instance; NULL: not a node. */
const char *controller_node(const struct remote_attachment *attachment);
/* NULL: the volume is not attached to the node. */
const struct remote_attachment *controller_attached_to(const struct remote_volume *volume,
                                                       const char *node_id);
/* The nodes of its attachments, in the arena. */
char **controller_nodes(struct arena *arena, const struct remote_volume *volume, size_t *ret_count);
/* A response that confirms the request. */
Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed *
controller_confirm(struct arena *arena, const Csi__V1__ValidateVolumeCapabilitiesRequest *request);
/* Volumes per node; 0: unlimited. */
int64_t controller_volume_limit(const struct grpc_call *call);
/* May the node have this volume in addition to its others?  GRPC_RESOURCE_EXHAUSTED. */
int controller_check_volume_limit(const struct grpc_call *call, const struct client *api,
                                  const char *node_id, const char *volume_id, struct error *err);
/* May it have incomplete attachments? */
bool controller_is_being_attached(const struct remote_volume *volume);
/* Deletes those of interrupted calls: their node is unknown.  GRPC_ABORTED: one is complete by now,
 * or cannot be deleted yet. */
int controller_detach_begun(const struct client *api, struct arena *arena, const char *volume_id,
                            struct error *err);

/* GRPC_NOT_FOUND: not one of the configured nodes, if there are any. */
int controller_check_node(const struct grpc_call *call, const char *node_id, struct error *err);
/* Appends a pair to the context, which has space for it. */
void controller_put_context(struct arena *arena, Csi__V1__ControllerPublishVolumeResponse *answer,
                            const char *key, const char *value);
/* Resets a volume after a failed extend, which changed none of its data. */
int controller_reset_extend(const struct grpc_call *call, const struct client *api,
                            struct remote_volume *volume, struct error *err);
/* The same, after running operations on the volume have ended. */
int controller_recover(const struct grpc_call *call, const struct client *api,
                       struct remote_volume *volume, struct error *err);
/* Are these requests valid? */
int controller_check_expand(const Csi__V1__ControllerExpandVolumeRequest *request, int64_t *ret_gb,
                            struct error *err);
int controller_check_context(const Csi__V1__ValidateVolumeCapabilitiesRequest *request,
                             struct error *err);

/* Mutable parameters: those of metadata, followed by `more` (may be NULL), and the type; *ret_type
 * is unchanged where none is given. */
int controller_read_mutable(struct arena *arena, const controller_parameter *const *entries,
                            size_t count, const struct remote_pair *more,
                            const struct remote_pair **ret, const char **ret_type,
                            struct error *err);

/* ---- snapshots ---- */

Csi__V1__Snapshot *controller_snapshot(struct arena *arena, const struct remote_snapshot *snapshot);
/* Is the request valid? */
int controller_check_snapshot(const Csi__V1__CreateSnapshotRequest *request, struct error *err);
/* A response to a list call, with space for its entries. */
struct snapshots_answer {
    struct arena *arena;
    Csi__V1__ListSnapshotsResponse *answer;
};
int controller_keep_snapshot(const struct snapshots_answer *to, Csi__V1__Snapshot *snapshot);

/* ---- volumes with a policy (configs.private.h) ---- */

bool config_is_snapshot_id(const char *id);
bool config_is_requested(const controller_parameter *const *parameters, size_t count);
grpc_handler config_create, config_get_capacity, config_delete, config_get, config_publish,
    config_unpublish, config_expand, config_validate, config_modify, config_create_snapshot,
    config_delete_snapshot, config_get_snapshot;
/* Does a config have the name?  GRPC_ALREADY_EXISTS, GRPC_ABORTED. */
int config_check_name(const struct client *api, struct arena *arena, const char *mark,
                      struct error *err);
/* The source of a volume without policy: GRPC_INVALID_ARGUMENT if it has a policy. */
int config_check_source(const struct client *api, struct arena *arena, const char *volume_id,
                        const char *snapshot_id, struct error *err);
/* Appends the matching snapshots to the response: one, or all that are taken. */
int config_list_snapshots(const struct client *api, struct arena *arena,
                          const Csi__V1__ListSnapshotsRequest *request,
                          Csi__V1__ListSnapshotsResponse *answer, struct error *err);

/* ---- the calls ---- */

grpc_handler controller_create_volume, controller_delete_volume, controller_get_volume,
    controller_list_volumes, controller_validate, controller_get_capacity, controller_publish,
    controller_unpublish, controller_expand, controller_create_snapshot, controller_delete_snapshot,
    controller_list_snapshots, controller_get_snapshot, controller_modify;
