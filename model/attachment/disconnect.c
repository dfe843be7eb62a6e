#include "model/attachment/disconnect.h"

#include "model/attachment/attachment.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"

#include <string.h>

int volume_connected_hosts(struct work *work, const char *volume_id, const char *but,
                           const char *const **ret, struct error *err) {
    struct volume volume;
    const char **hosts;
    unsigned count = 0;

    if (volume_attached(work, volume_id, &volume, err) < 0)
        return -1;
    hosts = arena_alloc(work->arena, (volume.attachment_count + 1) * sizeof(*hosts));
    for (unsigned i = 0; i < volume.attachment_count; i++) {
        const struct attachment *attachment = &volume.attachments[i];
        struct operation connect;
        int waits = 0;

        if (strcmp(attachment->id, but) == 0 || !attachment_in_use(attachment))
            continue;
        /* A connection in preparation waits for this one. */
        if (strcmp(attachment->attach_status, "attaching") == 0)
            waits = operation_of(work, attachment->id, &connect, err);
        if (waits < 0)
            return -1;
        if (waits == 0)
            hosts[count++] = attachment->attached_host ? attachment->attached_host : "";
    }
    hosts[count] = NULL;
    *ret = hosts;
    return 0;
}

const struct operation_kind kind_disconnect = {
    .name = "disconnect",
    .method = "disconnect_volume",
    .message_action = "004",
};

int volume_disconnect_needed(struct work *work, const char *host, struct error *err) {
    return pool_has_capability(work, host, POOL_ENDS_CONNECTIONS, err);
}

int volume_moves_instances(struct work *work, const char *host, struct error *err) {
    return pool_has_capability(work, host, POOL_MOVES_INSTANCES, err);
}

int volume_disconnect(struct work *work, const char *volume_id, struct error *err) {
    const struct operation_turn turn = { .of = volume_id };
    struct operation fields = { .volume_id = volume_id, .turns = &turn, .turn_count = 1 };
    struct volume volume;
    int64_t connects = 0;
    const char *id;
    int needed;

    if (volume_row(work, volume_id, &volume, err) < 0)
        return -1;
    needed = volume_disconnect_needed(work, volume.host, err);
    if (needed <= 0)
        return needed;
    fields.target_id = work_uuid(work);
    fields.host = volume.host;
    fields.project_id = volume.project_id;
    if (operation_count(work, volume_id, &kind_connect, &connects, err) < 0)
        return -1;
    /* A waiting one is reused, unless a connect is queued behind it. */
    return connects > 0 ? operation_insert(work, &kind_disconnect, &fields, &id, err)
                        : operation_insert_once(work, &kind_disconnect, &fields, err);
}
