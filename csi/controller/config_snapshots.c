/*
 * Snapshots of volumes with a policy.  CreateSnapshot waits until the snapshot is taken, but not
 * for all replicas; DeleteSnapshot waits until its files are deleted.
 */
#include "csi/controller/configs.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "json/json.h"

#include <string.h>

const struct remote_documents config_snapshot_documents = { .collection = "volume_config_snapshots",
                                                            .word = "volume_config_snapshot" };

/* ---- rows ---- */

static bool is(const struct config_snapshot *snapshot, const char *status) {
    return strcmp(snapshot->status, status) == 0;
}

static int read_row(struct arena *arena, const json_t *document, struct config_snapshot *ret,
                    struct error *err) {
    const json_t *metadata = json_object_get(document, "metadata");
    const json_t *status = json_object_get(document, "status");
    const json_t *annotations = json_object_get(metadata, "annotations");
    const char *taken = config_text_of(status, "creationTime");
    char uid[UUID_SIZE];

    *ret = (struct config_snapshot){
        .status = json_text_of(metadata, "deletionTimestamp") ? "deleting"
                                                              : config_text_of(status, "phase"),
        .name = config_text_of(metadata, "name"),
        .csi_name = config_text_of(annotations, NAME_ANNOTATION),
        .clone = config_text_of(annotations, CLONE_ANNOTATION),
        .message = config_text_of(status, "message"),
        .volume = config_text_of(json_object_get(document, "spec"), "volumeName"),
        .bytes = json_bytes_at(status, "capacity.storage"),
        .pools = json_array_size(json_object_get(status, "poolInfo")),
        .pending = json_array_size(json_object_get(status, "pendingPoolInfo")),
        .is_unreported = json_text_of(annotations, UNREPORTED_ANNOTATION) != NULL,
    };
    if (!uuid_parse(config_text_of(metadata, "uid"), uid) ||
        (*taken && clock_parse(taken, &ret->taken_us) < 0))
        return error_set(err, ERROR_BACKEND, "The volume API returned an invalid snapshot.");
    ret->id = arena_join(arena, SNAPSHOT_PREFIX, uid, NULL);
    return 0;
}

/* A volume with snapshots exists; they are deleted with it. */
static int find_volume(const struct client *api, struct arena *arena,
                       struct config_snapshot *snapshot, struct error *err) {
    const json_t *document = document_fetch(api, arena, &config_documents, snapshot->volume, err);
    struct volume_config config;

    if (!document || config_decode(arena, document, &config, err) < 0)
        return -1;
    snapshot->volume_id = config.id;
    return 0;
}

static int read_one(const struct client *api, struct arena *arena, const char *id, void *ret,
                    struct error *err) {
    char uid[UUID_SIZE];
    const json_t *document;

    if (!config_is_snapshot_id(id) || !uuid_parse(id + strlen(SNAPSHOT_PREFIX), uid))
        return error_set(err, ERROR_NOT_FOUND, "There is no such snapshot.");
    document = document_fetch(api, arena, &config_snapshot_documents, uid, err);
    if (!document || read_row(arena, document, ret, err) < 0)
        return -1;
    return find_volume(api, arena, ret, err);
}

static int check_delete(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err) {
    const struct config_snapshot *snapshot = row;

    (void)api;
    return controller_check_owner(call, config_snapshot_kind.label, snapshot->id,
                                  snapshot->csi_name, err);
}

static int destroy(const struct client *api, struct arena *arena, const char *id,
                   const char *unreported, struct error *err) {
    (void)unreported;
    return document_drop(api, arena, &config_snapshot_documents, id + strlen(SNAPSHOT_PREFIX), err);
}

/* ---- pages ---- */

static const json_t *fetch_page(const struct client *api, struct arena *arena, const char *after,
                                unsigned limit, struct error *err) {
    const struct client_call call = {
        .method = "GET",
        .path = client_page(arena, "/volume_config_snapshots", "sort=id:asc", *after ? after : NULL,
                            limit),
        .may_lack = true,
    };
    const json_t *list = client_ask_list(api, arena, &call, "volume_config_snapshots", err);

    if (!list && err->kind == ERROR_NOT_FOUND && !*after) /* an API without configs */
        return json_keep(arena, json_array());
    return list;
}

