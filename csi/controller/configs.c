#include "csi/controller/configs.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/md5.h"
#include "json/json.h"

#include <string.h>

#define POLICY_ANNOTATION "openebs.io/volume-policy"
#define NAME_MOST         200
#define NAME_LETTERS      "abcdefghijklmnopqrstuvwxyz0123456789-."

const struct remote_documents config_documents = { .collection = "volume_configs",
                                                   .word = "volume_config" };

bool config_is_id(const char *id) {
    return strncmp(id, CONFIG_PREFIX, strlen(CONFIG_PREFIX)) == 0;
}

bool config_is_snapshot_id(const char *id) {
    return strncmp(id, SNAPSHOT_PREFIX, strlen(SNAPSHOT_PREFIX)) == 0;
}

/* ---- names ---- */

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

/* ---- rows ---- */

const char *config_text_of(const json_t *object, const char *key) {
    const char *text = json_text_of(object, key);

    return text ? text : "";
}

static const char *condition_fault(const json_t *condition) {
    static const struct {
        const char *type, *status, *fault;
    } faults[] = {
        { "Moving", "False", "Its node does not respond, and no other node can take it over yet." },
        { "Stopping", "False", "Its previous node has not released it yet." },
        { "Available", "Unknown", "Its availability is unknown." },
        { "VolumeResizeFailed", "True", "It could not be resized; this is retried." },
    };

    for (size_t i = 0; i < LENGTH(faults); i++)
        if (strcmp(config_text_of(condition, "type"), faults[i].type) == 0 &&
            strcmp(config_text_of(condition, "status"), faults[i].status) == 0)
            return faults[i].fault;
    return NULL;
}

const char *config_fault_in(const json_t *conditions) {
    const char *fault = NULL;

    for (size_t i = 0; i < json_array_size(conditions) && !fault; i++)
        fault = condition_fault(json_array_get(conditions, i));
    return fault;
}

int config_decode(struct arena *arena, const json_t *document, struct volume_config *ret,
                  struct error *err) {
    const json_t *metadata = json_object_get(document, "metadata");
    const json_t *spec = json_object_get(document, "spec");
    const json_t *status = json_object_get(document, "status");
    const json_t *annotations = json_object_get(metadata, "annotations");
    const json_t *finalizers = json_object_get(metadata, "finalizers");
    char uid[UUID_SIZE];

    if (!uuid_parse(config_text_of(metadata, "uid"), uid))
        return error_set(err, ERROR_BACKEND, "The volume API returned a config without uid.");
    *ret = (struct volume_config){
        .id = arena_join(arena, CONFIG_PREFIX, uid, NULL),
        .status = json_text_of(metadata, "deletionTimestamp") ? "deleting"
                                                              : config_text_of(status, "phase"),
        .uid = arena_text(arena, uid),
        .name = config_text_of(metadata, "name"),
        .version = config_text_of(metadata, "resourceVersion"),
        .csi_name = config_text_of(annotations, NAME_ANNOTATION),
        .policy = config_text_of(annotations, POLICY_ANNOTATION),
        .source = config_text_of(spec, "cstorVolumeSource"),
        .node = config_text_of(json_object_get(document, "publish"), "nodeId"),
        .bytes = json_bytes_at(spec, "capacity.storage"),
        .has_bytes = json_bytes_at(status, "capacity.storage"),
        .replicas = json_int_at(spec, "provision.replicaCount"),
        .block_size = json_int_at(spec, "policy.provision.blockSize"),
        .progress = json_object_get(status, "progress"),
        .trouble = config_fault_in(json_object_get(status, "conditions")),
        .has_policy = json_at(spec, "policy") != NULL,
        .finalizers = finalizers,
        .reclaim = json_object_get(status, "reclaim"),
        .is_clone = json_list_has(finalizers, CLONE_FINALIZER),
        .keeps_source = json_text_of(json_object_get(metadata, "labels"), SOURCE_LABEL) != NULL,
    };
    return 0;
}

static int none(const char *id, struct error *err) {
    return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume %.64s.", id);
}

int config_read(const struct client *api, struct arena *arena, const char *id,
                struct volume_config *ret, struct error *err) {
    char uid[UUID_SIZE];
    const json_t *document;

    if (!config_is_id(id) || !uuid_parse(id + strlen(CONFIG_PREFIX), uid))
        return none(id, err);
    document = document_fetch(api, arena, &config_documents, uid, err);
    if (!document)
        return err->kind == ERROR_NOT_FOUND ? none(id, err) : -1;
    return config_decode(arena, document, ret, err);
}

