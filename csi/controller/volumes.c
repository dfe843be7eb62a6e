/*
 * Volumes: show, list and delete; and the available capacity.
 */
#include "csi/controller/configs.private.h"
#include "csi/topology.private.h"

#include "common/cleanup.h"

#include <string.h>

/* ---- descriptions ---- */

/* The service's view; a node reports whether it can access the volume. */
static Csi__V1__VolumeCondition *condition_of(struct arena *arena,
                                              const struct remote_volume *volume) {
    Csi__V1__VolumeCondition *condition =
        CSI_NEW(arena, Csi__V1__VolumeCondition, csi__v1__volume_condition);

    condition->abnormal = strncmp(volume->status, "error", strlen("error")) == 0;
    condition->message = arena_format(arena, "The volume is %s.", volume->status);
    return condition;
}

Csi__V1__Volume *controller_volume(struct arena *arena, const struct remote_volume *volume) {
    Csi__V1__Volume *shown = CSI_NEW(arena, Csi__V1__Volume, csi__v1__volume);
    Csi__V1__VolumeContentSource *source;

    shown->volume_id = arena_text(arena, volume->id);
    shown->capacity_bytes = volume->size_gb * GIB;
    if (!volume->snapshot_id && !volume->source_volid)
        return shown;
    source = CSI_NEW(arena, Csi__V1__VolumeContentSource, csi__v1__volume_content_source);
    if (volume->snapshot_id) {
        source->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
        source->snapshot = CSI_NEW(arena, Csi__V1__VolumeContentSource__SnapshotSource,
                                   csi__v1__volume_content_source__snapshot_source);
        source->snapshot->snapshot_id = arena_text(arena, volume->snapshot_id);
    } else {
        source->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
        source->volume = CSI_NEW(arena, Csi__V1__VolumeContentSource__VolumeSource,
                                 csi__v1__volume_content_source__volume_source);
        source->volume->volume_id = arena_text(arena, volume->source_volid);
    }
    shown->content_source = source;
    return shown;
}

/* ---- show and list ---- */

int controller_get_volume(struct grpc_call *call, const void *message, void *response,
                          struct error *err) {
    const Csi__V1__ControllerGetVolumeRequest *request = message;
    Csi__V1__ControllerGetVolumeResponse *answer = response;
    struct client api = csi_api(call);
    struct topology_pools pools;
    struct remote_volume volume;
    int result = controller_require(request->volume_id, "volume_id", err);

    if (result == 0)
        result = controller_read(&api, call->arena, &volume_kind, request->volume_id, &volume, err);
    if (result != 0)
        return result;
    if (topology_pools_read(call, &api, NULL, &pools, err) < 0)
        return -1;
    answer->volume = controller_volume(call->arena, &volume);
    topology_pools_describe(&pools, call->arena, &volume, answer->volume);
    answer->status = CSI_NEW(call->arena, Csi__V1__ControllerGetVolumeResponse__VolumeStatus,
                             csi__v1__controller_get_volume_response__volume_status);
    answer->status->published_node_ids =
        controller_nodes(call->arena, &volume, &answer->status->n_published_node_ids);
    answer->status->volume_condition = condition_of(call->arena, &volume);
    return 0;
}

struct volumes_answer {
    struct arena *arena;
    Csi__V1__ListVolumesResponse *answer;
    struct topology_pools pools;
};

static int keep(void *arg, const void *row, struct error *err) {
    const struct volumes_answer *to = arg;
    struct arena *arena = to->arena;
    const struct remote_volume *volume = row;
    Csi__V1__ListVolumesResponse__Entry *entry =
        CSI_NEW(arena, Csi__V1__ListVolumesResponse__Entry, csi__v1__list_volumes_response__entry);

    (void)err;
    entry->volume = controller_volume(arena, volume);
    topology_pools_describe(&to->pools, arena, volume, entry->volume);
    entry->status = CSI_NEW(arena, Csi__V1__ListVolumesResponse__VolumeStatus,
                            csi__v1__list_volumes_response__volume_status);
    entry->status->published_node_ids =
        controller_nodes(arena, volume, &entry->status->n_published_node_ids);
    entry->status->volume_condition = condition_of(arena, volume);
    to->answer->entries[to->answer->n_entries++] = entry;
    return 0;
}

static int keep_config(void *arg, const void *row, struct error *err) {
    const struct volumes_answer *to = arg;
    const struct volume_config *config = row;
    Csi__V1__ListVolumesResponse__Entry *entry = CSI_NEW(
        to->arena, Csi__V1__ListVolumesResponse__Entry, csi__v1__list_volumes_response__entry);

    (void)err;
    entry->volume = config_shown(to->arena, config);
    entry->status = CSI_NEW(to->arena, Csi__V1__ListVolumesResponse__VolumeStatus,
                            csi__v1__list_volumes_response__volume_status);
    entry->status->published_node_ids = arena_alloc(to->arena, sizeof(char *));
    if (*config->node)
        entry->status->published_node_ids[entry->status->n_published_node_ids++] =
            arena_text(to->arena, config->node);
    entry->status->volume_condition = config_condition(to->arena, config);
    to->answer->entries[to->answer->n_entries++] = entry;
    return 0;
}