/* Consecutive rows often have the same volume.  1: it is gone. */
static int find_volume_again(const struct client *api, struct arena *arena,
                             const struct config_snapshot *before, struct config_snapshot *snapshot,
                             struct error *err) {
    if (before && strcmp(before->volume, snapshot->volume) == 0) {
        snapshot->volume_id = before->volume_id;
        return 0;
    }
    if (find_volume(api, arena, snapshot, err) == 0)
        return 0;
    return err->kind == ERROR_NOT_FOUND ? 1 : -1;
}

/* Taken, and a user's. */
static bool is_listed(const struct config_snapshot *snapshot) {
    return snapshot->taken_us != 0 && !is(snapshot, "deleting") && !is(snapshot, "Failed") &&
           !*snapshot->clone;
}

/* Keeps those of this volume (NULL: of any); returns their number. */
static int keep_listed(const struct client *api, struct arena *arena, const json_t *list,
                       const char *volume, struct config_snapshot *rows, const char **ret_last,
                       struct error *err) {
    const json_t *one;
    int count = 0, gone;
    size_t i;

    json_array_foreach(list, i, one) {
        struct config_snapshot *row = &rows[count];

        if (read_row(arena, one, row, err) < 0)
            return -1;
        *ret_last = row->id + strlen(SNAPSHOT_PREFIX);
        if (!is_listed(row) || (volume && strcmp(row->volume, volume) != 0))
            continue;
        gone = find_volume_again(api, arena, count > 0 ? row - 1 : NULL, row, err);
        if (gone < 0)
            return -1;
        count += gone == 0;
    }
    return count;
}

/* `query`: the name of a config.  An empty page is returned only at the end. */
static int read_page(const struct client *api, struct arena *arena, const char *query,
                     const char *marker, unsigned limit, void **ret, struct error *err) {
    const char *after =
        marker && config_is_snapshot_id(marker) ? marker + strlen(SNAPSHOT_PREFIX) : "";
    const char *before;
    const json_t *list;
    int count;

    do {
        before = after;
        list = fetch_page(api, arena, after, limit, err);
        if (!list)
            return -1;
        *ret = arena_alloc(arena, (json_array_size(list) + 1) * sizeof(struct config_snapshot));
        count = keep_listed(api, arena, list, query, *ret, &after, err);
        if (count == 0 && json_array_size(list) > 0 && strcmp(before, after) == 0)
            return error_set(err, ERROR_UNAVAILABLE, "the volume API returned the same page again");
    } while (count == 0 && json_array_size(list) > 0);
    return count;
}

static const char *const passing[] = { "deleting" };

const struct controller_kind config_snapshot_kind = {
    .label = "snapshot",
    .row_size = sizeof(struct config_snapshot),
    .passing = passing,
    .passing_count = LENGTH(passing),
    .read = read_one,
    .page = read_page,
    .check_delete = check_delete,
    .destroy = destroy,
};

/* ---- create ---- */

static int check_same(const struct config_shot *shot, const struct config_snapshot *snapshot,
                      struct error *err) {
    const char *name = shot->is_for_clone ? snapshot->clone : snapshot->csi_name;

    if (strcmp(name, shot->csi_name) != 0)
        return grpc_refuse(err, GRPC_ALREADY_EXISTS,
                           "Snapshot %s already has the name, with another owner.", snapshot->id);
    if (strcmp(snapshot->volume, shot->config->name) != 0)
        return grpc_refuse(err, GRPC_ALREADY_EXISTS,
                           "Snapshot %s of another volume already has the name.", snapshot->id);
    return 0;
}

