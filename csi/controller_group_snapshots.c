/*
 * Snapshots of several volumes at one point in time: of those that are all of one group
 * (controller_volume_groups.c).
 */
#include "csi/controller_groups.private.h"

#include "common/cleanup.h"
#include "common/words.h"

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

/* ---- one of them ---- */

static int read_one(const struct client *api, struct arena *arena, const char *id,
                    struct remote_group_snapshot *ret, struct error *err) {
    if (group_snapshots_read(api, arena, id, ret, err) == 0)
        return 0;
    if (err->kind == ERROR_NOT_FOUND)
        return grpc_refuse(err, GRPC_NOT_FOUND, "There is no group snapshot %s.", id);
    return -1;
}

static int settled(const struct grpc_call *call, const struct client *api,
                   struct remote_group_snapshot *row, struct error *err) {
    static const char *const statuses[] = { "creating", "deleting", "updating" };
    struct patience patience = patience_of(call);
    const char *id = row->id;

    while (words_have(statuses, LENGTH(statuses), row->status)) {
        int result;

        if (!patience_again(call, &patience))
            return grpc_refuse(err, GRPC_ABORTED, "Group snapshot %s is still %s.", id,
                               row->status);
        result = read_one(api, call->arena, id, row, err);
        if (result != 0)
            return result;
    }
    return 0;
}

/* Its snapshots: those of the group's volumes that say so; the API has no filter for them. */
static int show(const struct client *api, struct arena *arena,
                const struct remote_group_snapshot *row, Csi__V1__VolumeGroupSnapshot **ret,
                struct error *err) {
    Csi__V1__VolumeGroupSnapshot *shown =
        CSI_NEW(arena, Csi__V1__VolumeGroupSnapshot, csi__v1__volume_group_snapshot);
    struct remote_group group;

    shown->group_snapshot_id = arena_text(arena, row->id);
    shown->ready_to_use = strcmp(row->status, "available") == 0;
    shown->creation_time = controller_timestamp(arena, row->created_us);
    if (groups_read(api, arena, row->group_id, &group, err) < 0)
        return -1;
    shown->snapshots =
        arena_alloc(arena, (json_array_size(group.volumes) + 1) * sizeof(*shown->snapshots));
    for (size_t i = 0; i < json_array_size(group.volumes); i++) {
        const char *volume_id = json_string_value(json_array_get(group.volumes, i));
        const char *query = arena_join(arena, "volume_id=", http_encode(arena, volume_id), NULL);
        struct remote_snapshot *snapshots;
        int count = snapshots_list(api, arena, query, NULL, 0, &snapshots, err);

        if (count < 0)
            return -1;
        for (int k = 0; k < count; k++)
            if (snapshots[k].group_snapshot_id &&
                strcmp(snapshots[k].group_snapshot_id, row->id) == 0) {
                shown->snapshots[shown->n_snapshots++] = controller_snapshot(arena, &snapshots[k]);
                break;
            }
    }
    *ret = shown;
    return 0;
}

/* Are all that the caller names in it?  It may name none. */
static int check_named(const Csi__V1__VolumeGroupSnapshot *shown, char *const *ids, size_t count,
                       struct error *err) {
    for (size_t i = 0; i < count; i++) {
        bool found = false;

        for (size_t k = 0; k < shown->n_snapshots; k++)
            found |= strcmp(shown->snapshots[k]->snapshot_id, ids[i]) == 0;
        if (!found)
            return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                               "Snapshot %s is not of group snapshot %s.", ids[i],
                               shown->group_snapshot_id);
    }
    return 0;
}

/* ---- create ---- */

/* The group that has exactly these volumes. */
static int find_group(const struct client *api, struct arena *arena, char *const *ids, size_t count,
                      struct remote_group *ret, struct error *err) {
    const char *group_id = NULL;
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        struct remote_volume volume;

        result = controller_need(ids[i], "A volume id", err);
        if (result == 0)
            result = controller_read_volume(api, arena, ids[i], &volume, err);
        if (result == 0 &&
            (!volume.group_id || (group_id && strcmp(group_id, volume.group_id) != 0) ||
             words_have((const char *const *)ids, i, ids[i])))
            result =
                grpc_refuse(err, GRPC_FAILED_PRECONDITION,
                            "Volumes are cut together that are in one volume group, each once; "
                            "%s is not.",
                            ids[i]);
        if (result == 0)
            group_id = volume.group_id;
    }
    if (result != 0)
        return result;
    if (groups_read(api, arena, group_id, ret, err) < 0)
        return -1;
    return json_array_size(ret->volumes) == count
               ? 0
               : grpc_refuse(err, GRPC_FAILED_PRECONDITION,
                             "Volume group %s has other volumes, too: all of it is cut, or none.",
                             group_id);
}

static int find(const struct client *api, struct arena *arena, const char *name,
                struct remote_group_snapshot *ret, struct error *err) {
    const char *query =
        arena_join(arena, "name=", http_encode(arena, name), "&sort=created_at:asc,id:asc", NULL);
    struct remote_group_snapshot *rows = NULL;
    int count = group_snapshots_list(api, arena, query, NULL, 0, &rows, err);

    for (int i = 0; i < count; i++)
        if (rows[i].name && strcmp(rows[i].name, name) == 0 && rows[i].description &&
            strcmp(rows[i].description, OURS) == 0) {
            *ret = rows[i];
            return 1;
        }
    return count < 0 ? -1 : 0;
}

