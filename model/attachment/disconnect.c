#include "model/attachment/disconnect.h"

#include "model/attachment/attachment.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"

#include <string.h>

/* A connection in preparation waits for this one. */
static int is_connected(struct work *work, const struct attachment *attachment, struct error *err) {
    struct operation connect;
    int waits = 0;

    if (!attachment_in_use(attachment))
        return 0;
    if (strcmp(attachment->attach_status, "attaching") == 0)
        waits = operation_of(work, attachment->id, &connect, err);
    return waits < 0 ? -1 : waits == 0;
}

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
        int connected = strcmp(attachment->id, but) == 0 ? 0 : is_connected(work, attachment, err);

        if (connected < 0)
            return -1;
        if (connected > 0)
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

/* A waiting one is reused, unless a connect is queued behind it. */
static int insert(struct work *work, const struct operation *fields, struct error *err) {
    int64_t connects = 0;
    const char *id;

    if (operation_count(work, fields->volume_id, &kind_connect, &connects, err) < 0)
        return -1;
    return connects > 0 ? operation_insert(work, &kind_disconnect, fields, &id, err)
                        : operation_insert_once(work, &kind_disconnect, fields, err);
}

int volume_disconnect(struct work *work, const char *volume_id, struct error *err) {
    const struct operation_turn turn = { .of = volume_id };
    struct volume volume;
    int needed;

    if (volume_row(work, volume_id, &volume, err) < 0)
        return -1;
    needed = volume_disconnect_needed(work, volume.host, err);
    if (needed <= 0)
        return needed;
    return insert(work,
                  &(struct operation){
                      .volume_id = volume_id,
                      .target_id = work_uuid(work),
                      .turns = &turn,
                      .turn_count = 1,
                      .host = volume.host,
                      .project_id = volume.project_id,
                  },
                  err);
}
