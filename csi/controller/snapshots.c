/*
 * Snapshots: one for a name, like volumes (controller.private.h).
 */
#include "csi/controller/controller.private.h"

#include "common/cleanup.h"
#include "common/words.h"

#include <string.h>

Csi__V1__Snapshot *controller_snapshot(struct arena *arena,
                                       const struct remote_snapshot *snapshot) {
    Csi__V1__Snapshot *shown = CSI_NEW(arena, Csi__V1__Snapshot, csi__v1__snapshot);

    shown->snapshot_id = arena_text(arena, snapshot->id);
    shown->source_volume_id = arena_text(arena, snapshot->volume_id);
    shown->size_bytes = snapshot->size_gb * GIB;
    shown->creation_time = controller_timestamp(arena, snapshot->created_us);
    shown->ready_to_use = strcmp(snapshot->status, "available") == 0;
    if (snapshot->group_snapshot_id)
        shown->group_snapshot_id = arena_text(arena, snapshot->group_snapshot_id);
    return shown;
}

/* ---- delete ---- */

int controller_delete_snapshot(struct grpc_call *call, const void *message, void *response,
                               struct error *err) {
    const Csi__V1__DeleteSnapshotRequest *request = message;
    struct client api = csi_api(call);
    int result = controller_require(request->snapshot_id, "snapshot_id", err);

    (void)response;
    return result != 0 ? result
                       : controller_delete(call, &api, &snapshot_kind, request->snapshot_id, err);
}

/* ---- create ---- */

static int check_same(const Csi__V1__CreateSnapshotRequest *request,
                      const struct remote_snapshot *snapshot, struct error *err) {
    return strcmp(snapshot->volume_id, request->source_volume_id) == 0
               ? 0
               : grpc_refuse(err, GRPC_ALREADY_EXISTS,
                             "Snapshot %s of another volume already has the name.", snapshot->id);
}

/* Creates it, and deletes it again when there is an older one. */
static int make(const struct grpc_call *call, const struct client *api,
                const Csi__V1__CreateSnapshotRequest *request, struct remote_snapshot *ret,
                struct error *err) {
    const char *mark = controller_mark(call, request->name);
    const struct remote_pair metadata[] = { { CSI_NAME_KEY, mark },
                                            { CSI_UNREPORTED_KEY, "yes" },
                                            { NULL, NULL } };
    struct remote_snapshot mine;
    struct remote_volume volume;
    bool is_mine = false;
    int result =
        controller_read(api, call->arena, &volume_kind, request->source_volume_id, &volume, err);

    if (result == 0)
        result = controller_recover(call, api, &volume, err);
    if (result != 0)
        return result;
    if (snapshots_create(api, call->arena, request->source_volume_id, request->name, metadata,
                         CSI_NAME_KEY, &mine, err) < 0) {
        /* A conflict with a concurrent call for the same name. */
        if (err->kind == ERROR_NOT_FOUND)
            return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume %s.",
                               request->source_volume_id);
        return err->kind == ERROR_BAD_REQUEST || err->kind == ERROR_CONFLICT
                   ? controller_refused_volume(api, call->arena, request->source_volume_id,
                                               GRPC_FAILED_PRECONDITION, err)
                   : -1;
    }
    result =
        controller_find_made(api, call->arena, &snapshot_kind, mark, mine.id, ret, &is_mine, err);
    if (result != 0 || is_mine)
        return result;
    result =
        controller_outcome_unknown(controller_delete(call, api, &snapshot_kind, mine.id, err), err);
    return result != 0 ? result : check_same(request, ret, err);
}

static int ready(const struct grpc_call *call, const struct client *api,
                 struct remote_snapshot *snapshot, struct error *err) {
    int result = controller_wait_created(call, api, &snapshot_kind, snapshot, err);

    if (result != 0)
        return result;
    return controller_is_unreported(snapshot->metadata)
               ? controller_outcome_unknown(
                     controller_mark_reported(api, call->arena, &snapshot_kind, snapshot->id, err),
                     err)
               : 0;
}

static int create(const struct grpc_call *call, const struct client *api,
                  const Csi__V1__CreateSnapshotRequest *request,
                  Csi__V1__CreateSnapshotResponse *answer, struct error *err) {
    struct remote_snapshot snapshot;
    int result = controller_check_snapshot(request, err);

    if (result != 0)
        return result;
    result = controller_find(api, call->arena, &snapshot_kind, controller_mark(call, request->name),
                             &snapshot, err);
    if (result == 0)
        result = make(call, api, request, &snapshot, err);
    else if (result == FOUND)
        result = check_same(request, &snapshot, err);
    if (result == 0)
        result = ready(call, api, &snapshot, err);
    if (result == 0)
        answer->snapshot = controller_snapshot(call->arena, &snapshot);
    return result;
}