/* A conflict: the volume does not exist yet, or another call was faster. */
static int find_or_make(const struct grpc_call *call, const struct client *api,
                        const struct config_shot *shot, struct config_snapshot *ret,
                        struct error *err) {
    struct poll_wait wait = poll_wait_of(call);
    struct arena *arena = call->arena;
    const json_t *document;
    json_t *annotations;

    do {
        document = document_fetch(api, arena, &config_snapshot_documents, shot->name, err);
        if (!document && err->kind != ERROR_NOT_FOUND)
            return controller_outcome_unknown(-1, err);
        if (!document) {
            annotations = shot->is_for_clone
                              ? json_pack("{s:s}", CLONE_ANNOTATION, shot->csi_name)
                              : json_pack("{s:s, s:s}", NAME_ANNOTATION, shot->csi_name,
                                          UNREPORTED_ANNOTATION, "yes");
            document = document_send(
                api, arena, &config_snapshot_documents,
                json_keep(arena, json_pack("{s:{s:s, s:o}, s:{s:s}}", "metadata", "name",
                                           shot->name, "annotations", annotations, "spec",
                                           "volumeName", shot->config->name)),
                err);
        }
        if (document)
            return read_row(arena, document, ret, err) < 0 ? controller_outcome_unknown(-1, err)
                                                           : check_same(shot, ret, err);
    } while (err->kind == ERROR_CONFLICT && poll_again(call, &wait));
    return err->kind == ERROR_NOT_FOUND
               ? grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume %s.", shot->config->id)
               : config_refused(err);
}

/* Without its id no other call deletes an unreported one. */
static int refuse_failed(const struct grpc_call *call, const struct client *api,
                         const struct config_snapshot *snapshot, struct error *err) {
    int result = snapshot->is_unreported
                     ? controller_delete(call, api, &config_snapshot_kind, snapshot->id, err)
                     : 0;

    return result != 0
               ? controller_outcome_unknown(result, err)
               : grpc_refuse(err, GRPC_INTERNAL, "Snapshot %s has failed, and %s: %s", snapshot->id,
                             snapshot->is_unreported ? "is deleted" : "can be deleted",
                             snapshot->message);
}

int config_snapshot_take(const struct grpc_call *call, const struct client *api,
                         const struct config_shot *shot, struct config_snapshot *snapshot,
                         struct error *err) {
    int found = find_or_make(call, api, shot, snapshot, err);
    struct poll_wait wait = poll_wait_of(call);

    if (found != 0)
        return found;
    while (snapshot->taken_us == 0 && !is(snapshot, "deleting") && !is(snapshot, "Failed")) {
        const char *why = snapshot->message;
        int result;

        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "Snapshot %s is not taken yet%s%s", snapshot->id,
                               *why ? ": " : ".", why);
        result =
            controller_read(api, call->arena, &config_snapshot_kind, snapshot->id, snapshot, err);
        if (result == GRPC_NOT_FOUND)
            break;
        if (result != 0)
            return controller_outcome_unknown(result, err);
    }
    if (is(snapshot, "Failed"))
        return refuse_failed(call, api, snapshot, err);
    return snapshot->taken_us != 0 && !is(snapshot, "deleting")
               ? 0
               : grpc_refuse(err, GRPC_ABORTED, "The snapshot of this name is being deleted.");
}

static int mark_reported(const struct client *api, struct arena *arena,
                         const struct config_snapshot *snapshot, struct error *err) {
    json_t *patch = json_pack("{s:{s:{s:n}}}", "metadata", "annotations", UNREPORTED_ANNOTATION);

    if (!snapshot->is_unreported ||
        document_change(api, arena, &config_snapshot_documents,
                        snapshot->id + strlen(SNAPSHOT_PREFIX), json_keep(arena, patch), err))
        return 0;
    return controller_outcome_unknown(-1, err);
}

static Csi__V1__Snapshot *shown(struct arena *arena, const struct config_snapshot *snapshot) {
    Csi__V1__Snapshot *all = CSI_NEW(arena, Csi__V1__Snapshot, csi__v1__snapshot);

    all->snapshot_id = arena_text(arena, snapshot->id);
    all->source_volume_id = arena_text(arena, snapshot->volume_id);
    all->size_bytes = snapshot->bytes;
    all->creation_time = controller_timestamp(arena, snapshot->taken_us);
    all->ready_to_use = is(snapshot, "Ready");
    return all;
}

