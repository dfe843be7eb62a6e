/*
 * ControllerExpandVolume: os-extend, also while the volume is published.
 *
 * A loop device has none of QEMU's locks, so the backend grows a raw image below it directly; the
 * node then updates the device, also of a block volume.  A qcow2 image is resized only while it is
 * not open.
 */
#include "csi/controller/controller.private.h"

#include "client/attachments.h"

#include <string.h>

#define FAILED_EXTEND "error_extending"

static int check_online(const struct client *api, struct arena *arena,
                        const struct remote_volume *volume, struct error *err) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        struct remote_connection connection;
        const char *format;

        if (!controller_node(&volume->attachments[i]))
            continue;
        if (attachments_read(api, arena, volume->attachments[i].id, &connection, err) < 0)
            return err->kind == ERROR_NOT_FOUND ? 0 : -1;
        format = json_text_of(connection.info, "format");
        if (format && strcmp(format, "raw") != 0)
            return grpc_refuse(
                err, GRPC_FAILED_PRECONDITION,
                "Volume %s is a %s image and can be expanded only while it is not published.",
                volume->id, format);
    }
    return 0;
}

static int extend_refused(const struct client *api, struct arena *arena, const char *id,
                          struct error *err) {
    return err->kind == ERROR_NOT_FOUND
               ? grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume %s.", id)
               : controller_refused_volume(api, arena, id, GRPC_OUT_OF_RANGE, err);
}

static int extend(const struct grpc_call *call, const struct client *api,
                  struct remote_volume *volume, int64_t new_gb, struct error *err) {
    const char *id = volume->id;
    int result = check_online(api, call->arena, volume, err);

    if (result != 0)
        return result;
    if (volumes_extend(api, call->arena, id, new_gb, err) < 0)
        return extend_refused(api, call->arena, id, err);
    result = controller_read(api, call->arena, &volume_kind, id, volume, err);
    return result != 0 ? result : controller_wait_idle(call, api, &volume_kind, volume, err);
}

/* The backend checks it, and resets its status. */
int controller_reset_extend(const struct grpc_call *call, const struct client *api,
                            struct remote_volume *volume, struct error *err) {
    int result;

    if (strcmp(volume->status, FAILED_EXTEND) != 0)
        return 0;
    if (volumes_extend(api, call->arena, volume->id, volume->size_gb, err) < 0)
        return extend_refused(api, call->arena, volume->id, err);
    result = controller_read(api, call->arena, &volume_kind, volume->id, volume, err);
    if (result == 0)
        result = controller_wait_idle(call, api, &volume_kind, volume, err);
    if (result == 0 && strcmp(volume->status, FAILED_EXTEND) == 0)
        result =
            grpc_refuse(err, GRPC_INTERNAL, "Volume %s is " FAILED_EXTEND " still.", volume->id);
    return result;
}

int controller_recover(const struct grpc_call *call, const struct client *api,
                       struct remote_volume *volume, struct error *err) {
    int result = controller_wait_idle(call, api, &volume_kind, volume, err);

    return result == 0 ? controller_reset_extend(call, api, volume, err) : result;
}

static int check_result(const struct client *api, struct arena *arena,
                        const struct remote_volume *volume, int64_t new_gb, struct error *err) {
    if (volume->size_gb >= new_gb)
        return 0;
    return controller_failed(api, arena, volume->id,
                             strcmp(volume->status, FAILED_EXTEND) == 0 ? GRPC_INTERNAL
                                                                        : GRPC_RESOURCE_EXHAUSTED,
                             arena_format(arena, "Volume %s could not be extended to %jd GiB",
                                          volume->id, (intmax_t)new_gb),
                             err);
}

int controller_check_expand(const Csi__V1__ControllerExpandVolumeRequest *request, int64_t *ret_gb,
                            struct error *err) {
    const Csi__V1__CapacityRange *range = request->capacity_range;
    int result = controller_require(request->volume_id, "volume_id", err);

    if (result == 0 && (!range || (range->required_bytes == 0 && range->limit_bytes == 0)))
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "capacity_range is missing.");
    if (result == 0)
        result = controller_size(range, 1, ret_gb, err);
    if (result == 0 && request->volume_capability)
        result = controller_check_capability(request->volume_capability, true, err);
    return result;
}

int controller_expand(struct grpc_call *call, const void *message, void *response,
                      struct error *err) {
    const Csi__V1__ControllerExpandVolumeRequest *request = message;
    Csi__V1__ControllerExpandVolumeResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_volume volume = { 0 };
    int64_t new_gb = 0;
    int result = controller_check_expand(request, &new_gb, err);

    if (result == 0)
        result = controller_read(&api, call->arena, &volume_kind, request->volume_id, &volume, err);
    if (result == 0)
        result = controller_wait_idle(call, &api, &volume_kind, &volume, err);
    if (result == 0)
        result = volume.size_gb < new_gb ? extend(call, &api, &volume, new_gb, err)
                                         : controller_recover(call, &api, &volume, err);
    if (result == 0)
        result = check_result(&api, call->arena, &volume, new_gb, err);
    if (result == 0 && request->capacity_range->limit_bytes > 0 &&
        volume.size_gb > request->capacity_range->limit_bytes / GIB)
        result = grpc_refuse(err, GRPC_OUT_OF_RANGE, "Volume %s has %jd GiB and does not shrink.",
                             volume.id, (intmax_t)volume.size_gb);
    if (result != 0)
        return result;
    answer->capacity_bytes = volume.size_gb * GIB;
    answer->node_expansion_required = true;
    return 0;
}
