#include "model/group/delete.h"

#include "model/group/end.h"
#include "model/notification.h"
#include "model/volume/delete.h"
#include "operation/service.h"

static int group_delete_refuse(const struct volume_group *group, const char *why,
                               struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Invalid group: Group %s cannot be deleted: %s.",
                     group->id, why);
}

int group_delete(struct work *work, const struct volume_group *group, bool delete_volumes,
                 struct error *err) {
    static const struct status_change meanwhile = { .from = STATUS_ANY, .to = GROUP_DELETING };
    struct volume_group deleted = *group;
    struct volume *volumes;
    int count = group_members(work, group->id, &volumes, err), frozen, used;

    if (count < 0)
        return -1;
    if (!delete_volumes && group->status != GROUP_AVAILABLE && group->status != GROUP_ERROR)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid group: Group %s status must be available or error to be deleted, "
                         "but current status is: %s.",
                         group->id, group_status_text(group->status));
    if (!delete_volumes && count > 0)
        return group_delete_refuse(group, "it has volumes, and delete-volumes was not set", err);
    frozen = service_is_frozen(work, group->host, err);
    if (frozen != 0)
        return frozen < 0 ? -1 : group_delete_refuse(group, "its backend is frozen", err);
    used = db_query_any(
        work->tx, err,
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM group_snapshots WHERE group_id = $1) OR EXISTS "
        "(SELECT 1 FROM volume_groups WHERE source_group_id = $1 AND status = 'creating')",
        DB_TEXT(group->id));
    if (used > 0)
        return group_delete_refuse(
            group, "there are group snapshots of it, or a group is being made of it", err);
    if (used < 0 || status_write(work, &group_objects, group->id, &meanwhile, err) < 0)
        return -1;
    deleted.status = GROUP_DELETING;
    if (notification_put_group(work, "group.delete.start", &deleted, err) < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (volume_delete_member(work, &volumes[i], err) < 0)
            return -1;
    return group_finish_delete(work, group->id, err);
}