int config_create_snapshot(struct grpc_call *call, const void *message, void *response,
                           struct error *err) {
    const Csi__V1__CreateSnapshotRequest *request = message;
    Csi__V1__CreateSnapshotResponse *answer = response;
    struct client api = csi_api(call);
    const char *mark = controller_mark(call, request->name);
    struct config_snapshot snapshot = { .status = "" };
    struct volume_config config;
    int result = controller_check_snapshot(request, err);

    if (result == 0)
        result = config_read(&api, call->arena, request->source_volume_id, &config, err);
    if (result < 0) /* a snapshot of the name may exist; with its volume it is deleted */
        return controller_outcome_unknown(result, err);
    if (result == 0 && strcmp(config.status, "deleting") == 0)
        result = grpc_refuse(err, GRPC_NOT_FOUND, "Volume %s is being deleted.", config.id);
    if (result == 0)
        result = config_snapshot_take(
            call, &api,
            &(struct config_shot){
                .name = config_name_of(call->arena, mark), .csi_name = mark, .config = &config },
            &snapshot, err);
    if (result == 0)
        result = mark_reported(&api, call->arena, &snapshot, err);
    if (result != 0)
        return result;
    snapshot.volume_id = config.id;
    answer->snapshot = shown(call->arena, &snapshot);
    return 0;
}

/* ---- delete, show and list ---- */

int config_delete_snapshot(struct grpc_call *call, const void *message, void *response,
                           struct error *err) {
    const Csi__V1__DeleteSnapshotRequest *request = message;
    struct client api = csi_api(call);

    (void)response;
    return controller_delete(call, &api, &config_snapshot_kind, request->snapshot_id, err);
}

int config_get_snapshot(struct grpc_call *call, const void *message, void *response,
                        struct error *err) {
    const Csi__V1__GetSnapshotRequest *request = message;
    Csi__V1__GetSnapshotResponse *answer = response;
    struct client api = csi_api(call);
    struct config_snapshot snapshot;
    int result = controller_read(&api, call->arena, &config_snapshot_kind, request->snapshot_id,
                                 &snapshot, err);

    if (result == 0)
        answer->snapshot = shown(call->arena, &snapshot);
    return result;
}

static int keep(void *arg, const void *row, struct error *err) {
    const struct snapshots_answer *to = arg;

    (void)err;
    return controller_keep_snapshot(to, shown(to->arena, row));
}

int config_list_snapshots(const struct client *api, struct arena *arena,
                          const Csi__V1__ListSnapshotsRequest *request,
                          Csi__V1__ListSnapshotsResponse *answer, struct error *err) {
    struct snapshots_answer to = { arena, answer };
    unsigned left = controller_most(request->max_entries) - (unsigned)answer->n_entries;
    struct controller_list list = { .kind = &config_snapshot_kind, .keep = keep, .arg = &to };
    struct volume_config config;
    void *rows = NULL;
    int result = 0;

    if (*request->snapshot_id) {
        const char *volume_id = request->source_volume_id;
        struct config_snapshot snapshot;

        result = controller_read(api, to.arena, &config_snapshot_kind, request->snapshot_id,
                                 &snapshot, err);
        if (result != 0)
            return result == GRPC_NOT_FOUND ? 0 : result;
        return is_listed(&snapshot) && (!*volume_id || strcmp(snapshot.volume_id, volume_id) == 0)
                   ? keep(&to, &snapshot, err)
                   : 0;
    }
    if (*request->source_volume_id)
        result = config_read(api, arena, request->source_volume_id, &config, err);
    if (result != 0)
        return result == GRPC_NOT_FOUND ? 0 : result;
    list.query = *request->source_volume_id ? config.name : NULL;
    list.max_entries = request->max_entries < 0 ? -1 : (int32_t)left;
    list.token = config_is_snapshot_id(request->starting_token) ? request->starting_token : "";
    if (left > 0)
        return controller_collect(api, arena, &list, &answer->next_token, err);
    result = config_snapshot_kind.page(api, arena, NULL, NULL, 1, &rows, err);
    if (result > 0)
        answer->next_token = arena_text(arena, SNAPSHOT_PREFIX);
    return result < 0 ? -1 : 0;
}
