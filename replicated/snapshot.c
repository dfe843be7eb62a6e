/*
 * Snapshots are documents beside the config.
 */
#include "common/log.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

#include <string.h>

static const struct remote_documents snapshots = { .collection = "volume_config_snapshots",
                                                   .word = "volume_config_snapshot" };

/* ---- one ---- */

int replicated_read_snapshot(const struct replicated_call *call, struct replicated_taking *taking,
                             struct error *err) {
    struct error failure;

    taking->found = document_fetch(&call->api, call->arena, &snapshots, taking->name, &failure);
    return taking->found || failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
}

static bool is_going(const struct replicated_taking *taking) {
    return json_text_at(taking->found, "metadata.deletionTimestamp") != NULL;
}

/* Its state: 1 ready, 0 not yet. */
static int check_state(struct replicated_call *call, const struct replicated_taking *taking,
                       struct error *err) {
    const json_t *status = json_object_get(taking->found, "status");
    const char *phase = json_text_of(status, "phase"), *message = json_text_of(status, "message");

    if (is_going(taking) ||
        !json_text_is(json_object_get(taking->found, "spec"), "volumeName", taking->config)) {
        call->over = true;
        return error_set(err, ERROR_CONFLICT, "Snapshot %s already exists and is another one.",
                         taking->name);
    }
    if (phase && strcmp(phase, "Failed") == 0)
        return error_set(err, ERROR_BACKEND, "Snapshot %s: %s", taking->name,
                         message ? message : "it could not be taken");
    return phase && strcmp(phase, "Ready") == 0;
}

int replicated_take_one(struct replicated_call *call, struct replicated_taking *taking,
                        struct error *err) {
    json_t *document;

    if (replicated_read_snapshot(call, taking, err) < 0)
        return -1;
    if (taking->found)
        return check_state(call, taking, err);
    if (replicated_may(call, err) < 0)
        return -1;
    document =
        json_pack("{s:{s:s, s:{s:s, s:s}}, s:{s:s}}", "metadata", "name", taking->name, "labels",
                  LABEL_BACKEND, call->backend->backend->name,
                  taking->name_id ? LABEL_SNAPSHOT : LABEL_CLONES,
                  taking->name_id ? taking->name_id : "true", "spec", "volumeName", taking->config);
    json_keep(call->arena, document);
    return document_send(&call->api, call->arena, &snapshots, document, err) ? 0 : -1;
}

int replicated_drop_snapshot(struct replicated_call *call, struct replicated_taking *taking,
                             struct error *err) {
    const char *version;

    if (replicated_read_snapshot(call, taking, err) < 0)
        return -1;
    if (!taking->found)
        return 1;
    if (is_going(taking)) {
        taking->begun = true;
        return 0;
    }
    version = json_text_at(taking->found, "metadata.resourceVersion");
    if (replicated_may(call, err) < 0)
        return -1;
    return document_drop_version(&call->api, call->arena, &snapshots, taking->name, version, err);
}

static int take_step(struct replicated_call *call, void *arg, struct error *err) {
    return replicated_take_one(call, arg, err);
}

static int delete_snapshot_step(struct replicated_call *call, void *arg, struct error *err) {
    return replicated_drop_snapshot(call, arg, err);
}

/* ---- snapshots of the service ---- */

const char *replicated_snapshot_name(struct arena *arena, const struct driver_snapshot *snapshot) {
    return snapshot->provider_location ? snapshot->provider_location
                                       : arena_format(arena, "snapshot-%s", snapshot->name_id);
}

struct replicated_taking replicated_taking_of(struct arena *arena,
                                              const struct driver_snapshot *snapshot) {
    return (struct replicated_taking){
        .name = replicated_snapshot_name(arena, snapshot),
        .name_id = snapshot->name_id,
    };
}

enum driver_outcome replicated_create_snapshot(void *handle, struct arena *arena,
                                               const struct driver_volume *volume,
                                               const struct driver_snapshot *snapshot,
                                               const struct driver_progress *progress,
                                               struct driver_created *ret, struct error *err) {
    struct replicated_taking taking = replicated_taking_of(arena, snapshot);
    struct replicated_call call;

    if (driver_fence_check(snapshot->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return DRIVER_FAILED;
    taking.config = call.name;
    call.fence = snapshot->fence;
    call.progress = progress;
    if (replicated_walk(&call, take_step, &taking, err) < 0)
        return DRIVER_FAILED;
    *ret = (struct driver_created){ .provider_location = taking.name, .format = "raw" };
    return DRIVER_DONE;
}

enum driver_outcome replicated_delete_snapshot(void *handle, struct arena *arena,
                                               const struct driver_volume *volume,
                                               const struct driver_snapshot *snapshot,
                                               const struct driver_progress *progress,
                                               struct error *err) {
    struct replicated_taking taking = replicated_taking_of(arena, snapshot);
    struct replicated_call call;
    struct error failure;

    if (driver_fence_check(snapshot->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return DRIVER_FAILED;
    call.fence = snapshot->fence;
    call.progress = progress;
    if (replicated_walk(&call, delete_snapshot_step, &taking, &failure) == 0)
        return DRIVER_DONE;
    if (!taking.begun || failure.kind != ERROR_BACKEND)
        return (enum driver_outcome)error_pass(err, &failure);
    log_warning(NULL, "data of a deleted snapshot are removed later", "snapshot_id", snapshot->id,
                "reason", failure.message, NULL);
    return DRIVER_DONE;
}

int replicated_list_snapshots(void *handle, struct arena *arena,
                              void (*found)(void *arg, const char *name_id, int64_t bytes),
                              void *arg, struct error *err) {
    const struct replicated *opened = handle;
    const json_t *all;
    struct client api;

    if (replicated_api(opened, &api, err) < 0)
        return -1;
    all = documents_fetch(&api, arena, &snapshots, err);
    for (size_t i = 0; i < json_array_size(all); i++)
        replicated_report(opened, json_array_get(all, i), LABEL_SNAPSHOT, found, arg);
    return all ? 0 : -1;
}

/* ---- snapshots for clones ---- */

const char *replicated_clone_name(struct arena *arena, const char *name_id) {
    return arena_format(arena, "clone-%s", name_id);
}

int replicated_delete_clone_snapshot(struct replicated_call *call, struct error *err) {
    struct replicated_taking taking = { .name = replicated_clone_name(call->arena, call->name_id) };
    int gone = replicated_drop_snapshot(call, &taking, err);

    return gone < 0 ? -1 : gone > 0 || taking.begun;
}

int replicated_delete_clone_snapshots(struct replicated_call *call, struct error *err) {
    const json_t *all = documents_fetch(&call->api, call->arena, &snapshots, err);

    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *snapshot = json_array_get(all, i);
        const json_t *metadata = json_object_get(snapshot, "metadata");
        const char *config = json_text_at(snapshot, "spec.volumeName");

        if (!config || strcmp(config, call->name) != 0 ||
            !json_text_of(json_object_get(metadata, "labels"), LABEL_CLONES))
            continue;
        if (replicated_may(call, err) < 0 || document_drop(&call->api, call->arena, &snapshots,
                                                           json_text_of(metadata, "name"), err) < 0)
            return -1;
    }
    return all ? 0 : -1;
}
