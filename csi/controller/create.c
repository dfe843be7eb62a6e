/*
 * CreateVolume: one volume for one name, whoever asks how often (controller.private.h).
 */
#include "csi/controller/controller.private.h"

#include "client/pools.h"
#include "common/cleanup.h"
#include "csi/topology.private.h"

#include <string.h>

struct wanted {
    const Csi__V1__CreateVolumeRequest *request;
    const char *mark; /* its name */
    struct arena *arena;
    struct remote_pair metadata[3]; /* the driver's own */
    struct remote_volume_new volume;
    struct places places;
    bool multi_node, type_is_mutable;
};

/* ---- what is asked for ---- */

static int read_parameter(struct wanted *wanted, const char *key, const char *value,
                          struct error *err) {
    static const char *const known[] = { "type", "availability", "cstorVolumePolicy" };

    if (controller_is_told(key))
        return 0;
    value = *value ? value : NULL;
    if (strcmp(key, "type") == 0)
        wanted->volume.type = value;
    else if (strcmp(key, "availability") == 0)
        wanted->volume.availability_zone = value;
    else
        return controller_unknown(key, "parameter", "", known, LENGTH(known), err);
    return 0;
}

static int read_parameters(struct wanted *wanted, struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = wanted->request;
    const char *type = NULL;
    int result = 0;

    for (size_t i = 0; i < request->n_parameters && result == 0; i++)
        result =
            read_parameter(wanted, request->parameters[i]->key, request->parameters[i]->value, err);
    if (result == 0)
        result = controller_read_mutable(wanted->arena, CONTROLLER_MUTABLE(request),
                                         wanted->metadata, &wanted->volume.metadata, &type, err);
    wanted->type_is_mutable = type != NULL;
    if (type)
        wanted->volume.type = type;
    return result;
}

static int read_source(struct wanted *wanted, struct error *err) {
    const Csi__V1__VolumeContentSource *source = wanted->request->volume_content_source;

    if (!source)
        return 0;
    if (source->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT) {
        wanted->volume.snapshot_id = source->snapshot->snapshot_id;
        return controller_need(wanted->volume.snapshot_id, "snapshot_id", err);
    }
    if (source->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME) {
        wanted->volume.source_volid = source->volume->volume_id;
        return controller_need(wanted->volume.source_volid, "volume_id of the source", err);
    }
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "The content source is of no known kind.");
}

