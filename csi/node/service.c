/*
 * csi.v1.Node and ReclaimSpaceNode of CSI-Addons, the services of every node.  Requests are read
 * and responses written here; the operations are those of node.h.
 */
#include "csi/node/settings.private.h"

#include "client/attachments.h"
#include "csi/config.private.h"
#include "csi/node/pod_limiter.h"
#include "csi/topology.private.h"

#include <string.h>

#define SECTION  "csi"
#define CHECK_MS 3000

csi_abilities csi_node_abilities = {
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__STAGE_UNSTAGE_VOLUME,
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__GET_VOLUME_STATS,
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__EXPAND_VOLUME,
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__VOLUME_CONDITION,
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__SINGLE_NODE_MULTI_WRITER,
    0,
};

/* ---- requests ---- */

static int need(const char *text, const char *field, struct error *err) {
    return *text ? 0 : error_set(err, ERROR_BAD_REQUEST, "%s is missing.", field);
}

static int read_capability(const Csi__V1__VolumeCapability *capability, struct node_capability *ret,
                           struct error *err) {
    *ret = (struct node_capability){ 0 };
    if (!capability || !capability->access_mode)
        return error_set(err, ERROR_BAD_REQUEST, "volume_capability is missing or has no mode.");
    ret->mode = (int)capability->access_mode->mode;
    ret->block = capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    if (ret->block)
        return 0;
    if (capability->access_type_case != CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT)
        return error_set(err, ERROR_BAD_REQUEST, "volume_capability is neither block nor mount.");
    ret->type = capability->mount->fs_type;
    ret->flags = capability->mount->mount_flags;
    ret->flag_count = capability->mount->n_mount_flags;
    if (*capability->mount->volume_mount_group)
        return error_set(err, ERROR_BAD_REQUEST,
                         "volume_mount_group needs the capability VOLUME_MOUNT_GROUP.");
    return 0;
}

static int answered(int result, struct error *err) {
    static const enum grpc_code codes[] = {
        [NODE_DIFFERS] = GRPC_ALREADY_EXISTS,
        [NODE_RANGE] = GRPC_OUT_OF_RANGE,
        [NODE_STALE] = GRPC_FAILED_PRECONDITION,
    };

    return result <= 0 ? result : grpc_refuse(err, codes[result], "%s", err->message);
}

static const struct node *node_of(const struct grpc_call *call) {
    return csi_driver_of(call)->places;
}

/* ---- the node ---- */

static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    Csi__V1__NodeGetCapabilitiesResponse *all = response;
    size_t count = csi_count_abilities(csi_node_abilities);

    (void)request, (void)err;
    all->capabilities = arena_alloc(call->arena, (count + 1) * sizeof(all->capabilities[0]));
    for (; all->n_capabilities < count; all->n_capabilities++) {
        Csi__V1__NodeServiceCapability *one =
            CSI_NEW(call->arena, Csi__V1__NodeServiceCapability, csi__v1__node_service_capability);

        one->type_case = CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC;
        one->rpc = CSI_NEW(call->arena, Csi__V1__NodeServiceCapability__RPC,
                           csi__v1__node_service_capability__rpc);
        one->rpc->type =
            (Csi__V1__NodeServiceCapability__RPC__Type)csi_node_abilities[all->n_capabilities];
        all->capabilities[all->n_capabilities] = one;
    }
    return 0;
}

static int get_info(struct grpc_call *call, const void *request, void *response,
                    struct error *err) {
    const struct config *config = csi_driver_of(call)->config;
    Csi__V1__NodeGetInfoResponse *info = response;
    const char *name;

    (void)request;
    if (csi_node_name(config, call->arena, &name, err) < 0)
        return -1;
    info->node_id = (char *)(uintptr_t)name;
    info->max_volumes_per_node = config_int(config, SECTION, "max_volumes");
    info->accessible_topology = topology_of_node(csi_driver_of(call), call->arena, info->node_id);
    return 0;
}

/* ---- stage and publish ---- */

/* Of a stage and of a publish: the messages have the same layout. */
typedef Csi__V1__NodeStageVolumeRequest__PublishContextEntry context_entry;

static struct text_pair *read_context(struct arena *arena, const context_entry *const *entries,
                                      size_t count) {
    struct text_pair *pairs = arena_alloc(arena, (count + 1) * sizeof(*pairs));

    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct text_pair){ entries[i]->key, entries[i]->value };
    return pairs;
}
#define CONTEXT(arena_, request_)                                                   \
    read_context(arena_, (const context_entry *const *)(request_)->publish_context, \
                 (request_)->n_publish_context)