/* Volumes with a policy follow all others. */
static int list_configs(const struct client *api, const Csi__V1__ListVolumesRequest *request,
                        struct volumes_answer *to, struct error *err) {
    Csi__V1__ListVolumesResponse *answer = to->answer;
    unsigned left = controller_most(request->max_entries) - (unsigned)answer->n_entries;
    const struct controller_list list = {
        .kind = &config_kind,
        .max_entries = (int32_t)left,
        .token = config_is_id(request->starting_token) ? request->starting_token : "",
        .keep = keep_config,
        .arg = to,
    };
    void *rows = NULL;
    int more;

    if (left > 0)
        return controller_collect(api, to->arena, &list, &answer->next_token, err);
    more = config_kind.page(api, to->arena, NULL, NULL, 1, &rows, err);
    if (more > 0)
        answer->next_token = arena_text(to->arena, CONFIG_PREFIX);
    return more < 0 ? -1 : 0;
}

int controller_list_volumes(struct grpc_call *call, const void *message, void *response,
                            struct error *err) {
    const Csi__V1__ListVolumesRequest *request = message;
    Csi__V1__ListVolumesResponse *answer = response;
    struct client api = csi_api(call);
    struct volumes_answer to = { .arena = call->arena, .answer = answer };
    const struct controller_list list = { .kind = &volume_kind,
                                          .max_entries = request->max_entries,
                                          .token = request->starting_token,
                                          .keep = keep,
                                          .arg = &to };
    int result = 0;

    if (topology_pools_read(call, &api, NULL, &to.pools, err) < 0)
        return -1;
    answer->entries =
        arena_alloc(call->arena, controller_most(list.max_entries) * sizeof(*answer->entries));
    if (!config_is_id(request->starting_token))
        result = controller_collect(&api, call->arena, &list, &answer->next_token, err);
    return result != 0 || *answer->next_token ? result : list_configs(&api, request, &to, err);
}

/* ---- capacity ---- */

int controller_get_capacity(struct grpc_call *call, const void *message, void *response,
                            struct error *err) {
    const Csi__V1__GetCapacityRequest *request = message;
    Csi__V1__GetCapacityResponse *answer = response;
    struct client api = csi_api(call);
    const Csi__V1__Topology *topology = request->accessible_topology;
    struct remote_room capacity = { 0, 0 };
    struct topology_pools pools = { .known = false };
    const char *type = NULL;

    for (size_t i = 0; i < request->n_parameters; i++)
        if (strcmp(request->parameters[i]->key, "type") == 0 && *request->parameters[i]->value)
            type = request->parameters[i]->value;
    if (topology && topology_pools_read(call, &api, type, &pools, err) < 0)
        return -1;
    if (pools.known)
        topology_pools_capacity(&pools, topology, &capacity);
    else if (pools_room(&api, call->arena, type, &capacity, err) < 0)
        return -1;
    answer->available_capacity = capacity.free_gb * GIB;
    answer->maximum_volume_size = CSI_NEW(call->arena, Csi__V1__Int64Value, csi__v1__int64_value);
    answer->maximum_volume_size->value = capacity.largest_gb * GIB;
    return 0;
}

/* ---- delete ---- */

int controller_delete_volume(struct grpc_call *call, const void *message, void *response,
                             struct error *err) {
    const Csi__V1__DeleteVolumeRequest *request = message;
    struct client api = csi_api(call);
    int result = controller_require(request->volume_id, "volume_id", err);

    (void)response;
    return result != 0 ? result
                       : controller_delete(call, &api, &volume_kind, request->volume_id, err);
}

/* ---- the kind ---- */

static int read_one(const struct client *api, struct arena *arena, const char *id, void *ret,
                    struct error *err) {
    return volumes_read(api, arena, id, NULL, ret, err);
}

static int read_page(const struct client *api, struct arena *arena, const char *query,
                     const char *marker, unsigned limit, void **ret, struct error *err) {
    struct remote_volume *volumes = NULL;
    int count = volumes_list(api, arena, query, marker, limit, &volumes, err);

    *ret = volumes;
    return count;
}

static bool is_named(const void *row, const char *mark) {
    return controller_named(((const struct remote_volume *)row)->metadata, mark);
}

static int check_delete(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err) {
    const struct remote_volume *volume = row;
    int owner = controller_check_owner(call, volume_kind.label, volume->id,
                                       controller_mark_in(volume->metadata), err);

    if (owner != 0)
        return owner;
    if (volume->group_id)
        return grpc_refuse(err, GRPC_FAILED_PRECONDITION,
                           "Volume %s is in group %s, and can be deleted after it has left that.",
                           volume->id, volume->group_id);
    if (volume->attachment_count > 0)
        return grpc_refuse(err, GRPC_FAILED_PRECONDITION, "Volume %s is in use.", volume->id);
    return controller_is_being_attached(volume)
               ? controller_detach_begun(api, call->arena, volume->id, err)
               : 0;
}

/* Its snapshots. */
static bool has_ending_parts(const struct client *api, struct arena *arena, const void *row) {
    const struct remote_volume *volume = row;

    return controller_all_deleted(
        api, arena, &snapshot_kind,
        arena_join(arena, "volume_id=", http_encode(arena, volume->id), NULL));
}

static const char *const passing[] = {
    "creating",   "deleting",  "downloading",      "uploading", "extending",  "retyping",
    "backing-up", "reverting", "restoring-backup", "managing",  "unmanaging", "reclaiming"
};

const struct controller_kind volume_kind = {
    .label = "volume",
    .row_size = sizeof(struct remote_volume),
    .passing = passing,
    .passing_count = LENGTH(passing),
    .read = read_one,
    .page = read_page,
    .query = controller_query,
    .is_named = is_named,
    .check_delete = check_delete,
    .destroy = volumes_delete,
    .metadata_at = offsetof(struct remote_volume, metadata),
    .create_failed = GRPC_RESOURCE_EXHAUSTED,
    .create_failure = "could not be created with this type and zone",
    .has_ending_parts = has_ending_parts,
};
