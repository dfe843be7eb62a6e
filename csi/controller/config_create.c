/*
 * CreateVolume with a policy: a config is written down, and nothing waited for (P28).
 */
#include "csi/controller/configs.private.h"

#include "common/md5.h"
#include "json/json.h"

#include <string.h>

#define NAME_MOST    200
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-."

struct wanted {
    const Csi__V1__CreateVolumeRequest *request;
    const char *mark; /* its name */
    const char *name;
    struct config_class class;
    json_t *limits;
    const char *source;        /* "": none */
    struct config_clone clone; /* of a volume: .snapshot */
    int64_t size_gb;
};

/* ---- what is asked for ---- */

bool config_is_name(const char *text) {
    size_t length = strlen(text);

    return length > 0 && length <= NAME_MOST && strspn(text, NAME_LETTERS) == length &&
           !strchr("-.", text[0]) && !strchr("-.", text[length - 1]) && !strstr(text, "..") &&
           !strstr(text, ".-") && !strstr(text, "-.");
}

const char *config_name_of(struct arena *arena, const char *mark) {
    size_t length;
    const char *cluster, *name = controller_name_in(mark, &cluster, &length);
    char hex[MD5_HEX_SIZE];

    if (config_is_name(name))
        return name;
    md5_hex(mark, strlen(mark), hex);
    return arena_join(arena, "csi-", hex, NULL);
}

static int read_request(struct arena *arena, struct wanted *ret, struct error *err) {
    const Csi__V1__CreateVolumeRequest *request = ret->request;
    int result = controller_need(request->name, "name", err);

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

/* ---- its source ---- */

static int not_ready(const struct config_snapshot *snapshot, struct error *err) {
    if (strcmp(snapshot->status, "Failed") == 0)
        return grpc_refuse(err, GRPC_FAILED_PRECONDITION, "The snapshot %s has failed.",
                           snapshot->id);
    return grpc_refuse(err, GRPC_UNAVAILABLE, "The snapshot %s is %s.", snapshot->id,
                       snapshot->status);
}

static int read_snapshot(const struct client *api, struct arena *arena, const char *id,
                         struct wanted *wanted, int64_t *ret_gb, struct error *err) {
    struct config_snapshot snapshot;
    int result = config_is_snapshot_id(id)
                     ? controller_read(api, arena, &config_snapshot_kind, id, &snapshot, err)
                     : config_refuse_plain_snapshot(api, arena, id, err);

    if (result != 0)
        return result;
    if (strcmp(snapshot.status, "Ready") != 0)
        return not_ready(&snapshot, err);
    wanted->source = arena_join(arena, snapshot.volume, "@", snapshot.name, NULL);
    *ret_gb = snapshot.bytes / GIB + (snapshot.bytes % GIB > 0);
    return 0;
}

/* Of a volume only what its snapshot is called: it may have gone since, when this one is there. */
static int read_source(const struct client *api, struct arena *arena, struct wanted *wanted,
                       int64_t *ret_gb, struct error *err) {
    const Csi__V1__VolumeContentSource *source = wanted->request->volume_content_source;

    *ret_gb = 1;
    if (!source)
        return 0;
    if (source->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT)
        return read_snapshot(api, arena, source->snapshot->snapshot_id, wanted, ret_gb, err);
    if (source->type_case != CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "The content source is of no known kind.");
    wanted->clone.source_id = source->volume->volume_id;
    wanted->clone.csi_name = wanted->mark;
    return config_clone_name(api, arena, &wanted->clone, err);
}

static bool is_same_source(const struct wanted *wanted, const char *source) {
    const char *at = strchr(source, '@');

    if (!wanted->clone.snapshot)
        return strcmp(source, wanted->source) == 0;
    return at && strcmp(at + 1, wanted->clone.snapshot) == 0;
}

/* ---- the one that has the name ---- */

static int differs(const struct volume_config *config, const char *what, struct error *err) {
    return grpc_refuse(err, GRPC_ALREADY_EXISTS, "Volume %s has the name already, with another %s.",
                       config->id, what);
}

static int check_same(const struct wanted *wanted, const struct volume_config *config,
                      struct error *err) {
    const Csi__V1__CapacityRange *range = wanted->request->capacity_range;

    if (strcmp(config->csi_name, wanted->mark) != 0)
        return differs(config, "owner", err);
    if (range && (config->bytes < range->required_bytes ||
                  (range->limit_bytes > 0 && config->bytes > range->limit_bytes)))
        return differs(config, "size", err);
    if (strcmp(config->policy, wanted->class.policy) != 0)
        return differs(config, "policy", err);
    if (wanted->class.replicas > 0 && config->replicas != wanted->class.replicas)
        return differs(config, "number of replicas", err);
    return is_same_source(wanted, config->source) ? 0 : differs(config, "source", err);
}

/* One that is being deleted keeps the name until it has gone, and is helped to go. */
static int check_found(const struct grpc_call *call, const struct client *api,
                       const struct wanted *wanted, struct volume_config *config,
                       struct error *err) {
    return strcmp(config->status, "deleting") == 0 ? config_clone_finish(call, api, config, err)
                                                   : check_same(wanted, config, err);
}

/* ---- making it ---- */

static json_t *document_of(struct arena *arena, const struct wanted *wanted) {
    json_t *annotations = json_pack("{s:s}", NAME_ANNOTATION, wanted->mark);
    json_t *finalizers = wanted->clone.snapshot ? json_pack("[s]", CLONE_FINALIZER) : json_array();

    if (*wanted->class.policy)
        json_object_set_new(annotations, "openebs.io/volume-policy",
                            json_string(wanted->class.policy));
    return json_keep(arena,
                     json_pack("{s:{s:s, s:o, s:o}, s:{s:{s:s}, s:{s:I}, s:s*}}", "metadata",
                               "name", wanted->name, "annotations", annotations, "finalizers",
                               finalizers, "spec", "capacity", "storage",
                               arena_format(arena, "%jdGi", (intmax_t)wanted->size_gb), "provision",
                               "replicaCount", (json_int_t)wanted->class.count, "cstorVolumeSource",
                               *wanted->source ? wanted->source : NULL));
}

/* Another call may have made it, or this one before its answer was lost. */
static int send(const struct grpc_call *call, const struct client *api, const struct wanted *wanted,
                struct volume_config *ret, struct error *err) {
    struct arena *arena = call->arena;
    const json_t *made =
        document_send(api, arena, &config_documents, document_of(arena, wanted), err);
    struct error refusal = *err;

    if (made)
        return config_take(arena, made, ret, err);
    if (err->kind == ERROR_NOT_FOUND && wanted->clone.snapshot)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message); /* it is taken again */
    if (err->kind != ERROR_CONFLICT)
        return config_refused(err);
    made = document_fetch(api, arena, &config_documents, wanted->name, err);
    if (!made)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    return config_take(arena, made, ret, err) < 0 ? -1 : check_found(call, api, wanted, ret, err);
}

