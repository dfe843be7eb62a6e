/*
 * I/O limits of a volume with a policy: the mutable parameters (of a VolumeAttributesClass), also
 * at its creation.
 */
#include "csi/controller/configs.private.h"

#include "common/cleanup.h"
#include "common/io_limits.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

int config_limits_read(struct arena *arena, const controller_parameter *const *parameters,
                       size_t count, json_t **ret, struct error *err) {
    static const char *const known[] = { "iops", "bytesPerSecond" };

    *ret = json_keep(arena, json_object());
    for (size_t i = 0; i < count; i++) {
        const char *key = parameters[i]->key, *value = parameters[i]->value;
        char *end;
        long long limit = strtoll(value, &end, 10);

        if (strcmp(key, known[0]) != 0 && strcmp(key, known[1]) != 0)
            return controller_unknown(key, "mutable parameter", " of a volume with a policy", known,
                                      LENGTH(known), err);
        if (!*value || *end || limit < 0)
            return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s is not a number: %.40s.", key,
                               value);
        if (limit > IO_LIMIT_MOST) /* strtoll() limits larger numbers */
            return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s is %.40s, and must be at most %jd.",
                               key, value, (intmax_t)IO_LIMIT_MOST);
        json_object_set_new(*ret, key, json_integer(limit));
    }
    return 0;
}

/* Limits set before the config has its policy would replace that. */
int config_limits_set(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, json_t *limits, struct error *err) {
    struct poll_wait wait = poll_wait_of(call);

    if (json_object_size(limits) == 0)
        return 0;
    while (!config->has_policy) {
        int result;

        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "Volume %s has no policy yet.", config->id);
        result = config_read(api, call->arena, config->id, config, err);
        if (result != 0)
            return result;
    }
    return config_change(api, call->arena, config,
                         json_pack("{s:{s:{s:{s:O}}}}", "spec", "policy", "target", "qos", limits),
                         err);
}

int config_modify(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__ControllerModifyVolumeRequest *request = message;
    struct client api = csi_api(call);
    struct volume_config config;
    json_t *limits;
    int result = config_read(&api, call->arena, request->volume_id, &config, err);

    (void)response;
    if (result == 0)
        result = config_limits_read(call->arena, CONTROLLER_MUTABLE(request), &limits, err);
    return result == 0 ? config_limits_set(call, &api, &config, limits, err) : result;
}
