/*
 * A volume with a policy in use: on one node at a time, as a file; its size, and its I/O limits.
 */
#include "csi/controller/configs.private.h"

#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- publish ---- */

/* The node has the volume from this change on.  Two concurrent calls may both exceed the limit of a
 * node: each checks again after its change.  Both may then undo it, and are repeated. */
static int claim_node(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, const char *node_id, struct error *err) {
    struct error ignored;
    int result;

    if (strcmp(config->status, "deleting") == 0)
        return grpc_refuse(err, GRPC_NOT_FOUND, "Volume %s is being deleted.", config->id);
    if (*config->node && strcmp(config->node, node_id) != 0)
        return grpc_refuse(err, GRPC_FAILED_PRECONDITION,
                           "Volume %s is already published on node %s.", config->id, config->node);
    if (*config->node)
        return 0;
    result = controller_check_volume_limit(call, api, node_id, config->id, err);
    if (result == 0)
        result = config_publish_on(call, api, config, node_id, err);
    if (result != 0)
        return result;
    result = controller_check_volume_limit(call, api, node_id, config->id, err);
    if (result == GRPC_RESOURCE_EXHAUSTED)
        config_publish_on(call, api, config, "", &ignored);
    return result;
}

/* P40: reports a retryable error if it is not served yet. */
static int await_served(const struct grpc_call *call, const struct client *api,
                        struct volume_config *config, const char *node_id,
                        struct config_volume *ret, struct error *err) {
    struct poll_wait wait = poll_wait_of(call);

    for (;;) {
        int result = config_read_volume(api, call->arena, config, ret, err);

        if (result != 0)
            return result;
        if (ret->serves && strcmp(ret->node, node_id) == 0)
            return 0;
        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_UNAVAILABLE,
                               "Volume %s is %s and not served on node %s yet%s%s", config->id,
                               config->status, config->node, config->fault ? ": " : ".",
                               config->fault ? config->fault : "");
        result = config_read(api, call->arena, config->id, config, err);
        if (result != 0)
            return result;
        if (strcmp(config->node, node_id) != 0)
            return grpc_refuse(err, GRPC_ABORTED, "Volume %s is being unpublished.", config->id);
    }
}

int config_publish(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__ControllerPublishVolumeRequest *request = message;
    Csi__V1__ControllerPublishVolumeResponse *answer = response;
    struct client api = csi_api(call);
    struct config_volume volume;
    struct volume_config config;
    int result = controller_require(request->node_id, "node_id", err);

    if (result == 0 && !request->volume_capability)
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capability is missing.");
    if (result == 0)
        result = config_check_capabilities(&request->volume_capability, 1, err);
    if (result == 0)
        result = controller_check_node(call, request->node_id, err);
    if (result == 0)
        result = config_read(&api, call->arena, request->volume_id, &config, err);
    if (result == 0)
        result = claim_node(call, &api, &config, request->node_id, err);
    if (result == 0)
        result = await_served(call, &api, &config, request->node_id, &volume, err);
    if (result != 0)
        return result;
    answer->publish_context = arena_alloc(call->arena, 5 * sizeof(*answer->publish_context));
    controller_put_context(call->arena, answer, "driver_volume_type", "replicated");
    controller_put_context(call->arena, answer, "format", "raw");
    controller_put_context(call->arena, answer, "target", volume.uid);
    controller_put_context(call->arena, answer, "block_size",
                           arena_format(call->arena, "%jd", (intmax_t)config.block_size));
    controller_put_context(call->arena, answer, "access_mode", request->readonly ? "ro" : "rw");
    return 0;
}

/* ---- unpublish ---- */

static int await_released(const struct grpc_call *call, const struct client *api,
                          const struct volume_config *config, const char *node_id,
                          struct error *err) {
    struct poll_wait wait = poll_wait_of(call);
    struct config_volume volume;

    for (;;) {
        if (config_read_volume(api, call->arena, config, &volume, err) < 0)
            return -1;
        if (volume.released || (*volume.node && strcmp(volume.node, node_id) != 0))
            return 0;
        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "Node %s has not released volume %s yet.",
                               node_id, config->id);
    }
}

