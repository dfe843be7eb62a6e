/*
 * The health of a volume with a policy.  The condition is visible to users of claims: faults are
 * described in general terms, without hosts or paths, which administrators find in the volume's
 * documents.
 */
#include "csi/config.private.h"

#include "common/cleanup.h"

#include <string.h>

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

Csi__V1__VolumeCondition *config_condition(struct arena *arena,
                                           const struct volume_config *config) {
    Csi__V1__VolumeCondition *condition =
        CSI_NEW(arena, Csi__V1__VolumeCondition, csi__v1__volume_condition);

    condition->abnormal = config->fault != NULL;
    condition->message =
        arena_format(arena, "The volume is %s.%s%s%s", config->status, config->fault ? " " : "",
                     config->fault ? config->fault : "", progress_text(arena, config->progress));
    return condition;
}

const char *config_find_fault(struct grpc_call *call, const struct client *api, const char *id) {
    struct volume_config config;
    struct error ignored;

    if (config_read(api, call->arena, id, &config, &ignored) != 0 || !config.fault)
        return NULL;
    return arena_join(call->arena, config.fault, progress_text(call->arena, config.progress), NULL);
}
