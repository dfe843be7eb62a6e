/*
 * The health of a volume with a policy.  The condition is visible to users of claims: faults are
 * described in general terms, without hosts or paths, which administrators find in the volume's
 * documents.
 */
#include "csi/config.private.h"

#include "common/cleanup.h"

#include <string.h>

/* A volume without a node is not served, which is not a fault. */
const char *config_fault(const struct volume_config *config, const struct config_volume *volume) {
    static const struct {
        const char *phase, *fault;
    } faults[] = {
        { "Degraded", "Some of its replicas are missing, or are being rebuilt." },
        { "Offline", "It is not served: it cannot be read or written." },
        { "Error", "It is not served: it cannot be read or written." },
    };

    if (config->trouble)
        return config->trouble;
    for (size_t i = 0; *config->node && volume->there && i < LENGTH(faults); i++)
        if (strcmp(volume->phase, faults[i].phase) == 0)
            return faults[i].fault;
    return NULL;
}

/* " Rebuild: 43 %, 120 MiB/s, 75 s left." of each running operation. */
static const char *progress_text(struct arena *arena, const json_t *list) {
    const char *text = "";

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        double rate = (double)json_int_at(one, "bytesPerSecond") / (1 << 20);
        const char *speed = rate > 0 ? arena_format(arena, ", %.1f MiB/s, %jd s left", rate,
                                                    (intmax_t)json_int_at(one, "remainingSeconds"))
                                     : "";

        text = arena_format(arena, "%s %s: %jd %%%s.", text, config_text_of(one, "operation"),
                            (intmax_t)json_int_at(one, "percent"), speed);
    }
    return text;
}

Csi__V1__VolumeCondition *config_condition(struct arena *arena, const struct volume_config *config,
                                           const struct config_volume *volume) {
    Csi__V1__VolumeCondition *condition =
        CSI_NEW(arena, Csi__V1__VolumeCondition, csi__v1__volume_condition);
    const char *fault = config_fault(config, volume);

    condition->abnormal = fault != NULL;
    condition->message =
        arena_format(arena, "The volume is %s.%s%s%s", config->status, fault ? " " : "",
                     fault ? fault : "", progress_text(arena, config->progress));
    return condition;
}

const char *config_find_fault(struct grpc_call *call, const struct client *api, const char *id) {
    struct config_volume volume;
    struct volume_config config;
    struct error ignored;
    const char *fault;

    if (config_read(api, call->arena, id, &config, &ignored) != 0 ||
        config_read_volume(api, call->arena, &config, &volume, &ignored) != 0)
        return NULL;
    fault = config_fault(&config, &volume);
    return fault ? arena_join(call->arena, fault, progress_text(call->arena, config.progress), NULL)
                 : NULL;
}
