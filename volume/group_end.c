#include "volume/group_end.h"

#include "common/cleanup.h"
#include "ledger/message.h"
#include "volume/notification.h"
#include "volume/operations.h"
#include "volume/volume_quota.h"

int group_remove(struct work *work, const struct volume_group *group, struct error *err) {
    static const char *const texts[] = {
        "DELETE FROM group_volume_types WHERE group_id = $1",
        "DELETE FROM volume_groups WHERE id = $1",
    };

    for (unsigned i = 0; i < LENGTH(texts); i++)
        if (db_run(work->tx, err, texts[i], DB_TEXT(group->id)) < 0)
            return -1;
    if (group_quota_give_back(work, group->project_id, err) < 0)
        return -1;
    return notification_put_group(work, "group.delete.end", group, err);
}

int group_settle(struct work *work, const char *group_id, struct error *err) {
    struct volume_group group;

    if (group_row(work, group_id, &group, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (group.status != GROUP_DELETING || group.status_by_reset)
        return 0;
    if (group_volumes(work, &group, err) < 0)
        return -1;
    return group.volume_count > 0 ? 0 : group_remove(work, &group, err);
}

int group_keep(struct work *work, const char *group_id, struct error *err) {
    static const struct status_change failed = { .from = GROUP_DELETING,
                                                 .to = GROUP_ERROR,
                                                 .unless_reset = true };

    return status_write(work, &group_objects, group_id, &failed, err) < 0 ? -1 : 0;
}

/* Its volumes: 1 when each is there, 0 when one is being made, and *ret_failed. */
static int all_ended(struct work *work, const struct volume_group *group, bool *ret_failed,
                     struct error *err) {
    *ret_failed = false;
    for (unsigned i = 0; i < group->volume_count; i++) {
        struct operation open;
        struct volume volume;
        int found = operation_of(work, group->volumes[i], &open, err);

        if (found < 0 || volume_row(work, group->volumes[i], &volume, err) < 0)
            return -1;
        if (found > 0 && open.kind == &kind_create)
            return 0;
        *ret_failed |= !volume.provider_location;
    }
    return 1;
}

int group_made(struct work *work, const char *group_id, const char *request_id, struct error *err) {
    struct status_change end = { .from = GROUP_CREATING, .unless_reset = true };
    struct volume_group group;
    bool failed;
    int ended;

    if (group_row(work, group_id, &group, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (group.status != GROUP_CREATING || group.status_by_reset)
        return 0;
    if (group_volumes(work, &group, err) < 0)
        return -1;
    ended = all_ended(work, &group, &failed, err);
    if (ended <= 0)
        return ended;
    end.to = group.status = failed ? GROUP_ERROR : GROUP_AVAILABLE;
    if (status_write(work, &group_objects, group.id, &end, err) < 0)
        return -1;
    if (!failed)
        return notification_put_group(work, "group.create.end", &group, err);
    return message_put_of(work, group.project_id, request_id, "VOLUME_GROUP", group.id, "903",
                          "012", err);
}