/* Whether the type suits is known when there is a volume, and asked when a node needs it to. */
static int read_capabilities(struct wanted *wanted, struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = wanted->request;

    if (request->n_volume_capabilities == 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capabilities is missing.");
    for (size_t i = 0; i < request->n_volume_capabilities; i++) {
        int result = controller_check_capability(request->volume_capabilities[i], true, err);

        if (result != 0)
            return result;
        wanted->multi_node |= controller_is_multi_node(request->volume_capabilities[i]);
    }
    return 0;
}

static int read_request(const struct grpc_call *call, const Csi__V1__CreateVolumeRequest *request,
                        struct wanted *ret, struct error *err) {
    const char *mark = controller_mark(call, request->name);
    int64_t ignored;
    int result;

    *ret = (struct wanted){ .request = request,
                            .mark = mark,
                            .arena = call->arena,
                            .metadata = { { CSI_NAME_KEY, mark }, { CSI_UNTOLD_KEY, "yes" } },
                            .volume = { .name = request->name, .alone = CSI_NAME_KEY } };
    result = controller_need(request->name, "name", err);
    if (result == 0)
        result = read_capabilities(ret, err);
    if (result == 0)
        result = read_parameters(ret, err);
    if (result == 0)
        result = read_source(ret, err);
    return result != 0 ? result : controller_size(request->capacity_range, 1, &ignored, err);
}

/* ---- the one that has the name ---- */

static bool same(const char *left, const char *right) {
    return strcmp(left ? left : "", right ? right : "") == 0;
}

static int differs(const struct remote_volume *volume, const char *what, struct error *err) {
    return grpc_refuse(err, GRPC_ALREADY_EXISTS, "Volume %s has the name already, with another %s.",
                       volume->id, what);
}

static int check_type(const struct client *api, struct arena *arena, const struct wanted *wanted,
                      const struct remote_volume *volume, struct error *err) {
    struct remote_type type;

    if (!wanted->volume.type || wanted->type_is_mutable || same(wanted->volume.type, volume->type))
        return 0;
    if (types_find(api, arena, wanted->volume.type, &type, err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no volume type %s.",
                                 wanted->volume.type)
                   : controller_unsure(-1, err);
    return same(type.name, volume->type) ? 0 : differs(volume, "type", err);
}

static int check_same(const struct client *api, struct arena *arena, const struct wanted *wanted,
                      const struct remote_volume *volume, struct error *err) {
    const Csi__V1__CapacityRange *range = wanted->request->capacity_range;
    int64_t bytes = volume->size_gb * GIB;

    if (range &&
        (bytes < range->required_bytes || (range->limit_bytes > 0 && bytes > range->limit_bytes)))
        return differs(volume, "size", err);
    if (!same(wanted->volume.snapshot_id, volume->snapshot_id) ||
        !same(wanted->volume.source_volid, volume->source_volid))
        return differs(volume, "source", err);
    if (wanted->volume.availability_zone &&
        !same(wanted->volume.availability_zone, volume->availability_zone))
        return differs(volume, "availability zone", err);
    if (wanted->multi_node && !volume->multiattach)
        return differs(volume, "type, which several nodes cannot have", err);
    return check_type(api, arena, wanted, volume, err);
}

/* ---- making it ---- */

static int source_busy(const char *id, const char *status, struct error *err) {
    return grpc_refuse(err, strstr(status, "error") ? GRPC_FAILED_PRECONDITION : GRPC_UNAVAILABLE,
                       "The source %s is %s.", id, status);
}

static int size_of_source(const struct client *api, struct arena *arena,
                          const struct wanted *wanted, int64_t *ret_gb, struct error *err) {
    const struct remote_volume_new *volume = &wanted->volume;
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
        if (result != 0)
            return result;
        *ret_gb = source.size_gb;
        return strcmp(source.status, "available") == 0 || strcmp(source.status, "in-use") == 0
                   ? 0
                   : source_busy(source.id, source.status, err);
    }
    return 0;
}

/* A type that several nodes cannot have is found out before it is made. */
static int check_multi_node(const struct client *api, struct arena *arena,
                            const struct wanted *wanted, struct error *err) {
    const char *name = wanted->volume.type;
    struct remote_type type = { 0 };

    if (!wanted->multi_node)
        return 0;
    if (name && types_find(api, arena, name, &type, err) < 0 && err->kind != ERROR_NOT_FOUND)
        return -1;
    return type.multiattach ? 0
                            : grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                                          "Several nodes need a volume type that is multiattach.");
}

/* What a create is refused for is in its request, the type's name too. */
static int create_refused(struct error *err) {
    if (err->kind != ERROR_NOT_FOUND)
        return -1;
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s", err->message);
}

/* Makes it, and takes it back when another one is older. */
static int make(const struct grpc_call *call, const struct client *api, struct wanted *wanted,
                struct remote_volume *ret, struct error *err) {
    struct remote_volume mine;
    int64_t least_gb;
    bool is_mine = false;
    int result = size_of_source(api, call->arena, wanted, &least_gb, err);

    if (result == 0)
        result = controller_size(wanted->request->capacity_range, least_gb, &wanted->volume.size_gb,
                                 err);
    if (result == 0)
        result = check_multi_node(api, call->arena, wanted, err);
    /* What has a source is where that is. */
    if (result == 0 && !wanted->request->volume_content_source)
        result = places_choose(&wanted->places, call->arena,
                               wanted->request->accessibility_requirements, &wanted->volume, err);
    if (result != 0)
        return result;
    if (volumes_create(api, call->arena, &wanted->volume, &mine, err) < 0)
        return create_refused(err);
    result = controller_find_made(api, call->arena, &volume_kind, wanted->mark, mine.id, ret,
                                  &is_mine, err);
    if (result != 0 || is_mine)
        return result;
    result = controller_unsure(controller_delete(call, api, &volume_kind, mine.id, err), err);
    return result != 0 ? result : check_same(api, call->arena, wanted, ret, err);
}

