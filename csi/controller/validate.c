/*
 * ValidateVolumeCapabilities: are the capabilities supported, and do the parameters match the
 * volume?
 *
 * If not, the response confirms nothing and has the reason.
 */
#include "csi/controller/controller.private.h"

#include "client/pools.h"

#include <string.h>

typedef const Csi__V1__ValidateVolumeCapabilitiesRequest validate_request;

static int unlike(const struct remote_volume *volume, const char *key, const char *value,
                  struct error *err) {
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "Volume %s was not created with %s %.255s.",
                       volume->id, key, value);
}

/* The volume's value may be NULL. */
static bool same(const char *asked_for, const char *have) {
    return have && strcmp(asked_for, have) == 0;
}

/* A type has an id and a name, and the volume has the name. */
static int check_type(const struct client *api, struct arena *arena,
                      const struct remote_volume *volume, const char *type, struct error *err) {
    struct remote_type found;

    if (same(type, volume->type))
        return 0;
    if (types_find(api, arena, type, &found, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? unlike(volume, "type", type, err) : -1;
    return found.name && same(found.name, volume->type) ? 0 : unlike(volume, "type", type, err);
}

static int check_parameter(const struct client *api, struct arena *arena,
                           const struct remote_volume *volume, const char *key, const char *value,
                           struct error *err) {
    if (controller_is_informational(key))
        return 0;
    if (strcmp(key, "type") == 0)
        return *value ? check_type(api, arena, volume, value, err) : 0;
    if (strcmp(key, "availability") == 0)
        return !*value || same(value, volume->availability_zone) ? 0
                                                                 : unlike(volume, key, value, err);
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no parameter %.255s.", key);
}

/* The driver's volumes have no context: a key there is the orchestrator's own, with its prefix, or
 * an error. */
int controller_check_context(validate_request *request, struct error *err) {
    for (size_t i = 0; i < request->n_volume_context; i++)
        if (!strchr(request->volume_context[i]->key, '/'))
            return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                               "Volumes of this driver have no context %.255s.",
                               request->volume_context[i]->key);
    return 0;
}

static int check(const struct client *api, struct arena *arena, const struct remote_volume *volume,
                 validate_request *request, struct error *err) {
    const struct remote_pair *ignored;
    const char *type = NULL; /* takes precedence over that of the parameters */
    int result = controller_read_mutable(
        arena, (const controller_parameter *const *)request->mutable_parameters,
        request->n_mutable_parameters, NULL, &ignored, &type, err);

    for (size_t i = 0; i < request->n_volume_capabilities && result == 0; i++)
        result =
            controller_check_capability(request->volume_capabilities[i], volume->multiattach, err);
    for (size_t i = 0; i < request->n_parameters && result == 0; i++)
        if (!type || strcmp(request->parameters[i]->key, "type") != 0)
            result = check_parameter(api, arena, volume, request->parameters[i]->key,
                                     request->parameters[i]->value, err);
    if (result == 0 && type)
        result = check_parameter(api, arena, volume, "type", type, err);
    return result == 0 ? controller_check_context(request, err) : result;
}

/* The request's content. */
Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed *
controller_confirm(struct arena *arena, validate_request *request) {
    Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed *confirmed =
        CSI_NEW(arena, Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed,
                csi__v1__validate_volume_capabilities_response__confirmed);

    confirmed->n_volume_capabilities = request->n_volume_capabilities;
    confirmed->volume_capabilities = request->volume_capabilities;
    confirmed->n_volume_context = request->n_volume_context;
    confirmed->volume_context =
        (Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed__VolumeContextEntry **)
            request->volume_context;
    confirmed->n_parameters = request->n_parameters;
    confirmed->parameters =
        (Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed__ParametersEntry **)
            request->parameters;
    confirmed->n_mutable_parameters = request->n_mutable_parameters;
    confirmed->mutable_parameters =
        (Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed__MutableParametersEntry **)
            request->mutable_parameters;
    return confirmed;
}

int controller_validate(struct grpc_call *call, const void *message, void *response,
                        struct error *err) {
    validate_request *request = message;
    Csi__V1__ValidateVolumeCapabilitiesResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_volume volume;
    struct error why = { 0 };
    int result = controller_require(request->volume_id, "volume_id", err);

    if (result == 0 && request->n_volume_capabilities == 0)
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capabilities is missing.");
    if (result == 0)
        result = controller_read(&api, call->arena, &volume_kind, request->volume_id, &volume, err);
    if (result != 0)
        return result;
    result = check(&api, call->arena, &volume, request, &why);
    if (result < 0)
        return error_pass(err, &why);
    if (result == 0)
        answer->confirmed = controller_confirm(call->arena, request);
    else
        answer->message = arena_text(call->arena, why.message);
    return 0;
}
