#include "model/volume/notify.h"

#include "model/attachment/attach_status.h"
#include "model/attachment/attachment.h"
#include "model/operations.h"

#include <string.h>

const struct operation_kind kind_notify = {
    .name = "notify",
    .method = "notify_extended",
    .message_action = "007",
};

/* A queued one reads the rows when it runs. */
static int notify(struct work *work, const struct volume *volume, const char *instance_uuid,
                  struct error *err) {
    const struct operation fields = {
        .volume_id = volume->id,
        .target_id = work_uuid(work),
        .host = volume->host,
        .project_id = volume->project_id,
        .arguments = arena_format(work->arena, "{\"instance_uuid\": \"%s\"}", instance_uuid),
    };

    return operation_insert_once(work, &kind_notify, &fields, err);
}

int volume_notify(struct work *work, const struct volume *volume, struct error *err) {
    const char *const *instances;
    unsigned count = attachment_instances(work->arena, volume, &instances);

    for (unsigned i = 0; i < count; i++)
        if (notify(work, volume, instances[i], err) < 0)
            return -1;
    return 0;
}

int volume_notify_attached(struct work *work, const struct volume *volume, struct error *err) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];

        if (attachment->instance_uuid && strcmp(attachment->attach_status, "attached") == 0 &&
            notify(work, volume, attachment->instance_uuid, err) < 0)
            return -1;
    }
    return 0;
}
