/*
 * Snapshots of several volumes at one point in time: of all volumes of a group (volume_groups.c).
 */
#include "csi/controller/groups.private.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "json/json.h"

#include <string.h>

#define CAN(name_) CSI__V1__GROUP_CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__##name_

static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    Csi__V1__GroupControllerGetCapabilitiesResponse *answer = response;
    Csi__V1__GroupControllerServiceCapability *capability =
        CSI_NEW(call->arena, Csi__V1__GroupControllerServiceCapability,
                csi__v1__group_controller_service_capability);

    (void)request, (void)err;
    capability->type_case = CSI__V1__GROUP_CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
    capability->rpc = CSI_NEW(call->arena, Csi__V1__GroupControllerServiceCapability__RPC,
                              csi__v1__group_controller_service_capability__rpc);
    capability->rpc->type = CAN(CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT);
    answer->capabilities = arena_alloc(call->arena, sizeof(*answer->capabilities));
    answer->capabilities[0] = capability;
    answer->n_capabilities = 1;
    return 0;
}

/* ---- the kind ---- */

static int read_one(const struct client *api, struct arena *arena, const char *id, void *ret,
                    struct error *err) {
    return group_snapshots_read(api, arena, id, ret, err);
}

static int read_page(const struct client *api, struct arena *arena, const char *query,
                     const char *marker, unsigned limit, void **ret, struct error *err) {
    struct remote_group_snapshot *rows = NULL;
    int count = group_snapshots_list(api, arena, query, marker, limit, &rows, err);

    *ret = rows;
    return count;
}

static bool is_named(const void *row, const char *mark) {
    const struct remote_group_snapshot *snapshot = row;

    return group_is_named(snapshot->name, snapshot->description, mark);
}

static int check_delete(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err) {
    const struct remote_group_snapshot *snapshot = row;

    (void)api;
    return group_check_owner(call, "group snapshot", snapshot->id, snapshot->description, err);
}

static int destroy(const struct client *api, struct arena *arena, const char *id,
                   const char *unreported, struct error *err) {
    (void)unreported;
    return group_snapshots_delete(api, arena, id, err);
}

static const char *const passing[] = { "creating", "deleting", "updating" };

const struct controller_kind group_snapshot_kind = {
    .label = "group snapshot",
    .row_size = sizeof(struct remote_group_snapshot),
    .passing = passing,
    .passing_count = LENGTH(passing),
    .read = read_one,
    .page = read_page,
    .query = group_query,
    .is_named = is_named,
    .check_delete = check_delete,
    .destroy = destroy,
};

static bool is_member(const struct remote_group_snapshot *row,
                      const struct remote_snapshot *snapshot) {
    return snapshot->group_snapshot_id && strcmp(snapshot->group_snapshot_id, row->id) == 0;
}

struct sought {
    const struct remote_group_snapshot *row;
    struct arena *arena;
    Csi__V1__VolumeGroupSnapshot *shown;
    bool found;
};

static int keep_member(void *arg, const void *row, struct error *err) {
    struct sought *to = arg;

    (void)err;
    if (to->found || !is_member(to->row, row))
        return 0;
    to->found = true;
    to->shown->snapshots[to->shown->n_snapshots++] = controller_snapshot(to->arena, row);
    return 0;
}

/* The snapshot of a volume; the API has no filter for it. */
static int add_member(const struct client *api, struct arena *arena,
                      const struct remote_group_snapshot *row, const char *volume_id,
                      Csi__V1__VolumeGroupSnapshot *shown, struct error *err) {
    struct sought to = { row, arena, shown, false };
    const struct controller_list list = {
        .kind = &snapshot_kind,
        .query = arena_join(arena, "volume_id=", http_encode(arena, volume_id), NULL),
        .keep = keep_member,
        .arg = &to,
    };

    return controller_collect(api, arena, &list, NULL, err);
}

/* Snapshots of volumes that have left the group are given by the caller; `all`: each given one must
 * exist, as long as none has been deleted. */
static int add_named(const struct client *api, struct arena *arena,
                     const struct remote_group_snapshot *row, const char *snapshot_id, bool all,
                     Csi__V1__VolumeGroupSnapshot *shown, struct error *err) {
    struct remote_snapshot snapshot;
    int result;

    for (size_t i = 0; i < shown->n_snapshots; i++)
        if (strcmp(shown->snapshots[i]->snapshot_id, snapshot_id) == 0)
            return 0;
    result = controller_read(api, arena, &snapshot_kind, snapshot_id, &snapshot, err);
    if (result == GRPC_NOT_FOUND && !all)
        return 0;
    if (result != 0 && result != GRPC_NOT_FOUND)
        return result;
    if (result != 0 || !is_member(row, &snapshot))
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "Snapshot %s does not belong to group snapshot %s.", snapshot_id,
                           row->id);
    shown->snapshots[shown->n_snapshots++] = controller_snapshot(arena, &snapshot);
    return 0;
}