static int delete_one(const struct grpc_call *call, const struct client *api,
                      struct remote_group_snapshot *row, struct error *err) {
    const char *id = row->id;
    int result = 0;

    if (strcmp(row->status, "deleting") != 0) {
        result = settled(call, api, row, err);
        if (result == 0 && group_snapshots_delete(api, call->arena, id, err) < 0)
            result = err->kind == ERROR_NOT_FOUND ? 0 : controller_refused(err);
        if (result == 0)
            result = read_one(api, call->arena, id, row, err);
    }
    if (result == 0)
        result = settled(call, api, row, err);
    if (result == GRPC_NOT_FOUND)
        return 0;
    return result != 0
               ? result
               : grpc_refuse(err, GRPC_INTERNAL,
                             "Group snapshot %s could not be deleted: it is %s.", id, row->status);
}

static int make(const struct grpc_call *call, const struct client *api,
                const struct remote_group *group, const char *name,
                struct remote_group_snapshot *ret, struct error *err) {
    struct remote_group_snapshot mine;
    const char *id;
    int result;

    if (group_snapshots_create(api, call->arena, group->id, name, OURS, &id, err) < 0)
        return controller_refused(err);
    result = find(api, call->arena, name, ret, err);
    if (result < 0)
        return -1;
    if (result == 0)
        return grpc_refuse(err, GRPC_ABORTED, "Group snapshot %s is gone again.", id);
    if (strcmp(ret->id, id) == 0)
        return 0;
    result = read_one(api, call->arena, id, &mine, err);
    if (result == 0)
        result = delete_one(call, api, &mine, err);
    return result == GRPC_NOT_FOUND ? 0 : result;
}

/* Of exactly these volumes? */
static int check_same(const Csi__V1__CreateVolumeGroupSnapshotRequest *request,
                      const Csi__V1__VolumeGroupSnapshot *shown, struct error *err) {
    bool same = shown->n_snapshots == request->n_source_volume_ids;

    for (size_t i = 0; i < shown->n_snapshots; i++)
        same =
            same && words_have((const char *const *)request->source_volume_ids,
                               request->n_source_volume_ids, shown->snapshots[i]->source_volume_id);
    return same ? 0
                : grpc_refuse(err, GRPC_ALREADY_EXISTS,
                              "Group snapshot %s has the name already, of other volumes.",
                              shown->group_snapshot_id);
}

static int ready(const struct grpc_call *call, const struct client *api,
                 struct remote_group_snapshot *row, struct error *err) {
    int result = settled(call, api, row, err);

    if (result == GRPC_NOT_FOUND)
        return grpc_refuse(err, GRPC_ABORTED, "The group snapshot has just been deleted.");
    if (result != 0 || strcmp(row->status, "error") != 0)
        return result;
    result = delete_one(call, api, row, err);
    return result != 0 ? result : grpc_refuse(err, GRPC_INTERNAL, "The volumes could not be cut.");
}

static int create(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__CreateVolumeGroupSnapshotRequest *request = message;
    Csi__V1__CreateVolumeGroupSnapshotResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_group_snapshot row;
    struct remote_group group;
    int result = controller_need(request->name, "name", err);

    if (result == 0 && request->n_source_volume_ids == 0)
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "source_volume_ids is missing.");
    if (result != 0)
        return result;
    result = find(&api, call->arena, request->name, &row, err);
    if (result < 0)
        return -1;
    if (result == 0) {
        result = find_group(&api, call->arena, request->source_volume_ids,
                            request->n_source_volume_ids, &group, err);
        if (result == 0)
            result = make(call, &api, &group, request->name, &row, err);
        if (result != 0)
            return result;
    }
    result = ready(call, &api, &row, err);
    if (result == 0)
        result = show(&api, call->arena, &row, &answer->group_snapshot, err);
    return result != 0 ? result : check_same(request, answer->group_snapshot, err);
}

/* ---- show, delete ---- */

static int get(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__GetVolumeGroupSnapshotRequest *request = message;
    Csi__V1__GetVolumeGroupSnapshotResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_group_snapshot row;
    int result = controller_need(request->group_snapshot_id, "group_snapshot_id", err);

    if (result == 0)
        result = read_one(&api, call->arena, request->group_snapshot_id, &row, err);
    if (result == 0)
        result = show(&api, call->arena, &row, &answer->group_snapshot, err);
    return result != 0 ? result
                       : check_named(answer->group_snapshot, request->snapshot_ids,
                                     request->n_snapshot_ids, err);
}

static int delete (struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__DeleteVolumeGroupSnapshotRequest *request = message;
    struct client api = csi_api(call);
    Csi__V1__VolumeGroupSnapshot *shown;
    struct remote_group_snapshot row;
    int result = controller_need(request->group_snapshot_id, "group_snapshot_id", err);

    (void)response;
    if (result == 0)
        result = read_one(&api, call->arena, request->group_snapshot_id, &row, err);
    if (result == GRPC_NOT_FOUND)
        return 0;
    if (result == 0)
        result = show(&api, call->arena, &row, &shown, err);
    if (result == 0 && strcmp(row.status, "deleting") != 0)
        result = check_named(shown, request->snapshot_ids, request->n_snapshot_ids, err);
    return result != 0 ? result : delete_one(call, &api, &row, err);
}

const struct grpc_method csi_group_controller_methods[] = {
    { "GroupControllerGetCapabilities", get_capabilities },
    { "CreateVolumeGroupSnapshot", create },
    { "DeleteVolumeGroupSnapshot", delete },
    { "GetVolumeGroupSnapshot", get },
    { 0 },
};