int config_unpublish(struct grpc_call *call, const void *message, void *response,
                     struct error *err) {
    const Csi__V1__ControllerUnpublishVolumeRequest *request = message;
    struct client api = csi_api(call);
    struct volume_config config;
    const char *node_id;
    int result = config_read(&api, call->arena, request->volume_id, &config, err);

    (void)response;
    if (result != 0)
        return result == GRPC_NOT_FOUND ? 0 : result;
    node_id = *request->node_id ? request->node_id : config.node;
    if (*config.node && strcmp(config.node, node_id) == 0)
        result = config_publish_on(call, &api, &config, "", err);
    if (result != 0)
        return result == GRPC_NOT_FOUND ? 0 : result;
    return *config.node ? 0 : await_released(call, &api, &config, node_id, err);
}

/* ---- expand ---- */

/* P60: a volume that is not served has its new size immediately. */
static int await_size(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, struct error *err) {
    struct poll_wait wait = poll_wait_of(call);

    while (config->has_bytes < config->bytes) {
        int result;

        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "Volume %s is still being resized%s%s",
                               config->id, config->fault ? ": " : ".",
                               config->fault ? config->fault : "");
        result = config_read(api, call->arena, config->id, config, err);
        if (result != 0)
            return result;
    }
    return 0;
}

int config_expand(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__ControllerExpandVolumeRequest *request = message;
    Csi__V1__ControllerExpandVolumeResponse *answer = response;
    struct client api = csi_api(call);
    struct volume_config config = { 0 };
    int64_t gb = 0;
    int result = controller_check_expand(request, &gb, err);

    if (result == 0)
        result = config_read(&api, call->arena, request->volume_id, &config, err);
    if (result == 0 && request->capacity_range->limit_bytes > 0 &&
        config.bytes > request->capacity_range->limit_bytes)
        result = grpc_refuse(err, GRPC_OUT_OF_RANGE, "Volume %s has %jd bytes and does not shrink.",
                             config.id, (intmax_t)config.bytes);
    if (result == 0 && config.bytes < gb * GIB) {
        result = config_change(&api, call->arena, &config,
                               json_pack("{s:{s:{s:s}}}", "spec", "capacity", "storage",
                                         arena_format(call->arena, "%jdGi", (intmax_t)gb)),
                               err);
        if (result == GRPC_INVALID_ARGUMENT)
            result = grpc_refuse(err, GRPC_OUT_OF_RANGE, "%s", err->message);
    }
    if (result == 0)
        result = await_size(call, &api, &config, err);
    if (result != 0)
        return result;
    answer->capacity_bytes = config.has_bytes;
    answer->node_expansion_required = true;
    return 0;
}

/* ---- validate ---- */

static int check_parameters(struct arena *arena,
                            const Csi__V1__ValidateVolumeCapabilitiesRequest *request,
                            const struct volume_config *config, struct error *err) {
    json_t *ignored;

    for (size_t i = 0; i < request->n_parameters; i++) {
        const char *key = request->parameters[i]->key, *value = request->parameters[i]->value;
        bool fits =
            controller_is_informational(key) ||
            (strcmp(key, POLICY_KEY) == 0 && strcmp(value, config->policy) == 0) ||
            (strcmp(key, "replicaCount") == 0 && strtoll(value, NULL, 10) == config->replicas);

        if (!fits)
            return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                               "Volume %s was not created with %.64s %.64s.", config->id, key,
                               value);
    }
    return controller_check_context(request, err) != 0
               ? GRPC_INVALID_ARGUMENT
               : config_limits_read(arena, CONTROLLER_MUTABLE(request), &ignored, err);
}

int config_validate(struct grpc_call *call, const void *message, void *response,
                    struct error *err) {
    const Csi__V1__ValidateVolumeCapabilitiesRequest *request = message;
    Csi__V1__ValidateVolumeCapabilitiesResponse *answer = response;
    struct client api = csi_api(call);
    struct volume_config config;
    struct error why = { 0 };
    int result = config_read(&api, call->arena, request->volume_id, &config, err);

    if (result != 0)
        return result;
    if (request->n_volume_capabilities == 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capabilities is missing.");
    result = config_check_capabilities(request->volume_capabilities, request->n_volume_capabilities,
                                       &why);
    if (result == 0)
        result = check_parameters(call->arena, request, &config, &why);
    if (result == 0)
        answer->confirmed = controller_confirm(call->arena, request);
    else
        answer->message = arena_text(call->arena, why.message);
    return 0;
}
