/*
 * ReclaimSpaceController of CSI-Addons: os-reclaim_space of a volume that is not attached.
 *
 * A job calls the node first and the controller always: a volume in use is trimmed by its node, and
 * nothing is done here.
 */
#include "csi/controller/configs.private.h"

#include "common/cleanup.h"

#include <string.h>

/* A volume in use is trimmed by its node; one that is being attached or detached is not available
 * to either. */
static int check_use(const struct remote_volume *volume, bool *ret_needs_nothing,
                     struct error *err) {
    static const char *const passing[] = { "reserved", "attaching", "detaching" };

    *ret_needs_nothing = volume->attachment_count > 0;
    for (size_t i = 0; i < LENGTH(passing); i++)
        if (strcmp(volume->status, passing[i]) == 0)
            return grpc_refuse(err, GRPC_ABORTED, "Volume %s is %s.", volume->id, passing[i]);
    return 0;
}

/* 0 when it has started, now or before, or when a volume in use needs nothing. */
static int reclaim_begin(const struct client *api, struct arena *arena,
                         struct remote_volume *volume, bool *ret_needs_nothing, struct error *err) {
    struct error refusal;
    int result = check_use(volume, ret_needs_nothing, err);

    if (result != 0 || *ret_needs_nothing || strcmp(volume->status, "reclaiming") == 0 ||
        volumes_reclaim(api, arena, volume->id, err) == 0)
        return result;
    if (err->kind != ERROR_BAD_REQUEST && err->kind != ERROR_NOT_FOUND)
        return -1; /* a conflict is ABORTED */
    refusal = *err;
    result = controller_read(api, arena, &volume_kind, volume->id, volume, err);
    if (result == 0)
        result = check_use(volume, ret_needs_nothing, err);
    if (result != 0 || *ret_needs_nothing)
        return result;
    *err = refusal;
    err->kind = ERROR_BAD_REQUEST;
    return controller_refused(volume->status, GRPC_UNIMPLEMENTED, err);
}

static int failed(const struct remote_reclaim *last, const char *volume_id, struct error *err) {
    static const struct {
        const char *reason;
        enum grpc_code code;
    } rows[] = {
        { "busy", GRPC_ABORTED },
        { "cancelled", GRPC_ABORTED },
        { "unsupported", GRPC_UNIMPLEMENTED },
    };
    enum grpc_code code = GRPC_INTERNAL;

    for (size_t i = 0; i < LENGTH(rows) && last->reason; i++)
        if (strcmp(rows[i].reason, last->reason) == 0)
            code = rows[i].code;
    return grpc_refuse(err, code, "Reclaiming space of volume %s failed: %s", volume_id,
                       last->message ? last->message : last->status);
}

static int reclaim(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Reclaimspace__ControllerReclaimSpaceRequest *request = message;
    struct client api = csi_api(call);
    struct remote_volume volume;
    bool needs_nothing = false;
    int result = controller_require(request->volume_id, "volume_id", err);
    struct poll_wait wait;
    struct remote_reclaim last;

    if (result == 0 && config_is_id(request->volume_id))
        return config_reclaim(call, &api, request->volume_id, response, err);
    if (result == 0)
        result = controller_read(&api, call->arena, &volume_kind, request->volume_id, &volume, err);
    if (result == 0)
        result = controller_reset_extend(call, &api, &volume, err);
    if (result == 0)
        result = reclaim_begin(&api, call->arena, &volume, &needs_nothing, err);
    if (result != 0 || needs_nothing)
        return result;
    wait = poll_wait_of(call);
    for (;;) {
        if (volumes_read_reclaim(&api, call->arena, volume.id, &last, err) < 0)
            return -1;
        if (strcmp(last.status, "running") != 0)
            break;
        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "Space of volume %s is still being reclaimed.",
                               volume.id);
    }
    if (strcmp(last.status, "done") != 0)
        return failed(&last, volume.id, err);
    if (last.pre_usage >= 0 && last.post_usage >= 0)
        reclaim_report(call->arena, last.pre_usage, last.post_usage, response);
    return 0;
}

const struct grpc_method csi_reclaim_methods[] = {
    { "ControllerReclaimSpace", reclaim },
    { NULL, NULL },
};
