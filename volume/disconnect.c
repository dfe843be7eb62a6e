#include "volume/disconnect.h"

#include "volume/attachment.h"
#include "volume/operations.h"
#include "volume/pool.h"

#include <string.h>

/* One that is only to be connected waits for us. */
static int is_connected(struct work *work, const struct attachment *attachment, struct error *err) {
    struct operation connect;
    int waits = 0;

    if (!attachment_in_use(attachment))
        return 0;
    if (strcmp(attachment->attach_status, "attaching") == 0)
        waits = operation_of(work, attachment->id, &connect, err);
    return waits < 0 ? -1 : waits == 0;
}

int volume_is_disconnected(struct work *work, const char *volume_id, struct error *err) {
    struct volume volume;
    int connected = 0;

    if (volume_attached(work, volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    for (unsigned i = 0; i < volume.attachment_count && connected == 0; i++)
        connected = is_connected(work, &volume.attachments[i], err);
    return connected < 0 ? -1 : connected == 0;
}

static int disconnect_wanted(struct work *work, const struct operation *operation,
                             struct error *err) {
    return volume_is_disconnected(work, operation->volume_id, err);
}

const struct operation_kind kind_disconnect = {
    .name = "disconnect",
    .method = "disconnect_volume",
    .message_action = "004",
    .wanted = disconnect_wanted,
};

int volume_disconnect_needed(struct work *work, const char *host, struct error *err) {
    struct pool pool;
    int found = host ? pool_find(work, host, &pool, err) : 0;

    if (found <= 0)
        return found;
    return json_is_true(json_object_get(pool_reported(work, &pool), POOL_ENDS_CONNECTIONS));
}

/* One that waits serves, unless somebody is to be connected behind it. */
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
