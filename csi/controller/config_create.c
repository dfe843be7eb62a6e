/*
 * CreateVolume with a policy: creates a config, without waiting for its volume (P28).
 */
#include "csi/controller/configs.private.h"

#include "json/json.h"

#include <string.h>

struct requested {
    const Csi__V1__CreateVolumeRequest *request;
    const char *mark; /* of its name */
    const char *name;
    struct config_class class;
    json_t *limits;
    const char *snapshot_id;   /* of the source; NULL: none */
    const char *source;        /* in the document; "": none, or not read yet */
    struct config_clone clone; /* of a volume: .snapshot */
    int64_t size_gb;
};

/* ---- the source ---- */

static const char *source_of(struct arena *arena, const struct config_snapshot *snapshot) {
    return arena_join(arena, snapshot->volume, "@", snapshot->name, NULL);
}

/* For a creation: it must be complete. */
static int read_snapshot(const struct client *api, struct arena *arena, struct requested *requested,
                         int64_t *ret_gb, struct error *err) {
    struct config_snapshot snapshot;
    int result = 0;

    if (!requested->snapshot_id)
        return 0;
    result =
        controller_read(api, arena, &config_snapshot_kind, requested->snapshot_id, &snapshot, err);
    if (result != 0)
        return result;
    if (strcmp(snapshot.status, "Ready") != 0) {
        if (strcmp(snapshot.status, "Failed") == 0)
            return grpc_refuse(err, GRPC_FAILED_PRECONDITION, "The snapshot %s has failed.",
                               snapshot.id);
        return grpc_refuse(err, GRPC_UNAVAILABLE, "The snapshot %s is %s.", snapshot.id,
                           snapshot.status);
    }
    requested->source = source_of(arena, &snapshot);
    *ret_gb = snapshot.bytes / GIB + (snapshot.bytes % GIB > 0);
    return 0;
}

/* Only its id, or the name of the clone's snapshot: a source may be deleted already when the config
 * exists. */
static int read_source(const struct client *api, struct arena *arena, struct requested *requested,
                       struct error *err) {
    const Csi__V1__VolumeContentSource *source = requested->request->volume_content_source;

    if (!source)
        return 0;
    if (source->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT) {
        requested->snapshot_id = source->snapshot->snapshot_id;
        return config_is_snapshot_id(requested->snapshot_id)
                   ? 0
                   : config_refuse_plain(api, arena, &snapshot_kind, requested->snapshot_id, err);
    }
    if (source->type_case != CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "The kind of the content source is unknown.");
    requested->clone.source_id = source->volume->volume_id;
    requested->clone.csi_name = requested->mark;
    return config_clone_name(api, arena, &requested->clone, err);
}

/* ---- an existing config ---- */

static int differs(const struct volume_config *config, const char *what, struct error *err) {
    return grpc_refuse(err, GRPC_ALREADY_EXISTS, "Volume %s already has the name, with another %s.",
                       config->id, what);
}

/* The name of a deleted snapshot is unknown: it was any. */
static int check_source(const struct client *api, struct arena *arena,
                        const struct requested *requested, const struct volume_config *config,
                        struct error *err) {
    const char *at = strchr(config->source, '@');
    struct config_snapshot snapshot;
    bool same = !at;
    int result = 0;

    if (requested->clone.snapshot) {
        same = at && strcmp(at + 1, requested->clone.snapshot) == 0;
    } else if (requested->snapshot_id) {
        result = controller_read(api, arena, &config_snapshot_kind, requested->snapshot_id,
                                 &snapshot, err);
        if (result != 0 && result != GRPC_NOT_FOUND)
            return controller_outcome_unknown(result, err);
        same = at && (result != 0 || strcmp(config->source, source_of(arena, &snapshot)) == 0);
    }
    return same ? 0 : differs(config, "source", err);
}

/* A config that is being deleted has the name until it is gone; its cleanup is completed. */
static int check_found(const struct grpc_call *call, const struct client *api,
                       const struct requested *requested, struct volume_config *config,
                       struct error *err) {
    const Csi__V1__CapacityRange *range = requested->request->capacity_range;

    if (strcmp(config->status, "deleting") == 0)
        return config_clone_finish(call, api, config, err);
    if (strcmp(config->csi_name, requested->mark) != 0)
        return differs(config, "owner", err);
    if (range && (config->bytes < range->required_bytes ||
                  (range->limit_bytes > 0 && config->bytes > range->limit_bytes)))
        return differs(config, "size", err);
    if (strcmp(config->policy, requested->class.policy) != 0)
        return differs(config, "policy", err);
    if (requested->class.replicas > 0 && config->replicas != requested->class.replicas)
        return differs(config, "number of replicas", err);
    return check_source(api, call->arena, requested, config, err);
}

/* ---- creation ---- */

static json_t *document_of(struct arena *arena, const struct requested *requested) {
    json_t *annotations = json_pack("{s:s}", NAME_ANNOTATION, requested->mark);
    json_t *finalizers =
        requested->clone.snapshot ? json_pack("[s]", CLONE_FINALIZER) : json_array();

    if (*requested->class.policy)
        json_object_set_new(annotations, "openebs.io/volume-policy",
                            json_string(requested->class.policy));
    return json_keep(arena,
                     json_pack("{s:{s:s, s:o, s:o}, s:{s:{s:s}, s:{s:I}, s:s*}}", "metadata",
                               "name", requested->name, "annotations", annotations, "finalizers",
                               finalizers, "spec", "capacity", "storage",
                               arena_format(arena, "%jdGi", (intmax_t)requested->size_gb),
                               "provision", "replicaCount", (json_int_t)requested->class.count,
                               "cstorVolumeSource", *requested->source ? requested->source : NULL));
}

