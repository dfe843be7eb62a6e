#include "model/group/end.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/notification.h"
#include "model/volume/quota.h"
#include "operation/message.h"

#define ANY "TRUE"
#define BEING_MADE \
    "EXISTS (SELECT 1 FROM operations o WHERE o.target_id = v.id AND o.kind = 'create')"
#define NOWHERE "v.provider_location IS NULL"

/* 1 when a volume of the group is so, 0 when none is. */
static int has_volume(struct work *work, const struct volume_group *group, const char *so,
                      struct error *err) {
    const char *sql = arena_format(
        work->arena, "SELECT 1 FROM volumes v WHERE v.group_id = $1 AND %s LIMIT 1", so);

    return db_query_any(work->tx, err, sql, DB_TEXT(group->id));
}

int group_finish_delete(struct work *work, const char *group_id, struct error *err) {
    struct volume_group group;
    int has;

    if (group_row(work, group_id, &group, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (group.status != GROUP_DELETING || group.status_by_reset)
        return 0;
    has = has_volume(work, &group, ANY, err);
    if (has != 0)
        return has < 0 ? -1 : 0;
    if (db_run(work->tx, err, "DELETE FROM group_volume_types WHERE group_id = $1",
               DB_TEXT(group.id)) < 0 ||
        db_run(work->tx, err, "DELETE FROM volume_groups WHERE id = $1", DB_TEXT(group.id)) < 0 ||
        group_quota_give_back(work, group.project_id, err) < 0)
        return -1;
    return notification_put_group(work, "group.delete.end", &group, err);
}

int group_keep(struct work *work, const char *group_id, struct error *err) {
    static const struct status_change failed = { .from = GROUP_DELETING,
                                                 .to = GROUP_ERROR,
                                                 .unless_reset = true };

    return status_write(work, &group_objects, group_id, &failed, err) < 0 ? -1 : 0;
}

int group_made(struct work *work, const char *group_id, const char *request_id, struct error *err) {
    struct status_change end = { .from = GROUP_CREATING, .unless_reset = true };
    struct volume_group group;
    int left, failed;

    if (group_row(work, group_id, &group, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (group.status != GROUP_CREATING || group.status_by_reset)
        return 0;
    left = has_volume(work, &group, BEING_MADE, err);
    if (left != 0)
        return left < 0 ? -1 : 0;
    failed = has_volume(work, &group, NOWHERE, err);
    if (failed < 0)
        return -1;
    assert(group.status == GROUP_CREATING);
    end.to = group.status = failed ? GROUP_ERROR : GROUP_AVAILABLE;
    if (status_write(work, &group_objects, group.id, &end, err) < 0)
        return -1;
    if (!failed)
        return notification_put_group(work, "group.create.end", &group, err);
    return message_put_of(work, group.project_id, request_id, "VOLUME_GROUP", group.id, "903",
                          "012", err);
}
