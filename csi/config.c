#include "csi/config.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "json/json.h"

#include <string.h>

#define POLICY_ANNOTATION "openebs.io/volume-policy"

const struct remote_documents config_documents = { .collection = "volume_configs",
                                                   .word = "volume_config" };

bool config_is_id(const char *id) {
    return strncmp(id, CONFIG_PREFIX, strlen(CONFIG_PREFIX)) == 0;
}

const char *config_text_of(const json_t *object, const char *key) {
    const char *text = json_text_of(object, key);

    return text ? text : "";
}

/* Of several faults the one that comes first here. */
static const char *fault_in(const json_t *conditions, bool is_published) {
    static const struct {
        const char *type, *status, *unless; /* a reason for which it is none */
        bool published;                     /* it is one of a published volume alone */
        const char *fault;
    } faults[] = {
        { "Moving", "False", "", false,
          "Its node does not respond, and no other node can take it over yet." },
        { "Stopping", "False", "", false, "Its previous node has not released it yet." },
        { "Available", "Unknown", "", false, "Its availability is unknown." },
        { "VolumeResizeFailed", "True", "", false, "It could not be resized; this is retried." },
        { "Available", "False", "Starting", true,
          "It is not served: it cannot be read or written." },
        { "Redundant", "False", "SingleReplica", true,
          "Some of its replicas are missing, or are being rebuilt." },
    };

    for (size_t i = 0; i < LENGTH(faults); i++) {
        for (size_t j = 0; j < json_array_size(conditions); j++) {
            const json_t *condition = json_array_get(conditions, j);

            if (strcmp(config_text_of(condition, "type"), faults[i].type) == 0 &&
                strcmp(config_text_of(condition, "status"), faults[i].status) == 0 &&
                strcmp(config_text_of(condition, "reason"), faults[i].unless) != 0 &&
                (is_published || !faults[i].published))
                return faults[i].fault;
        }
    }
    return NULL;
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
        .has_policy = json_at(spec, "policy") != NULL,
        .finalizers = finalizers,
        .reclaim = json_object_get(status, "reclaim"),
        .is_clone = json_list_has(finalizers, CLONE_FINALIZER),
        .keeps_source = json_text_of(json_object_get(metadata, "labels"), SOURCE_LABEL) != NULL,
    };
    ret->fault = fault_in(json_object_get(status, "conditions"), *ret->node != '\0');
    return 0;
}

int config_none(const char *id, struct error *err) {
    return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume %.64s.", id);
}

int config_read(const struct client *api, struct arena *arena, const char *id,
                struct volume_config *ret, struct error *err) {
    char uid[UUID_SIZE];
    const json_t *document;

    if (!config_is_id(id) || !uuid_parse(id + strlen(CONFIG_PREFIX), uid))
        return config_none(id, err);
    document = document_fetch(api, arena, &config_documents, uid, err);
    if (!document)
        return err->kind == ERROR_NOT_FOUND ? config_none(id, err) : -1;
    return config_decode(arena, document, ret, err);
}

/* NULL: there is none. */
static void decode_volume(const json_t *document, struct config_volume *ret) {
    const json_t *metadata = json_object_get(document, "metadata");
    const json_t *spec = json_object_get(document, "spec");
    const json_t *status = json_object_get(document, "status");
    const json_t *target = json_object_get(status, "target");
    bool observed =
        json_int_at(status, "observedGeneration") >= json_int_at(metadata, "generation");

    *ret = (struct config_volume){ .released = true, .node = "" };
    if (!document)
        return;
    *ret = (struct config_volume){
        .uid = config_text_of(metadata, "uid"),
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
}

int config_read_volume(const struct client *api, struct arena *arena,
                       const struct volume_config *config, struct config_volume *ret,
                       struct error *err) {
    const json_t *document = document_fetch_below(api, arena, &config_documents, config->uid,
                                                  "volume", "replicated_volume", err);

    decode_volume(document, ret);
    return document || err->kind == ERROR_NOT_FOUND ? 0 : -1;
}