int controller_create_snapshot(struct grpc_call *call, const void *message, void *response,
                               struct error *err) {
    const Csi__V1__CreateSnapshotRequest *request = message;
    struct client api = csi_api(call);
    int result = create(call, &api, request, response, err);

    return *request->name ? controller_created(call, &api, &snapshot_kind,
                                               controller_mark(call, request->name), result, err)
                          : result;
}

/* ---- show and list ---- */

int controller_get_snapshot(struct grpc_call *call, const void *message, void *response,
                            struct error *err) {
    const Csi__V1__GetSnapshotRequest *request = message;
    Csi__V1__GetSnapshotResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_snapshot snapshot;
    int result = controller_require(request->snapshot_id, "snapshot_id", err);

    if (result == 0)
        result = controller_read(&api, call->arena, &snapshot_kind, request->snapshot_id, &snapshot,
                                 err);
    if (result == 0)
        answer->snapshot = controller_snapshot(call->arena, &snapshot);
    return result;
}

static int keep(void *arg, const void *row, struct error *err) {
    const struct snapshots_answer *to = arg;

    (void)err;
    return controller_keep_snapshot(to, controller_snapshot(to->arena, row));
}

int controller_list_snapshots(struct grpc_call *call, const void *message, void *response,
                              struct error *err) {
    const Csi__V1__ListSnapshotsRequest *request = message;
    Csi__V1__ListSnapshotsResponse *answer = response;
    struct snapshots_answer to = { call->arena, answer };
    struct client api = csi_api(call);
    unsigned most = *request->snapshot_id ? 1 : controller_most(request->max_entries);
    int result = 0;

    answer->entries = arena_alloc(call->arena, most * sizeof(*answer->entries));
    if (config_is_snapshot_id(request->snapshot_id))
        return config_list_snapshots(&api, call->arena, request, answer, err);
    if (*request->snapshot_id) {
        /* The snapshot with that id, if it matches the other filter as well. */
        struct remote_snapshot snapshot;

        result =
            controller_read(&api, to.arena, &snapshot_kind, request->snapshot_id, &snapshot, err);
        if (result != 0)
            return result == GRPC_NOT_FOUND ? 0 : result;
        return strcmp(snapshot.status, "available") == 0 &&
                       (!*request->source_volume_id ||
                        strcmp(snapshot.volume_id, request->source_volume_id) == 0)
                   ? keep(&to, &snapshot, err)
                   : 0;
    }
    /* Snapshots of volumes with a policy follow all others. */
    if (!config_is_snapshot_id(request->starting_token) &&
        !config_is_id(request->source_volume_id)) {
        /* Only completed snapshots. */
        const char *volume_id = request->source_volume_id;
        const struct controller_list list = {
            .kind = &snapshot_kind,
            .query = arena_join(to.arena, "status=available", *volume_id ? "&volume_id=" : "",
                                http_encode(to.arena, volume_id), NULL),
            .max_entries = request->max_entries,
            .token = request->starting_token,
            .keep = keep,
            .arg = &to,
        };

        result = controller_collect(&api, to.arena, &list, &to.answer->next_token, err);
    }
    if (result != 0 || *answer->next_token ||
        (*request->source_volume_id && !config_is_id(request->source_volume_id)))
        return result;
    return config_list_snapshots(&api, call->arena, request, answer, err);
}

/* ---- the kind ---- */

static int read_one(const struct client *api, struct arena *arena, const char *id, void *ret,
                    struct error *err) {
    return snapshots_read(api, arena, id, ret, err);
}

static int read_page(const struct client *api, struct arena *arena, const char *query,
                     const char *marker, unsigned limit, void **ret, struct error *err) {
    struct remote_snapshot *snapshots = NULL;
    int count = snapshots_list(api, arena, query, marker, limit, &snapshots, err);

    *ret = snapshots;
    return count;
}

static bool is_named(const void *row, const char *mark) {
    return controller_named(((const struct remote_snapshot *)row)->metadata, mark);
}

static int check_delete(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err) {
    const struct remote_snapshot *snapshot = row;

    (void)api;
    return snapshot->group_snapshot_id
               ? grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                             "Snapshot %s belongs to group snapshot %s and is deleted with it.",
                             snapshot->id, snapshot->group_snapshot_id)
               : controller_check_owner(call, snapshot_kind.label, snapshot->id,
                                        controller_mark_in(snapshot->metadata), err);
}

static const char *const passing[] = { "creating", "deleting", "updating", "unmanaging" };

const struct controller_kind snapshot_kind = {
    .label = "snapshot",
    .row_size = sizeof(struct remote_snapshot),
    .passing = passing,
    .passing_count = LENGTH(passing),
    .read = read_one,
    .page = read_page,
    .query = controller_query,
    .is_named = is_named,
    .check_delete = check_delete,
    .destroy = snapshots_delete,
    .metadata_at = offsetof(struct remote_snapshot, metadata),
    .create_failed = GRPC_INTERNAL,
    .create_failure = "could not be created",
};
