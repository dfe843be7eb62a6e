/*
 * Parts of requests and responses of volumes with and without policy.
 */
#include "csi/controller/controller.private.h"

#include "json/field.h"

int controller_size(const Csi__V1__CapacityRange *range, int64_t least_gb, int64_t *ret_gb,
                    struct error *err) {
    int64_t required = range ? range->required_bytes : 0, limit = range ? range->limit_bytes : 0;
    int64_t size_gb;

    if (required < 0 || limit < 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "capacity_range has a negative size.");
    size_gb = required / GIB + (required % GIB > 0);
    if (size_gb < least_gb)
        size_gb = least_gb;
    if (limit > 0 && (required > limit || size_gb > limit / GIB))
        return grpc_refuse(err, GRPC_OUT_OF_RANGE,
                           "No volume has at least %jd and at most %jd bytes: sizes are whole GiB, "
                           "and %jd of them the least.",
                           (intmax_t)required, (intmax_t)limit, (intmax_t)size_gb);
    if (size_gb > FIELD_MAX_SIZE_GB)
        return grpc_refuse(err, GRPC_OUT_OF_RANGE, "No volume has %jd bytes.", (intmax_t)required);
    *ret_gb = size_gb;
    return 0;
}

#define MODE(name_) CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__##name_

bool controller_is_multi_node(const Csi__V1__VolumeCapability *capability) {
    int mode = (int)capability->access_mode->mode;

    return mode == MODE(MULTI_NODE_READER_ONLY) || mode == MODE(MULTI_NODE_SINGLE_WRITER) ||
           mode == MODE(MULTI_NODE_MULTI_WRITER);
}

int controller_check_capability(const Csi__V1__VolumeCapability *capability, bool multiattach,
                                struct error *err) {
    int mode = capability->access_mode ? (int)capability->access_mode->mode : 0;
    bool block = capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;

    if (capability->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE__NOT_SET)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "A volume capability is neither block nor mount.");
    if (mode <= MODE(UNKNOWN) || mode > MODE(SINGLE_NODE_MULTI_WRITER))
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "A volume capability has an unknown access mode.");
    if (!controller_is_multi_node(capability))
        return 0;
    if (!multiattach)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "Several nodes need a volume type that is multiattach.");
    if (!block && mode != MODE(MULTI_NODE_READER_ONLY))
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "A file system can be written by one node only.");
    return 0;
}

int controller_check_snapshot(const Csi__V1__CreateSnapshotRequest *request, struct error *err) {
    int result = controller_require(request->name, "name", err);

    if (result == 0)
        result = controller_require(request->source_volume_id, "source_volume_id", err);
    for (size_t i = 0; i < request->n_parameters && result == 0; i++)
        if (!controller_is_informational(request->parameters[i]->key))
            result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no parameter %s.",
                                 request->parameters[i]->key);
    return result;
}

int controller_keep_snapshot(const struct snapshots_answer *to, Csi__V1__Snapshot *snapshot) {
    Csi__V1__ListSnapshotsResponse__Entry *entry = CSI_NEW(
        to->arena, Csi__V1__ListSnapshotsResponse__Entry, csi__v1__list_snapshots_response__entry);

    entry->snapshot = snapshot;
    to->answer->entries[to->answer->n_entries++] = entry;
    return 0;
}