int config_read_volume(const struct client *api, struct arena *arena,
                       const struct volume_config *config, struct config_volume *ret,
                       struct error *err) {
    const json_t *document = document_fetch_below(api, arena, &config_documents, config->uid,
                                                  "volume", "replicated_volume", err);
    const json_t *metadata = json_object_get(document, "metadata");
    const json_t *spec = json_object_get(document, "spec");
    const json_t *status = json_object_get(document, "status");
    const json_t *target = json_object_get(status, "target");
    bool observed =
        json_int_at(status, "observedGeneration") >= json_int_at(metadata, "generation");

    *ret = (struct config_volume){ .released = true, .phase = "", .node = "" };
    if (!document)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    *ret = (struct config_volume){
        .there = true,
        .uid = config_text_of(metadata, "uid"),
        .phase = config_text_of(status, "phase"),
        .node = config_text_of(spec, "nodeId"),
    };
    ret->serves = observed && *ret->node &&
                  strcmp(config_text_of(target, "nodeId"), ret->node) == 0 &&
                  strcmp(config_text_of(target, "state"), "Serving") == 0 &&
                  strcmp(config_text_of(spec, "export"), "file") == 0;
    /* A node that never claimed the volume reports no release, and without an assignment there is
     * no node to report. */
    ret->released = !*ret->node && !target &&
                    (observed || json_int_at(spec, "epoch") == 0 ||
                     json_int_at(status, "claimedEpoch") < json_int_at(spec, "epoch"));
    return 0;
}

int config_refused(struct error *err) {
    if (err->kind == ERROR_CONFLICT)
        return grpc_refuse(err, GRPC_ABORTED, "%s", err->message);
    if (err->kind == ERROR_BAD_REQUEST)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s", err->message);
    if (err->kind == ERROR_OVER_QUOTA)
        return grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED, "%s", err->message);
    return -1;
}

int config_change(const struct client *api, struct arena *arena, struct volume_config *config,
                  json_t *patch, struct error *err) {
    const json_t *document;

    json_keep(arena, patch);
    document = document_change(api, arena, &config_documents, config->uid, patch, err);
    if (!document)
        return err->kind == ERROR_NOT_FOUND ? none(config->id, err) : config_refused(err);
    return config_decode(arena, document, config, err);
}

int config_publish_on(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, const char *node_id, struct error *err) {
    json_t *publish = *node_id ? json_pack("{s:s, s:s}", "nodeId", node_id, "export", "file")
                               : json_pack("{s:s, s:n}", "nodeId", node_id, "export");
    struct poll_wait wait = poll_wait_of(call);
    const char *had = config->node;
    int result;

    json_keep(call->arena, publish);
    do {
        result = config_change(api, call->arena, config,
                               json_pack("{s:{s:s}, s:O}", "metadata", "resourceVersion",
                                         config->version, "publish", publish),
                               err);
        if (result != GRPC_ABORTED)
            return result;
        result = config_read(api, call->arena, config->id, config, err);
        if (result != 0)
            return result;
    } while (strcmp(config->node, had) == 0 && poll_again(call, &wait));
    return grpc_refuse(err, GRPC_ABORTED, "Volume %s is being modified concurrently; try again.",
                       config->id);
}

/* ---- descriptions ---- */

Csi__V1__Volume *config_shown(struct arena *arena, const struct volume_config *config) {
    Csi__V1__Volume *shown = CSI_NEW(arena, Csi__V1__Volume, csi__v1__volume);

    shown->volume_id = arena_text(arena, config->id);
    shown->capacity_bytes = config->has_bytes > 0 ? config->has_bytes : config->bytes;
    return shown;
}

int config_check_capabilities(Csi__V1__VolumeCapability *const *capabilities, size_t count,
                              struct error *err) {
    int result =
        count > 0 ? 0 : grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capabilities is missing.");

    for (size_t i = 0; i < count && result == 0; i++) {
        result = controller_check_capability(capabilities[i], true, err);
        if (result == 0 && controller_is_multi_node(capabilities[i]))
            result = grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                                 "A volume with a policy can be published on one node at a time.");
    }
    return result;
}

/* ---- the kind ---- */

static int read_one(const struct client *api, struct arena *arena, const char *id, void *ret,
                    struct error *err) {
    return config_read(api, arena, id, ret, err);
}

/* An API without configs has an empty list. */
static int read_page(const struct client *api, struct arena *arena, const char *query,
                     const char *marker, unsigned limit, void **ret, struct error *err) {
    const char *after = marker && config_is_id(marker) ? marker + strlen(CONFIG_PREFIX) : "";
    const struct client_call call = {
        .method = "GET",
        .path = client_page(arena, "/volume_configs", query ? query : "sort=id:asc",
                            *after ? after : NULL, limit),
        .may_lack = true,
    };
    const json_t *list = client_ask_list(api, arena, &call, "volume_configs", err), *one;
    size_t count = json_array_size(list), i;
    struct volume_config *rows = arena_alloc(arena, (count + 1) * sizeof(*rows));

    *ret = rows;
    if (!list)
        return err->kind == ERROR_NOT_FOUND && !*after ? 0 : -1;
    json_array_foreach(list, i, one) {
        if (config_decode(arena, one, &rows[i], err) < 0)
            return -1;
    }
    return (int)count;
}

const struct controller_kind config_kind = {
    .label = "volume",
    .row_size = sizeof(struct volume_config),
    .read = read_one,
    .page = read_page,
};
