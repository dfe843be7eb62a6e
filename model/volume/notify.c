#include "model/volume/notify.h"

#include "model/attachment/attach_status.h"
#include "model/attachment/attachment.h"
#include "model/operations.h"
#include "json/json.h"

#include <string.h>

const struct operation_kind kind_notify = {
    .name = "notify",
    .method = "notify_extended",
    .message_action = "007",
};

/* Of its own kind: a manager of a release without it leaves it to others, instead of sending the
 * event of a growth. */
const struct operation_kind kind_notify_reimaged = {
    .name = "notify_reimaged",
    .method = "notify_reimaged",
    .message_action = "016",
};

static int insert(struct work *work, const struct volume *volume, const struct operation_kind *kind,
                  const char *arguments, struct error *err) {
    const struct operation fields = {
        .volume_id = volume->id,
        .target_id = work_uuid(work),
        .host = volume->host,
        .project_id = volume->project_id,
        .arguments = arguments,
    };

    return operation_insert_once(work, kind, &fields, err);
}

/* A queued one reads the rows when it runs. */
static int notify(struct work *work, const struct volume *volume, const char *instance_uuid,
                  struct error *err) {
    return insert(work, volume, &kind_notify,
                  arena_format(work->arena, "{\"instance_uuid\": \"%s\"}", instance_uuid), err);
}

int volume_notify_reimaged(struct work *work, const struct volume *volume, bool failed,
                           struct error *err) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *instance_uuid = volume->attachments[i].instance_uuid;

        if (instance_uuid &&
            insert(work, volume, &kind_notify_reimaged,
                   arena_format(work->arena, "{\"instance_uuid\": \"%s\", \"failed\": %s}",
                                instance_uuid, failed ? "true" : "false"),
                   err) < 0)
            return -1;
    }
    return 0;
}

int volume_notify_event(struct arena *arena, const struct operation *operation,
                        struct notification_event *ret) {
    const json_t *tree = operation_arguments(arena, operation);

    *ret = (struct notification_event){
        .instance_uuid = json_text_of(tree, "instance_uuid"),
        .failed = json_is_true(json_object_get(tree, "failed")),
    };
    return ret->instance_uuid != NULL;
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
