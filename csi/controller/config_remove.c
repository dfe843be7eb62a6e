/*
 * DeleteVolume of a volume with a policy, and the cleanup of clones: their internal snapshots
 * (config_clone.c) are deleted with them, or with their source.
 */
#include "csi/controller/configs.private.h"

#include "json/json.h"

#include <string.h>

/* ---- snapshots for clones ---- */

/* "": a user's snapshot. */
static const char *clone_of(const json_t *snapshot) {
    const json_t *metadata = json_object_get(snapshot, "metadata");

    return config_text_of(json_object_get(metadata, "annotations"), CLONE_ANNOTATION);
}

/* ERROR_CONFLICT: a volume is being created from it. */
static int drop_document(const struct client *api, struct arena *arena, const json_t *snapshot,
                         struct error *err) {
    const char *uid = config_text_of(json_object_get(snapshot, "metadata"), "uid");

    if (json_text_at(snapshot, "metadata.deletionTimestamp") != NULL ||
        document_drop(api, arena, &config_snapshot_documents, uid, err) == 0 ||
        err->kind == ERROR_NOT_FOUND)
        return 0;
    return -1;
}

/* Only a snapshot that was taken for this clone. */
static int drop_snapshot(const struct client *api, struct arena *arena, const char *name,
                         const char *csi_name, struct error *err) {
    const json_t *snapshot = document_fetch(api, arena, &config_snapshot_documents, name, err);

    if (!snapshot)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    return strcmp(clone_of(snapshot), csi_name) == 0 ? drop_document(api, arena, snapshot, err) : 0;
}

int config_clone_undo(const struct client *api, struct arena *arena,
                      const struct config_clone *clone, int result, struct error *err) {
    struct error refusal = *err;
    enum grpc_code code = grpc_code_of(result, err);

    if (code == GRPC_ABORTED || code == GRPC_UNAVAILABLE || code == GRPC_DEADLINE_EXCEEDED ||
        code == GRPC_CANCELLED)
        return result;
    if (drop_snapshot(api, arena, clone->snapshot, clone->csi_name, err) < 0 &&
        err->kind != ERROR_CONFLICT)
        return grpc_refuse(err, GRPC_UNAVAILABLE, "%s",
                           result < 0 ? error_client_text(&refusal) : refusal.message);
    *err = refusal;
    return result;
}

static json_t *patch_of(const struct volume_config *config) {
    json_t *finalizers = json_array(), *labels = json_object();

    for (size_t i = 0; i < json_array_size(config->finalizers); i++) {
        json_t *one = json_array_get(config->finalizers, i);

        if (!json_is_string(one) || strcmp(json_string_value(one), CLONE_FINALIZER) != 0)
            json_array_append(finalizers, one);
    }
    if (config->keeps_source)
        json_object_set_new(labels, SOURCE_LABEL, json_null());
    return json_pack("{s:{s:s, s:o, s:o}}", "metadata", "resourceVersion", config->version,
                     "finalizers", finalizers, "labels", labels);
}

int config_clone_release(const struct grpc_call *call, const struct client *api,
                         struct volume_config *config, struct error *err) {
    const char *at = strchr(config->source, '@');
    struct poll_wait wait = poll_wait_of(call);
    int result;

    if (at && drop_snapshot(api, call->arena, at + 1, config->csi_name, err) < 0)
        return err->kind == ERROR_CONFLICT ? grpc_refuse(err, GRPC_ABORTED, "%s", err->message)
                                           : controller_outcome_unknown(-1, err);
    do {
        result = config_change(api, call->arena, config, patch_of(config), err);
        if (result != GRPC_ABORTED)
            return result;
        result = config_read(api, call->arena, config->id, config, err);
        if (result != 0 || !config->is_clone)
            return result;
    } while (poll_again(call, &wait));
    return grpc_refuse(err, GRPC_ABORTED, "Volume %s is being modified concurrently; try again.",
                       config->id);
}

/* Deletes snapshots of the volume that were taken for clones; returns the number of the remaining
 * ones, or -1. */
static int clone_sweep(const struct client *api, struct arena *arena,
                       const struct volume_config *source, struct error *err) {
    const json_t *all = documents_fetch(api, arena, &config_snapshot_documents, err), *one;
    int count = 0;
    size_t i;

    json_array_foreach(all, i, one) {
        const char *volume = config_text_of(json_object_get(one, "spec"), "volumeName");

        if (strcmp(volume, source->name) != 0 || !*clone_of(one))
            continue;
        count++;
        if (drop_document(api, arena, one, err) < 0 && err->kind != ERROR_CONFLICT)
            return -1;
    }
    return all ? count : -1;
}

/* ---- the volume ---- */

/* Internal snapshots prevent it for a while. */
static int drop(const struct grpc_call *call, const struct client *api,
                const struct volume_config *config, struct error *err) {
    struct poll_wait wait = poll_wait_of(call);
    struct error refusal = { 0 };
    int swept;

    do {
        if (document_drop(api, call->arena, &config_documents, config->uid, err) == 0 ||
            err->kind == ERROR_NOT_FOUND)
            return 0;
        refusal = *err;
        swept = refusal.kind == ERROR_CONFLICT ? clone_sweep(api, call->arena, config, err) : 0;
        if (swept < 0)
            return -1;
    } while (swept > 0 && poll_again(call, &wait));
    *err = refusal;
    if (swept > 0)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    /* dependent objects prevent the deletion */
    return refusal.kind == ERROR_BAD_REQUEST || refusal.kind == ERROR_CONFLICT
               ? grpc_refuse(err, GRPC_FAILED_PRECONDITION, "%s", refusal.message)
               : -1;
}

/* P47: the service decides about the data. */
int config_remove(const struct grpc_call *call, const struct client *api, const char *id,
                  struct error *err) {
    struct volume_config config;
    int result = config_read(api, call->arena, id, &config, err);

    if (result == 0 && strcmp(config.status, "deleting") != 0)
        result = controller_check_owner(call, config_kind.label, config.id, config.csi_name, err);
    if (result == 0 && strcmp(config.status, "deleting") != 0) {
        result = drop(call, api, &config, err);
        if (result == 0 && config.is_clone)
            result = config_read(api, call->arena, id, &config, err);
    }
    if (result == 0 && config.is_clone)
        result = config_clone_release(call, api, &config, err);
    return result == GRPC_NOT_FOUND ? 0 : result;
}

int config_delete(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__DeleteVolumeRequest *request = message;
    struct client api = csi_api(call);

    (void)response;
    return config_remove(call, &api, request->volume_id, err);
}