/* Another call may have created it, or this one before its response was lost. */
static int send(const struct grpc_call *call, const struct client *api,
                const struct requested *requested, struct volume_config *ret, struct error *err) {
    struct arena *arena = call->arena;
    const json_t *made =
        document_send(api, arena, &config_documents, document_of(arena, requested), err);
    struct error refusal = *err;

    if (made)
        return controller_outcome_unknown(config_decode(arena, made, ret, err), err);
    if (err->kind == ERROR_NOT_FOUND && requested->clone.snapshot)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message); /* the snapshot is taken
                                                                       * again */
    if (err->kind != ERROR_CONFLICT)
        return config_refused(err);
    made = document_fetch(api, arena, &config_documents, requested->name, err);
    if (!made)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    return config_decode(arena, made, ret, err) < 0 ? controller_outcome_unknown(-1, err)
                                                    : check_found(call, api, requested, ret, err);
}

static int size_of(struct requested *requested, int64_t least_gb, struct error *err) {
    int result =
        controller_size(requested->request->capacity_range, least_gb, &requested->size_gb, err);

    if (result == 0 && requested->size_gb > CONFIG_GIB_MOST)
        return grpc_refuse(err, GRPC_OUT_OF_RANGE, "A volume with a policy has at most %d GiB.",
                           CONFIG_GIB_MOST);
    return result;
}

static int make(const struct grpc_call *call, const struct client *api, struct requested *requested,
                struct volume_config *ret, struct error *err) {
    int64_t least_gb = 1;
    int result = read_snapshot(api, call->arena, requested, &least_gb, err);

    if (result == 0)
        result = size_of(requested, least_gb, err);
    if (result == 0)
        result = config_check_plain_name(call, api, requested->mark, err);
    if (result == 0)
        result = config_class_resolve(api, call->arena, &requested->class, err);
    if (result != 0)
        return result;
    requested->clone.replicas = requested->class.count;
    if (requested->clone.snapshot)
        result =
            config_clone_prepare(call, api, &requested->clone, requested->request->capacity_range,
                                 &requested->source, &least_gb, err);
    if (result == 0)
        result = size_of(requested, least_gb, err);
    if (result == 0)
        result = send(call, api, requested, ret, err);
    return result != 0 && requested->clone.snapshot
               ? config_clone_undo(api, call->arena, &requested->clone, result, err)
               : result;
}

/* ---- the call ---- */

/* It is unreported if a volume without policy has the name (config_plain.c); an existing config may
 * be the older one. */
static int check_unique(const struct grpc_call *call, const struct client *api,
                        const struct requested *requested, const struct volume_config *config,
                        bool is_new, struct error *err) {
    int result = config_check_plain_name(call, api, requested->mark, err), removed;
    struct error refusal = *err;

    if (result != GRPC_ALREADY_EXISTS || !is_new)
        return result;
    removed = controller_outcome_unknown(config_remove(call, api, config->id, err), err);
    if (removed != 0)
        return removed;
    *err = refusal;
    return result;
}

static int config_find(const struct client *api, struct arena *arena,
                       const struct requested *requested, struct volume_config *ret,
                       bool *ret_found, struct error *err) {
    const json_t *there = document_fetch(api, arena, &config_documents, requested->name, err);

    *ret_found = there != NULL;
    if (!there)
        return err->kind == ERROR_NOT_FOUND ? 0 : controller_outcome_unknown(-1, err);
    return controller_outcome_unknown(config_decode(arena, there, ret, err), err);
}

int config_create(struct grpc_call *call, const void *message, void *response, struct error *err) {
    Csi__V1__CreateVolumeResponse *answer = response;
    const Csi__V1__CreateVolumeRequest *request = message;
    struct requested requested = { .request = request,
                                   .mark = controller_mark(call, request->name),
                                   .source = "" };
    struct client api = csi_api(call);
    struct volume_config config = { 0 };
    bool found = false;
    int result = controller_require(request->name, "name", err);

    if (result == 0)
        result = config_check_capabilities(request->volume_capabilities,
                                           request->n_volume_capabilities, err);
    if (result == 0)
        result = config_class_read(CONTROLLER_PARAMETERS(request), &requested.class, err);
    if (result == 0)
        result =
            config_limits_read(call->arena, CONTROLLER_MUTABLE(request), &requested.limits, err);
    requested.name = config_name_of(call->arena, requested.mark);
    if (result == 0)
        result = read_source(&api, call->arena, &requested, err);
    if (result == 0)
        result = size_of(&requested, 1, err);
    if (result == 0)
        result = config_find(&api, call->arena, &requested, &config, &found, err);
    if (result == 0)
        result = found ? check_found(call, &api, &requested, &config, err)
                       : make(call, &api, &requested, &config, err);
    if (result == 0)
        result = check_unique(call, &api, &requested, &config, !found, err);
    if (result == 0)
        result = config_clone_finish(call, &api, &config, err);
    if (result == 0)
        result = controller_outcome_unknown(
            config_limits_set(call, &api, &config, requested.limits, err), err);
    if (result != 0)
        return result;
    answer->volume = config_shown(call->arena, &config);
    answer->volume->content_source = requested.request->volume_content_source;
    return 0;
}