static int size_of(struct wanted *wanted, int64_t least_gb, struct error *err) {
    int result = controller_size(wanted->request->capacity_range, least_gb, &wanted->size_gb, err);

    if (result == 0 && wanted->size_gb > CONFIG_GIB_MOST)
        return grpc_refuse(err, GRPC_OUT_OF_RANGE,
                           "A volume that is made from a policy has at most %d GiB.",
                           CONFIG_GIB_MOST);
    return result;
}

static int make(const struct grpc_call *call, const struct client *api, struct wanted *wanted,
                int64_t least_gb, struct volume_config *ret, struct error *err) {
    int result = config_check_plain_name(api, call->arena, wanted->mark, err);

    if (result == 0)
        result = config_class_resolve(api, call->arena, &wanted->class, err);
    if (result != 0)
        return result;
    wanted->clone.replicas = wanted->class.count;
    if (wanted->clone.snapshot)
        result = config_clone_prepare(call, api, &wanted->clone, wanted->request->capacity_range,
                                      &wanted->source, &least_gb, err);
    if (result == 0)
        result = size_of(wanted, least_gb, err);
    if (result == 0)
        result = send(call, api, wanted, ret, err);
    return result != 0 && wanted->clone.snapshot
               ? config_clone_undo(api, call->arena, &wanted->clone, result, err)
               : result;
}

/* ---- the call ---- */

/* Nobody was told of it if another one has the name (config_plain.c); one that was there
 * before may be older than that. */
static int check_alone(const struct grpc_call *call, const struct client *api,
                       const struct wanted *wanted, const struct volume_config *config, bool is_new,
                       struct error *err) {
    int result = config_check_plain_name(api, call->arena, wanted->mark, err);
    struct error ignored;

    if (result == GRPC_ALREADY_EXISTS && is_new)
        config_remove(call, api, config->id, &ignored);
    return result;
}

static int find(const struct client *api, struct arena *arena, const struct wanted *wanted,
                struct volume_config *ret, bool *ret_found, struct error *err) {
    const json_t *there = document_fetch(api, arena, &config_documents, wanted->name, err);

    *ret_found = there != NULL;
    if (!there)
        return err->kind == ERROR_NOT_FOUND ? 0 : controller_unsure(-1, err);
    return config_take(arena, there, ret, err);
}

int config_create(struct grpc_call *call, const void *message, void *response, struct error *err) {
    Csi__V1__CreateVolumeResponse *answer = response;
    const Csi__V1__CreateVolumeRequest *request = message;
    struct wanted wanted = { .request = request,
                             .mark = controller_mark(call, request->name),
                             .source = "" };
    struct client api = csi_api(call);
    struct volume_config config = { 0 };
    int64_t least_gb = 1;
    bool found = false;
    int result = read_request(call->arena, &wanted, err);

    if (result == 0)
        result = read_source(&api, call->arena, &wanted, &least_gb, err);
    if (result == 0)
        result = size_of(&wanted, least_gb, err);
    if (result == 0)
        result = find(&api, call->arena, &wanted, &config, &found, err);
    if (result == 0)
        result = found ? check_found(call, &api, &wanted, &config, err)
                       : make(call, &api, &wanted, least_gb, &config, err);
    if (result == 0)
        result = check_alone(call, &api, &wanted, &config, !found, err);
    if (result == 0)
        result = config_clone_finish(call, &api, &config, err);
    if (result == 0)
        result = config_limits_set(call, &api, &config, wanted.limits, err);
    if (result != 0)
        return result;
    answer->volume = config_shown(call->arena, &config);
    answer->volume->content_source = wanted.request->volume_content_source;
    return 0;
}
