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
    const char *source;        /* "": none */
    struct config_clone clone; /* of a volume: .snapshot */
    int64_t size_gb;
};

/* ---- the request ---- */

static int read_request(struct arena *arena, struct requested *ret, struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = ret->request;
    int result = controller_require(request->name, "name", err);

    if (result == 0)
        result = config_check_capabilities(request->volume_capabilities,
                                           request->n_volume_capabilities, err);
    if (result == 0)
        result = config_class_read(CONTROLLER_PARAMETERS(request), &ret->class, err);
    if (result == 0)
        result = config_limits_read(arena, CONTROLLER_MUTABLE(request), &ret->limits, err);
    ret->name = config_name_of(arena, ret->mark);
    return result;
}

/* ---- the source ---- */

static int read_snapshot(const struct client *api, struct arena *arena, const char *id,
                         struct requested *requested, int64_t *ret_gb, struct error *err) {
    struct config_snapshot snapshot;
    int result = config_is_snapshot_id(id)
                     ? controller_read(api, arena, &config_snapshot_kind, id, &snapshot, err)
                     : config_refuse_plain(api, arena, &snapshot_kind, id, err);

    if (result != 0)
        return result;
    if (strcmp(snapshot.status, "Ready") != 0) {
        if (strcmp(snapshot.status, "Failed") == 0)
            return grpc_refuse(err, GRPC_FAILED_PRECONDITION, "The snapshot %s has failed.",
                               snapshot.id);
        return grpc_refuse(err, GRPC_UNAVAILABLE, "The snapshot %s is %s.", snapshot.id,
                           snapshot.status);
    }
    requested->source = arena_join(arena, snapshot.volume, "@", snapshot.name, NULL);
    *ret_gb = snapshot.bytes / GIB + (snapshot.bytes % GIB > 0);
    return 0;
}

/* Of a source volume only its snapshot's name: the volume may be deleted already when the clone
 * exists. */
static int read_source(const struct client *api, struct arena *arena, struct requested *requested,
                       int64_t *ret_gb, struct error *err) {
    const Csi__V1__VolumeContentSource *source = requested->request->volume_content_source;

    *ret_gb = 1;
    if (!source)
        return 0;
    if (source->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT)
        return read_snapshot(api, arena, source->snapshot->snapshot_id, requested, ret_gb, err);
    if (source->type_case != CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "The kind of the content source is unknown.");
    requested->clone.source_id = source->volume->volume_id;
    requested->clone.csi_name = requested->mark;
    return config_clone_name(api, arena, &requested->clone, err);
}

static bool is_same_source(const struct requested *requested, const char *source) {
    const char *at = strchr(source, '@');

    if (!requested->clone.snapshot)
        return strcmp(source, requested->source) == 0;
    return at && strcmp(at + 1, requested->clone.snapshot) == 0;
}

/* ---- an existing config ---- */

static int differs(const struct volume_config *config, const char *what, struct error *err) {
    return grpc_refuse(err, GRPC_ALREADY_EXISTS, "Volume %s already has the name, with another %s.",
                       config->id, what);
}

static int check_same(const struct requested *requested, const struct volume_config *config,
                      struct error *err) {
    const Csi__V1__CapacityRange *range = requested->request->capacity_range;

    if (strcmp(config->csi_name, requested->mark) != 0)
        return differs(config, "owner", err);
    if (range && (config->bytes < range->required_bytes ||
                  (range->limit_bytes > 0 && config->bytes > range->limit_bytes)))
        return differs(config, "size", err);
    if (strcmp(config->policy, requested->class.policy) != 0)
        return differs(config, "policy", err);
    if (requested->class.replicas > 0 && config->replicas != requested->class.replicas)
        return differs(config, "number of replicas", err);
    return is_same_source(requested, config->source) ? 0 : differs(config, "source", err);
}

/* A config that is being deleted has the name until it is gone; its cleanup is completed. */
static int check_found(const struct grpc_call *call, const struct client *api,
                       const struct requested *requested, struct volume_config *config,
                       struct error *err) {
    return strcmp(config->status, "deleting") == 0 ? config_clone_finish(call, api, config, err)
                                                   : check_same(requested, config, err);
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
        return config_decode(arena, made, ret, err);
    if (err->kind == ERROR_NOT_FOUND && requested->clone.snapshot)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message); /* the snapshot is taken
                                                                       * again */
    if (err->kind != ERROR_CONFLICT)
        return config_refused(err);
    made = document_fetch(api, arena, &config_documents, requested->name, err);
    if (!made)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    return config_decode(arena, made, ret, err) < 0 ? -1
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
                int64_t least_gb, struct volume_config *ret, struct error *err) {
    int result = config_check_plain_name(api, call->arena, requested->mark, err);

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
    int result = config_check_plain_name(api, call->arena, requested->mark, err);
    struct error ignored;

    if (result == GRPC_ALREADY_EXISTS && is_new)
        config_remove(call, api, config->id, &ignored);
    return result;
}

static int config_find(const struct client *api, struct arena *arena,
                       const struct requested *requested, struct volume_config *ret,
                       bool *ret_found, struct error *err) {
    const json_t *there = document_fetch(api, arena, &config_documents, requested->name, err);

    *ret_found = there != NULL;
    if (!there)
        return err->kind == ERROR_NOT_FOUND ? 0 : controller_outcome_unknown(-1, err);
    return config_decode(arena, there, ret, err);
}

int config_create(struct grpc_call *call, const void *message, void *response, struct error *err) {
    Csi__V1__CreateVolumeResponse *answer = response;
    const Csi__V1__CreateVolumeRequest *request = message;
    struct requested requested = { .request = request,
                                   .mark = controller_mark(call, request->name),
                                   .source = "" };
    struct client api = csi_api(call);
    struct volume_config config = { 0 };
    int64_t least_gb = 1;
    bool found = false;
    int result = read_request(call->arena, &requested, err);

    if (result == 0)
        result = read_source(&api, call->arena, &requested, &least_gb, err);
    if (result == 0)
        result = size_of(&requested, least_gb, err);
    if (result == 0)
        result = config_find(&api, call->arena, &requested, &config, &found, err);
    if (result == 0)
        result = found ? check_found(call, &api, &requested, &config, err)
                       : make(call, &api, &requested, least_gb, &config, err);
    if (result == 0)
        result = check_unique(call, &api, &requested, &config, !found, err);
    if (result == 0)
        result = config_clone_finish(call, &api, &config, err);
    if (result == 0)
        result = config_limits_set(call, &api, &config, requested.limits, err);
    if (result != 0)
        return result;
    answer->volume = config_shown(call->arena, &config);
    answer->volume->content_source = requested.request->volume_content_source;
    return 0;
}