/*
 * The orchestrator may pass an outdated context: after a detach without its knowledge the image may
 * belong to a snapshot.  Without a response, or on a node without a configured API, the storage
 * alone decides, by the image's locks and the info beside it (node_image_check()): pods have to
 * start also while the API is down.
 */
struct attached_check {
    struct grpc_call *call;
    bool was_made;
};

static int check_attached(void *arg, const struct node_stage *stage, struct error *err) {
    struct attached_check *check = arg;
    struct grpc_call *call = check->call;
    const char *id = NULL;
    struct client api = csi_api(call);
    struct remote_connection connection;
    struct error failure;

    check->was_made = true;
    for (size_t i = 0; i < stage->context_count; i++)
        if (strcmp(stage->context[i].key, "attachment_id") == 0)
            id = stage->context[i].value;
    if (!id || !csi_node_knows_api(csi_driver_of(call)))
        return 0;
    api.timeout_ms = CHECK_MS;
    api.repeats = 0;
    if (attachments_read(&api, call->arena, id, &connection, &failure) == 0)
        return strcmp(connection.volume_id, stage->volume_id) == 0
                   ? 0
                   : error_set(err, ERROR_BAD_REQUEST, "attachment_id belongs to another volume.");
    if (failure.kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_PRECONDITION, "The volume is no longer attached to this node.");
    log_info(&call->log, "staging without a check of the attachment", "volume_id", stage->volume_id,
             "reason", failure.message, NULL);
    return 0;
}

/* Of NodeStageVolume, and of NodePublishVolume for a stale device. */
#define STAGE(request_, capability_, check_)                                                     \
    {                                                                                            \
        .volume_id = (request_)->volume_id, .path = (request_)->staging_target_path,             \
        .capability = (capability_), .context = CONTEXT((check_)->call->arena, request_),        \
        .context_count = (request_)->n_publish_context, .check = check_attached, .arg = (check_) \
    }

static int stage(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__NodeStageVolumeRequest *request = message;
    struct node_capability capability;
    struct attached_check check = { .call = call };
    const struct node_stage arguments = STAGE(request, &capability, &check);
    int result;

    (void)response;
    if (need(request->volume_id, "volume_id", err) < 0 ||
        need(request->staging_target_path, "staging_target_path", err) < 0 ||
        read_capability(request->volume_capability, &capability, err) < 0)
        return -1;
    result = answered(node_stage(node_of(call), call->arena, &arguments, err), err);
    if (result == 0)
        pod_limiter_wake(csi_driver_of(call)->limiter);
    return result;
}

static int unstage(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__NodeUnstageVolumeRequest *request = message;

    (void)response;
    if (need(request->volume_id, "volume_id", err) < 0 ||
        need(request->staging_target_path, "staging_target_path", err) < 0)
        return -1;
    if (node_unstage(node_of(call), call->arena, request->volume_id, request->staging_target_path,
                     err) < 0)
        return -1;
    pod_limiter_wake(csi_driver_of(call)->limiter);
    return 0;
}

static int publish(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__NodePublishVolumeRequest *request = message;
    struct node_capability capability;
    struct attached_check check = { .call = call };
    /* The kubelet stages a volume once, for all of its pods. */
    const struct node_stage again = STAGE(request, &capability, &check);
    const struct node_publish arguments = { .volume_id = request->volume_id,
                                            .staging_path = request->staging_target_path,
                                            .path = request->target_path,
                                            .capability = &capability,
                                            .read_only = request->readonly,
                                            .again = again.context_count > 0 ? &again : NULL };
    int result;

    (void)response;
    if (need(request->volume_id, "volume_id", err) < 0 ||
        need(request->target_path, "target_path", err) < 0 ||
        read_capability(request->volume_capability, &capability, err) < 0)
        return -1;
    if (!*request->staging_target_path)
        return error_set(err, ERROR_PRECONDITION, "staging_target_path is missing.");
    result = answered(node_publish(node_of(call), call->arena, &arguments, err), err);
    if (result == 0 && check.was_made)
        pod_limiter_wake(csi_driver_of(call)->limiter);
    return result;
}

static int unpublish(struct grpc_call *call, const void *message, void *response,
                     struct error *err) {
    const Csi__V1__NodeUnpublishVolumeRequest *request = message;

    (void)response;
    if (need(request->volume_id, "volume_id", err) < 0 ||
        need(request->target_path, "target_path", err) < 0)
        return -1;
    return node_unpublish(node_of(call), request->volume_id, request->target_path, err);
}

/* ---- usage ---- */

static void add_usage(struct grpc_call *call, const struct node_space *space,
                      Csi__V1__VolumeUsage__Unit unit,
                      Csi__V1__NodeGetVolumeStatsResponse *answer) {
    Csi__V1__VolumeUsage *usage = CSI_NEW(call->arena, Csi__V1__VolumeUsage, csi__v1__volume_usage);

    usage->available = space->available;
    usage->total = space->total;
    usage->used = space->used;
    usage->unit = unit;
    answer->usage[answer->n_usage++] = usage;
}

