/*
 * Clones: volumes with a policy that are created from another such volume.
 *
 * A clone is created from an internal snapshot of its source.  Its name is derived from both
 * volumes, so a repeated call finds it; it is deleted when the clone is independent of it, or is
 * not created after all.  Until then a finalizer holds the clone's config: without a repeated call,
 * its DeleteVolume completes the cleanup.  A snapshot without a config is deleted by DeleteVolume
 * of the source; one in use by a config is protected by the service.
 */
#include "csi/controller/configs.private.h"

#include "common/clock.h"
#include "common/md5.h"
#include "json/json.h"

#include <string.h>

/* ---- the snapshot ---- */

int config_clone_name(const struct client *api, struct arena *arena, struct config_clone *clone,
                      struct error *err) {
    const char *id = clone->source_id, *whole;
    char uid[UUID_SIZE], hex[MD5_HEX_SIZE];

    if (!config_is_id(id))
        return config_refuse_plain(api, arena, &volume_kind, id, err);
    if (!uuid_parse(id + strlen(CONFIG_PREFIX), uid))
        return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume %.64s.", id);
    whole = arena_join(arena, uid, "/", clone->csi_name, NULL);
    md5_hex(whole, strlen(whole), hex);
    clone->snapshot = arena_join(arena, "clone-", hex, NULL);
    return 0;
}

/* The pools of all replicas must have it, also those that were not available when it was taken. */
static int await_ready(const struct grpc_call *call, const struct client *api,
                       const struct config_clone *clone, struct config_snapshot *snapshot,
                       struct error *err) {
    struct poll_wait wait = poll_wait_of(call);

    while (strcmp(snapshot->status, "Ready") != 0 ||
           (snapshot->pending > 0 && (int64_t)snapshot->pools < clone->replicas)) {
        int result;

        if (strcmp(snapshot->status, "Failed") == 0)
            return grpc_refuse(err, GRPC_INTERNAL, "Volume %s cannot be cloned: %s",
                               clone->source_id, snapshot->message);
        if (strcmp(snapshot->status, "deleting") == 0 || !poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED,
                               "The snapshot of volume %s is on %zu pools and is required on %jd.",
                               clone->source_id, snapshot->pools, (intmax_t)clone->replicas);
        result =
            controller_read(api, call->arena, &config_snapshot_kind, snapshot->id, snapshot, err);
        if (result != 0)
            return controller_outcome_unknown(result, err);
    }
    return 0;
}

static int64_t gib_of(int64_t bytes) {
    return bytes / GIB + (bytes % GIB > 0);
}

int config_clone_prepare(const struct grpc_call *call, const struct client *api,
                         const struct config_clone *clone, const Csi__V1__CapacityRange *range,
                         const char **ret, int64_t *ret_gb, struct error *err) {
    struct config_snapshot snapshot = { .status = "" };
    struct volume_config source;
    const struct config_shot shot = { clone->snapshot, clone->csi_name, true, &source };
    int64_t size_gb;
    int result = config_read(api, call->arena, clone->source_id, &source, err);

    if (result == 0 && strcmp(source.status, "deleting") == 0)
        result = grpc_refuse(err, GRPC_NOT_FOUND, "Volume %s is being deleted.", source.id);
    if (result == 0) /* before anything is created that would have to be deleted again */
        result = controller_size(range, gib_of(source.has_bytes), &size_gb, err);
    if (result == 0)
        result = config_snapshot_take(call, api, &shot, &snapshot, err);
    if (result == 0)
        result = await_ready(call, api, clone, &snapshot, err);
    if (result != 0)
        return result;
    *ret = arena_join(call->arena, source.name, "@", clone->snapshot, NULL);
    *ret_gb = gib_of(snapshot.bytes);
    return 0;
}

/* ---- completion ---- */

/* Refuses when the last event is a failed placement, which may never succeed.  The config stays:
 * after any other code the caller might try another topology, or forget it. */
static int check_placement(const struct client *api, struct arena *arena,
                           const struct volume_config *config, struct error *err) {
    struct error ignored;
    const json_t *events = document_fetch_below(api, arena, &config_documents, config->uid,
                                                "events", "events", &ignored);
    const json_t *last = json_array_get(events, json_array_size(events) - 1);

    if (!events || strcmp(config_text_of(last, "type"), "Warning") != 0 ||
        strcmp(config_text_of(last, "reason"), "Provisioning") != 0)
        return 0;
    return grpc_refuse(
        err, GRPC_ABORTED,
        "Volume %s cannot be placed yet: too few pools with its source are available and have enough free capacity.",
        config->id);
}

int config_clone_finish(const struct grpc_call *call, const struct client *api,
                        struct volume_config *config, struct error *err) {
    struct poll_wait wait = poll_wait_of(call);
    int result = 0;

    while (result == 0 && config->is_clone && strcmp(config->status, "Pending") == 0) {
        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "Volume %s is being cloned.", config->id);
        result = check_placement(api, call->arena, config, err);
        if (result != 0)
            return result;
        result = config_read(api, call->arena, config->id, config, err);
    }
    if (result == 0 && strcmp(config->status, "Failed") == 0) {
        /* It has no data, and never will: a clone is created again by a repeated call. */
        result = config_remove(call, api, config->id, err);
        if (result != 0)
            return controller_outcome_unknown(result, err);
        return grpc_refuse(err, config->is_clone ? GRPC_ABORTED : GRPC_FAILED_PRECONDITION,
                           "The source of volume %s is lost.", config->id);
    }
    if (result == 0 && config->is_clone)
        result = config_clone_release(call, api, config, err);
    if (result == GRPC_NOT_FOUND || (result == 0 && strcmp(config->status, "deleting") == 0))
        return grpc_refuse(err, GRPC_ABORTED, "The volume of this name is being deleted.");
    return controller_outcome_unknown(result, err);
}