static int make_alone(const struct grpc_call *call, const struct client *api, struct wanted *wanted,
                      struct remote_volume *ret, struct error *err) {
    int result = config_check_name(api, call->arena, wanted->mark, err);

    return result == 0 ? make(call, api, wanted, ret, err) : result;
}

/* When nobody has heard of it. */
static int drop_untold(const struct grpc_call *call, const struct client *api,
                       const struct remote_volume *volume, struct error *err) {
    return controller_is_untold(volume->metadata)
               ? controller_unsure(controller_delete(call, api, &volume_kind, volume->id, err), err)
               : 0;
}

/* It could not be made, or not there. */
static int throw_away(const struct grpc_call *call, const struct client *api,
                      const struct remote_volume *volume, struct error *err) {
    const char *id = volume->id;
    int result = drop_untold(call, api, volume, err);

    return result != 0 ? result
                       : grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED,
                                     "Volume %s could not be made where the type and the zone say; "
                                     "its messages and the service's log say why.",
                                     id);
}

/* From now on somebody has heard of it, unless one with a policy has the name. */
static int tell(const struct grpc_call *call, const struct client *api, const struct wanted *wanted,
                const struct remote_volume *volume, struct error *err) {
    int result = config_check_name(api, call->arena, wanted->mark, err);
    struct error refusal = *err;

    if (result == 0)
        return controller_unsure(controller_tell(api, call->arena, "volumes", volume->id, err),
                                 err);
    if (result != GRPC_ALREADY_EXISTS)
        return result;
    result = drop_untold(call, api, volume, err);
    return result != 0 ? result : grpc_refuse(err, GRPC_ALREADY_EXISTS, "%s", refusal.message);
}

static int ready(const struct grpc_call *call, const struct client *api,
                 const struct wanted *wanted, struct remote_volume *volume, struct error *err) {
    int result = controller_settle(call, api, &volume_kind, volume, err);

    if (result == GRPC_NOT_FOUND)
        return grpc_refuse(err, GRPC_ABORTED, "The volume of this name has just been deleted.");
    if (result != 0)
        return controller_unsure(result, err);
    if (strcmp(volume->status, "error") == 0)
        return throw_away(call, api, volume, err);
    if (strcmp(volume->status, "error_deleting") == 0)
        return grpc_refuse(err, GRPC_ABORTED, "Volume %s has the name and could not be deleted.",
                           volume->id);
    if (!places_suit(&wanted->places, wanted->request->accessibility_requirements, volume))
        return controller_is_untold(volume->metadata) ? throw_away(call, api, volume, err)
                                                      : differs(volume, "topology", err);
    return controller_is_untold(volume->metadata) ? tell(call, api, wanted, volume, err) : 0;
}

int controller_create_volume(struct grpc_call *call, const void *message, void *response,
                             struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = message;
    Csi__V1__CreateVolumeResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_volume volume;
    struct wanted wanted;
    int result = read_request(call, request, &wanted, err);

    if (result == 0)
        result = controller_unsure(places_read(call, &api, wanted.volume.type, &wanted.places, err),
                                   err);
    if (result != 0)
        return result;
    result = controller_find(&api, call->arena, &volume_kind, wanted.mark, &volume, err);
    if (result == 0)
        result = make_alone(call, &api, &wanted, &volume, err);
    else if (result == FOUND)
        result = strcmp(volume.status, "deleting") == 0
                     ? 0
                     : check_same(&api, call->arena, &wanted, &volume, err);
    if (result == 0)
        result = ready(call, &api, &wanted, &volume, err);
    if (result != 0)
        return result;
    answer->volume = controller_volume(call->arena, &volume);
    places_tell(&wanted.places, call->arena, &volume, answer->volume);
    return 0;
}