/* A failed query means that no fault is known; the usage is reported anyway. */
static const char *fault_of(struct grpc_call *call, const char *volume_id) {
    struct client api = csi_api(call);

    if (!config_is_id(volume_id) || !csi_node_knows_api(csi_driver_of(call)))
        return NULL;
    api.timeout_ms = CHECK_MS;
    api.repeats = 0;
    return config_find_fault(call, &api, volume_id);
}

static int get_stats(struct grpc_call *call, const void *message, void *response,
                     struct error *err) {
    const Csi__V1__NodeGetVolumeStatsRequest *request = message;
    Csi__V1__NodeGetVolumeStatsResponse *answer = response;
    struct node_usage usage;

    if (need(request->volume_id, "volume_id", err) < 0 ||
        need(request->volume_path, "volume_path", err) < 0 ||
        node_usage(node_of(call), request->volume_id, request->volume_path, &usage, err) < 0)
        return -1;
    if (!usage.fault)
        usage.fault = fault_of(call, request->volume_id);
    answer->usage = arena_alloc(call->arena, 2 * sizeof(*answer->usage));
    add_usage(call, &usage.bytes, CSI__V1__VOLUME_USAGE__UNIT__BYTES, answer);
    if (!usage.block)
        add_usage(call, &usage.inodes, CSI__V1__VOLUME_USAGE__UNIT__INODES, answer);
    answer->volume_condition =
        CSI_NEW(call->arena, Csi__V1__VolumeCondition, csi__v1__volume_condition);
    answer->volume_condition->abnormal = usage.fault != NULL;
    answer->volume_condition->message =
        arena_text(call->arena, usage.fault ? usage.fault : "Volume is healthy.");
    return 0;
}

static int expand(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__NodeExpandVolumeRequest *request = message;
    Csi__V1__NodeExpandVolumeResponse *answer = response;
    const Csi__V1__CapacityRange *range = request->capacity_range;
    const struct node_growth growth = { .volume_id = request->volume_id,
                                        .path = request->volume_path,
                                        .required_bytes = range ? range->required_bytes : 0,
                                        .limit_bytes = range ? range->limit_bytes : 0 };

    if (need(request->volume_id, "volume_id", err) < 0 ||
        need(request->volume_path, "volume_path", err) < 0)
        return -1;
    if (growth.required_bytes < 0 || growth.limit_bytes < 0)
        return error_set(err, ERROR_BAD_REQUEST, "capacity_range is negative.");
    return answered(node_grow(node_of(call), call->arena, &growth, &answer->capacity_bytes, err),
                    err);
}

static bool is_wanted(void *arg) {
    return !grpc_call_is_over(arg);
}

static Reclaimspace__StorageConsumption *consumption(struct grpc_call *call, int64_t bytes) {
    Reclaimspace__StorageConsumption *usage =
        CSI_NEW(call->arena, Reclaimspace__StorageConsumption, reclaimspace__storage_consumption);

    usage->usage_bytes = bytes;
    return usage;
}

static int reclaim(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Reclaimspace__NodeReclaimSpaceRequest *request = message;
    Reclaimspace__NodeReclaimSpaceResponse *answer = response;
    const Csi__V1__VolumeCapability *capability = request->volume_capability;
    const struct node_reclaim arguments = {
        .volume_id = request->volume_id,
        .path = *request->staging_target_path ? request->staging_target_path : request->volume_path,
        .mode = capability && capability->access_mode ? (int)capability->access_mode->mode : 0,
        .may_continue = is_wanted,
        .arg = call,
    };
    int64_t before, after;

    if (need(arguments.volume_id, "volume_id", err) < 0 ||
        need(arguments.path, "staging_target_path", err) < 0 ||
        node_reclaim(node_of(call), &arguments, &before, &after, err) < 0)
        return -1;
    answer->pre_usage = consumption(call, before);
    answer->post_usage = consumption(call, after);
    return 0;
}

const struct grpc_method csi_node_methods[] = {
    { "NodeGetCapabilities", get_capabilities },
    { "NodeGetInfo", get_info },
    { "NodeStageVolume", stage },
    { "NodeUnstageVolume", unstage },
    { "NodePublishVolume", publish },
    { "NodeUnpublishVolume", unpublish },
    { "NodeGetVolumeStats", get_stats },
    { "NodeExpandVolume", expand },
    { NULL, NULL },
};

const struct grpc_method csi_node_reclaim_methods[] = {
    { "NodeReclaimSpace", reclaim },
    { NULL, NULL },
};