/* With its snapshots: those of the group's volumes and of `sources`, some of which may have left
 * the group, and those of `ids`, which must belong to it. */
static int show(const struct client *api, struct arena *arena,
                const struct remote_group_snapshot *row, char *const *sources, size_t source_count,
                char *const *ids, size_t count, Csi__V1__VolumeGroupSnapshot **ret,
                struct error *err) {
    Csi__V1__VolumeGroupSnapshot *shown =
        CSI_NEW(arena, Csi__V1__VolumeGroupSnapshot, csi__v1__volume_group_snapshot);
    struct remote_group group;
    int result = 0;

    shown->group_snapshot_id = arena_text(arena, row->id);
    shown->ready_to_use = strcmp(row->status, "available") == 0;
    shown->creation_time = controller_timestamp(arena, row->created_us);
    if (groups_read(api, arena, row->group_id, &group, err) < 0)
        return -1;
    shown->snapshots =
        arena_alloc(arena, (json_array_size(group.volumes) + source_count + count + 1) *
                               sizeof(*shown->snapshots));
    for (size_t i = 0; i < json_array_size(group.volumes) && result == 0; i++)
        result = add_member(api, arena, row, json_string_value(json_array_get(group.volumes, i)),
                            shown, err);
    for (size_t i = 0; i < source_count && result == 0; i++)
        if (!json_list_has(group.volumes, sources[i]) &&
            !words_have((const char *const *)sources, i, sources[i]))
            result = add_member(api, arena, row, sources[i], shown, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_named(api, arena, row, ids[i], shown->ready_to_use, shown, err);
    *ret = shown;
    return result;
}

/* ---- create ---- */

/* The group that has exactly these volumes. */
static int find_group(const struct grpc_call *call, const struct client *api, char *const *ids,
                      size_t count, struct remote_group *ret, struct error *err) {
    struct arena *arena = call->arena;
    const char *group_id = NULL;
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        struct remote_volume volume = { 0 };

        result = controller_require(ids[i], "A volume id", err);
        if (result == 0)
            result = controller_read(api, arena, &volume_kind, ids[i], &volume, err);
        if (result == 0)
            result = controller_reset_extend(call, api, &volume, err);
        if (result == 0 &&
            (!volume.group_id || (group_id && strcmp(group_id, volume.group_id) != 0) ||
             words_have((const char *const *)ids, i, ids[i])))
            result = grpc_refuse(
                err, GRPC_FAILED_PRECONDITION,
                "A group snapshot needs volumes of one volume group, each once; %s is not.",
                ids[i]);
        if (result == 0)
            group_id = volume.group_id;
    }
    if (result == 0)
        result = controller_read(api, arena, &group_kind, group_id, ret, err);
    if (result == 0)
        result = controller_wait_idle(call, api, &group_kind, ret, err);
    if (result != 0)
        return result;
    return json_array_size(ret->volumes) == count
               ? 0
               : grpc_refuse(
                     err, GRPC_FAILED_PRECONDITION,
                     "Volume group %s has other volumes, too: a group snapshot includes all volumes.",
                     group_id);
}

static int make(const struct grpc_call *call, const struct client *api,
                const struct remote_group *group,
                const Csi__V1__CreateVolumeGroupSnapshotRequest *request,
                struct remote_group_snapshot *ret, bool *ret_is_mine, struct error *err) {
    const char *id;
    int result;

    if (group_snapshots_create(api, call->arena, group->id, request->name, group_description(call),
                               &id, err) < 0)
        return controller_refused_of(api, call->arena, request->source_volume_ids,
                                     request->n_source_volume_ids, GRPC_FAILED_PRECONDITION, err);
    result = controller_find_made(api, call->arena, &group_snapshot_kind,
                                  controller_mark(call, request->name), id, ret, ret_is_mine, err);
    return result != 0 || *ret_is_mine
               ? result
               : controller_outcome_unknown(
                     controller_delete(call, api, &group_snapshot_kind, id, err), err);
}

