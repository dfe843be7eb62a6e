/*
 * CreateVolume: one volume for a name, also with repeated and concurrent calls
 * (controller.private.h).
 */
#include "csi/controller/controller.private.h"

#include "client/pools.h"
#include "common/cleanup.h"
#include "csi/topology.private.h"

#include <string.h>

struct requested {
    const Csi__V1__CreateVolumeRequest *request;
    const char *mark; /* of its name */
    struct arena *arena;
    struct remote_pair metadata[3]; /* set by the driver */
    struct remote_volume_new volume;
    struct topology_pools pools;
    bool multi_node, type_is_mutable;
};

/* ---- the request ---- */

static int read_parameter(struct requested *requested, const char *key, const char *value,
                          struct error *err) {
    static const char *const known[] = { "type", "availability", "cstorVolumePolicy" };

    if (controller_is_informational(key))
        return 0;
    value = *value ? value : NULL;
    if (strcmp(key, "type") == 0)
        requested->volume.type = value;
    else if (strcmp(key, "availability") == 0)
        requested->volume.availability_zone = value;
    else
        return controller_unknown(key, "parameter", "", known, LENGTH(known), err);
    return 0;
}

static int read_parameters(struct requested *requested, struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = requested->request;
    const char *type = NULL;
    int result = 0;

    for (size_t i = 0; i < request->n_parameters && result == 0; i++)
        result = read_parameter(requested, request->parameters[i]->key,
                                request->parameters[i]->value, err);
    if (result == 0)
        result =
            controller_read_mutable(requested->arena, CONTROLLER_MUTABLE(request),
                                    requested->metadata, &requested->volume.metadata, &type, err);
    requested->type_is_mutable = type != NULL;
    if (type)
        requested->volume.type = type;
    return result;
}

static int read_source(struct requested *requested, struct error *err) {
    const Csi__V1__VolumeContentSource *source = requested->request->volume_content_source;

    if (!source)
        return 0;
    if (source->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT) {
        requested->volume.snapshot_id = source->snapshot->snapshot_id;
        return controller_require(requested->volume.snapshot_id, "snapshot_id", err);
    }
    if (source->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME) {
        requested->volume.source_volid = source->volume->volume_id;
        return controller_require(requested->volume.source_volid, "volume_id of the source", err);
    }
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "The kind of the content source is unknown.");
}