/* Does it have exactly these volumes? */
static int check_same(const Csi__V1__CreateVolumeGroupSnapshotRequest *request,
                      const Csi__V1__VolumeGroupSnapshot *shown, struct error *err) {
    bool same = shown->n_snapshots == request->n_source_volume_ids;

    for (size_t i = 0; i < shown->n_snapshots; i++)
        same =
            same && words_have((const char *const *)request->source_volume_ids,
                               request->n_source_volume_ids, shown->snapshots[i]->source_volume_id);
    return same ? 0
                : grpc_refuse(err, GRPC_ALREADY_EXISTS,
                              "Group snapshot %s of other volumes already has the name.",
                              shown->group_snapshot_id);
}

static int ready(const struct grpc_call *call, const struct client *api,
                 struct remote_group_snapshot *row, struct error *err) {
    int result = controller_wait_idle(call, api, &group_snapshot_kind, row, err);

    if (result == GRPC_NOT_FOUND)
        return grpc_refuse(err, GRPC_ABORTED, "The group snapshot has just been deleted.");
    if (result != 0 || strncmp(row->status, "error", strlen("error")) != 0)
        return controller_outcome_unknown(result, err);
    result = controller_outcome_unknown(
        controller_delete(call, api, &group_snapshot_kind, row->id, err), err);
    return result != 0 ? result
                       : grpc_refuse(err, GRPC_INTERNAL, "The group snapshot could not be taken.");
}

static int create(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__CreateVolumeGroupSnapshotRequest *request = message;
    Csi__V1__CreateVolumeGroupSnapshotResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_group_snapshot row;
    struct remote_group group;
    bool is_mine = false;
    int result = controller_require(request->name, "name", err);

    if (result == 0 && request->n_source_volume_ids == 0)
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "source_volume_ids is missing.");
    if (result != 0)
        return result;
    result = controller_find(&api, call->arena, &group_snapshot_kind,
                             controller_mark(call, request->name), &row, err);
    if (result == 0) {
        result = find_group(call, &api, request->source_volume_ids, request->n_source_volume_ids,
                            &group, err);
        if (result == 0)
            result = make(call, &api, &group, request, &row, &is_mine, err);
    } else if (result == FOUND) {
        result = 0;
    }
    if (result == 0)
        result = ready(call, &api, &row, err);
    if (result == 0)
        result = controller_outcome_unknown(
            show(&api, call->arena, &row, request->source_volume_ids, request->n_source_volume_ids,
                 NULL, 0, &answer->group_snapshot, err),
            err);
    if (result == 0)
        result = check_same(request, answer->group_snapshot, err);
    if (result != GRPC_ALREADY_EXISTS || !is_mine)
        return result;
    /* The group has changed between the check and the request. */
    result = controller_outcome_unknown(
        controller_delete(call, &api, &group_snapshot_kind, row.id, err), err);
    return result != 0 ? result
                       : grpc_refuse(err, GRPC_ABORTED,
                                     "The volumes of group %s have changed meanwhile.", group.id);
}

/* ---- show and delete ---- */

static int get(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__GetVolumeGroupSnapshotRequest *request = message;
    Csi__V1__GetVolumeGroupSnapshotResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_group_snapshot row;
    int result = controller_require(request->group_snapshot_id, "group_snapshot_id", err);

    if (result == 0)
        result = controller_read(&api, call->arena, &group_snapshot_kind,
                                 request->group_snapshot_id, &row, err);
    return result != 0 ? result
                       : show(&api, call->arena, &row, NULL, 0, request->snapshot_ids,
                              request->n_snapshot_ids, &answer->group_snapshot, err);
}

static int delete (struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__DeleteVolumeGroupSnapshotRequest *request = message;
    struct client api = csi_api(call);
    Csi__V1__VolumeGroupSnapshot *shown;
    struct remote_group_snapshot row;
    int result = controller_require(request->group_snapshot_id, "group_snapshot_id", err);

    (void)response;
    if (result == 0)
        result = controller_read(&api, call->arena, &group_snapshot_kind,
                                 request->group_snapshot_id, &row, err);
    if (result == GRPC_NOT_FOUND)
        return 0;
    if (result == 0 && strcmp(row.status, "deleting") != 0)
        result = show(&api, call->arena, &row, NULL, 0, request->snapshot_ids,
                      request->n_snapshot_ids, &shown, err);
    return result != 0 ? result : controller_delete(call, &api, &group_snapshot_kind, row.id, err);
}

const struct grpc_method csi_group_controller_methods[] = {
    { "GroupControllerGetCapabilities", get_capabilities },
    { "CreateVolumeGroupSnapshot", create },
    { "DeleteVolumeGroupSnapshot", delete },
    { "GetVolumeGroupSnapshot", get },
    { 0 },
};