/* The type of the volume is checked once it exists, and when a node needs multiattach. */
static int read_capabilities(struct requested *requested, struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = requested->request;

    if (request->n_volume_capabilities == 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capabilities is missing.");
    for (size_t i = 0; i < request->n_volume_capabilities; i++) {
        int result = controller_check_capability(request->volume_capabilities[i], true, err);

        if (result != 0)
            return result;
        requested->multi_node |= controller_is_multi_node(request->volume_capabilities[i]);
    }
    return 0;
}

static int read_request(const struct grpc_call *call, const Csi__V1__CreateVolumeRequest *request,
                        struct requested *ret, struct error *err) {
    const char *mark = controller_mark(call, request->name);
    int64_t ignored;
    int result;

    *ret =
        (struct requested){ .request = request,
                            .mark = mark,
                            .arena = call->arena,
                            .metadata = { { CSI_NAME_KEY, mark }, { CSI_UNREPORTED_KEY, "yes" } },
                            .volume = { .name = request->name, .unique = CSI_NAME_KEY } };
    result = controller_require(request->name, "name", err);
    if (result == 0)
        result = read_capabilities(ret, err);
    if (result == 0)
        result = read_parameters(ret, err);
    if (result == 0)
        result = read_source(ret, err);
    return result != 0 ? result : controller_size(request->capacity_range, 1, &ignored, err);
}

/* ---- an existing volume ---- */

static bool same(const char *left, const char *right) {
    return strcmp(left ? left : "", right ? right : "") == 0;
}

static int differs(const struct remote_volume *volume, const char *what, struct error *err) {
    return grpc_refuse(err, GRPC_ALREADY_EXISTS, "Volume %s already has the name, with another %s.",
                       volume->id, what);
}

static int check_same(const struct client *api, struct arena *arena,
                      const struct requested *requested, const struct remote_volume *volume,
                      struct error *err) {
    const Csi__V1__CapacityRange *range = requested->request->capacity_range;
    int64_t bytes = volume->size_gb * GIB;
    struct remote_type type;

    if (range &&
        (bytes < range->required_bytes || (range->limit_bytes > 0 && bytes > range->limit_bytes)))
        return differs(volume, "size", err);
    if (!same(requested->volume.snapshot_id, volume->snapshot_id) ||
        !same(requested->volume.source_volid, volume->source_volid))
        return differs(volume, "source", err);
    if (requested->volume.availability_zone &&
        !same(requested->volume.availability_zone, volume->availability_zone))
        return differs(volume, "availability zone", err);
    if (requested->multi_node && !volume->multiattach)
        return differs(volume, "type, which is not multiattach", err);
    if (!requested->volume.type || requested->type_is_mutable ||
        same(requested->volume.type, volume->type))
        return 0;
    if (types_find(api, arena, requested->volume.type, &type, err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no volume type %s.",
                                 requested->volume.type)
                   : controller_outcome_unknown(-1, err);
    return same(type.name, volume->type) ? 0 : differs(volume, "type", err);
}

/* ---- creation ---- */

static int source_busy(const char *id, const char *status, struct error *err) {
    return grpc_refuse(err, strstr(status, "error") ? GRPC_FAILED_PRECONDITION : GRPC_UNAVAILABLE,
                       "The source %s is %s.", id, status);
}

static int size_of_source(const struct grpc_call *call, const struct client *api,
                          const struct requested *requested, int64_t *ret_gb, struct error *err) {
    const struct remote_volume_new *volume = &requested->volume;
    struct arena *arena = call->arena;
    struct remote_snapshot snapshot;
    struct remote_volume source;
    int result;

    *ret_gb = 1;
    result = config_check_source(api, arena, volume->source_volid, volume->snapshot_id, err);
    if (result != 0)
        return result;
    if (volume->snapshot_id) {
        result = controller_read(api, arena, &snapshot_kind, volume->snapshot_id, &snapshot, err);
        if (result != 0)
            return result;
        *ret_gb = snapshot.size_gb;
        return strcmp(snapshot.status, "available") == 0
                   ? 0
                   : source_busy(snapshot.id, snapshot.status, err);
    }
    if (volume->source_volid) {
        result = controller_read(api, arena, &volume_kind, volume->source_volid, &source, err);
        if (result == 0)
            result = controller_reset_extend(call, api, &source, err);
        if (result != 0)
            return result;
        *ret_gb = source.size_gb;
        return strcmp(source.status, "available") == 0 || strcmp(source.status, "in-use") == 0
                   ? 0
                   : source_busy(source.id, source.status, err);
    }
    return 0;
}

/* A type without multiattach is refused before the creation. */
static int check_multi_node(const struct client *api, struct arena *arena,
                            const struct requested *requested, struct error *err) {
    const char *name = requested->volume.type;
    struct remote_type type = { 0 };

    if (!requested->multi_node)
        return 0;
    if (name && types_find(api, arena, name, &type, err) < 0 && err->kind != ERROR_NOT_FOUND)
        return -1;
    return type.multiattach ? 0
                            : grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                                          "Several nodes need a volume type that is multiattach.");
}

/* Creates it, and deletes it again when there is an older one. */
static int make(const struct grpc_call *call, const struct client *api, struct requested *requested,
                struct remote_volume *ret, struct error *err) {
    struct remote_volume mine;
    int64_t least_gb;
    bool is_mine = false;
    int result = size_of_source(call, api, requested, &least_gb, err);

    if (result == 0)
        result = controller_size(requested->request->capacity_range, least_gb,
                                 &requested->volume.size_gb, err);
    if (result == 0)
        result = check_multi_node(api, call->arena, requested, err);
    /* A volume with a source is placed with that. */
    if (result == 0 && !requested->request->volume_content_source)
        result = topology_pools_choose(&requested->pools, call->arena,
                                       requested->request->accessibility_requirements,
                                       &requested->volume, err);
    if (result != 0)
        return result;
    if (volumes_create(api, call->arena, &requested->volume, &mine, err) < 0) {
        /* The cause of a refused create is in its request, also an unknown type. */
        if (err->kind != ERROR_NOT_FOUND)
            return -1;
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s", err->message);
    }
    result = controller_find_made(api, call->arena, &volume_kind, requested->mark, mine.id, ret,
                                  &is_mine, err);
    if (result != 0 || is_mine)
        return result;
    result =
        controller_outcome_unknown(controller_delete(call, api, &volume_kind, mine.id, err), err);
    return result != 0 ? result : check_same(api, call->arena, requested, ret, err);
}

/* Marks it as reported, unless a config has the name. */
static int mark_reported(const struct grpc_call *call, const struct client *api,
                         const struct requested *requested, const struct remote_volume *volume,
                         struct error *err) {
    int result = config_check_name(api, call->arena, requested->mark, err);
    struct error refusal = *err;

    if (result == 0)
        return controller_outcome_unknown(
            controller_mark_reported(api, call->arena, &volume_kind, volume->id, err), err);
    if (result != GRPC_ALREADY_EXISTS)
        return result;
    result = controller_drop_unreported(call, api, &volume_kind, volume, err);
    return result != 0 ? result : grpc_refuse(err, GRPC_ALREADY_EXISTS, "%s", refusal.message);
}

static int ready(const struct grpc_call *call, const struct client *api,
                 const struct requested *requested, struct remote_volume *volume,
                 struct error *err) {
    int result = controller_wait_created(call, api, &volume_kind, volume, err);

    if (result != 0)
        return result;
    if (!topology_pools_match(&requested->pools, requested->request->accessibility_requirements,
                              volume))
        return controller_is_unreported(volume->metadata)
                   ? controller_discard_failed(call, api, &volume_kind, volume, err)
                   : differs(volume, "topology", err);
    return controller_is_unreported(volume->metadata)
               ? mark_reported(call, api, requested, volume, err)
               : 0;
}

static int create(struct grpc_call *call, const struct client *api,
                  const Csi__V1__CreateVolumeRequest *request,
                  Csi__V1__CreateVolumeResponse *answer, struct error *err) {
    struct remote_volume volume;
    struct requested requested;
    int result = read_request(call, request, &requested, err);

    if (result == 0)
        result = controller_outcome_unknown(
            topology_pools_read(call, api, requested.volume.type, &requested.pools, err), err);
    if (result != 0)
        return result;
    result = controller_find(api, call->arena, &volume_kind, requested.mark, &volume, err);
    if (result == 0) {
        result = config_check_name(api, call->arena, requested.mark, err);
        if (result == 0)
            result = make(call, api, &requested, &volume, err);
    } else if (result == FOUND) {
        result = strcmp(volume.status, "deleting") == 0
                     ? 0
                     : check_same(api, call->arena, &requested, &volume, err);
    }
    if (result == 0)
        result = ready(call, api, &requested, &volume, err);
    if (result != 0)
        return result;
    answer->volume = controller_volume(call->arena, &volume);
    topology_pools_describe(&requested.pools, call->arena, &volume, answer->volume);
    return 0;
}

int controller_create_volume(struct grpc_call *call, const void *message, void *response,
                             struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = message;
    struct client api = csi_api(call);
    int result = create(call, &api, request, response, err);

    return *request->name ? controller_created(call, &api, &volume_kind,
                                               controller_mark(call, request->name), result, err)
                          : result;
}
