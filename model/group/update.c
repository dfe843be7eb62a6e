#include "model/group/update.h"

#include "common/assert.h"
#include "model/conflict.h"
#include "model/group/member.h"
#include "model/notification.h"

#include <string.h>

__attribute__((format(printf, 4, 5))) static int refuse(const struct volume_group *group,
                                                        const char *volume_id, struct error *err,
                                                        const char *why, ...) {
    char text[128];
    va_list values;

    va_start(values, why);
    vsnprintf(text, sizeof text, why, values);
    va_end(values);
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s cannot be added to or removed from group %s: %s.",
                     volume_id, group->id, text);
}

static bool in_status(const struct volume *volume, uint64_t statuses) {
    return statuses >> volume->status & 1;
}

static bool is_member(const struct volume_group *group, const struct volume *volume) {
    return volume->group_id && strcmp(volume->group_id, group->id) == 0;
}

static int write_group(struct work *work, const struct volume *volume, const char *group_id,
                       struct error *err) {
    assert(!group_id || !volume->group_id || strcmp(volume->group_id, group_id) == 0);
    return db_change(work->tx, err,
                     "UPDATE volumes SET group_id = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(group_id), DB_INT(work->now_us), DB_TEXT(volume->id));
}

static int find_volume(struct work *work, const struct volume_group *group, const char *id,
                       struct volume *ret, struct error *err) {
    if (volume_get_row(work, id, ret, err) == 0)
        return 0;
    if (err->kind != ERROR_NOT_FOUND)
        return -1;
    return refuse(group, id, err, "it cannot be found");
}

/* 1 when it is new there, 0 when it is in the group already. */
static int add_volume(struct work *work, const struct volume_group *group, const char *id,
                      struct error *err) {
    struct volume volume;

    if (find_volume(work, group, id, &volume, err) < 0)
        return -1;
    if (is_member(group, &volume))
        return 0;
    if (volume.group_id)
        return refuse(group, id, err, "it is in group %s", volume.group_id);
    if (strcmp(volume.project_id, group->project_id) != 0)
        return refuse(group, id, err, "it is another project's");
    if (!group_takes_type(group, volume.type_id))
        return refuse(group, id, err, "its type is none of the group's");
    if (!in_status(&volume, ST(AVAILABLE) | ST(IN_USE)))
        return refuse(group, id, err, "it is %s", status_shown(volume.status));
    if (!group_is_at(work, group, volume.host))
        return refuse(group, id, err, "it is on another backend");
    if (conflict_resolve(work, id, ACTION_JOIN_GROUP, err) < 0 ||
        write_group(work, &volume, group->id, err) < 0)
        return -1;
    return 1;
}

static int remove_volume(struct work *work, const struct volume_group *group, const char *id,
                         struct error *err) {
    struct volume volume;

    if (find_volume(work, group, id, &volume, err) < 0)
        return -1;
    if (!is_member(group, &volume))
        return refuse(group, id, err, "it is not in the group");
    if (!in_status(&volume, ST(AVAILABLE) | ST(IN_USE) | ST(ERROR) | ST(ERROR_DELETING)))
        return refuse(group, id, err, "it is %s", status_shown(volume.status));
    if (conflict_resolve(work, id, ACTION_LEAVE_GROUP, err) < 0)
        return -1;
    assert(volume.group_id);
    return write_group(work, &volume, NULL, err);
}

static int check_lists(const struct volume_group *group, const struct group_changes *changes,
                       struct error *err) {
    if (changes->add_count + changes->remove_count > 0 && group->status != GROUP_AVAILABLE)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid group: Group %s status must be available to change its volumes, "
                         "but current status is: %s.",
                         group->id, group_status_text(group->status));
    for (unsigned i = 0; i < changes->add_count; i++)
        for (unsigned j = 0; j < changes->remove_count; j++)
            if (strcmp(changes->add_volumes[i], changes->remove_volumes[j]) == 0)
                return refuse(group, changes->add_volumes[i], err, "it is in both lists");
    return 0;
}

/* How many have changed. */
static int change_volumes(struct work *work, const struct volume_group *group,
                          const struct group_changes *changes, struct error *err) {
    int changed = (int)changes->remove_count;

    for (unsigned i = 0; i < changes->add_count; i++) {
        int added = add_volume(work, group, changes->add_volumes[i], err);

        if (added < 0)
            return -1;
        changed += added;
    }
    for (unsigned i = 0; i < changes->remove_count; i++)
        if (remove_volume(work, group, changes->remove_volumes[i], err) < 0)
            return -1;
    return changed;
}

static bool differs(const char *wanted, const char *present) {
    return wanted && strcmp(wanted, present ? present : "") != 0;
}

int group_update(struct work *work, const struct volume_group *group,
                 const struct group_changes *changes, struct error *err) {
    static const struct status_change available = { .from = STATUS_ANY, .to = GROUP_AVAILABLE };
    struct volume_group changed;
    int moved;

    if (check_lists(group, changes, err) < 0 ||
        notification_put_group(work, "group.update.start", group, err) < 0)
        return -1;
    moved = change_volumes(work, group, changes, err);
    if (moved == 0 && !differs(changes->name, group->name) &&
        !differs(changes->description, group->description))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid group: Cannot update group %s because no valid name, "
                         "description, add_volumes, or remove_volumes were provided.",
                         group->id);
    /* A lasting status becomes available; one that work on its volumes will end stays. */
    if (moved < 0 ||
        (!group_status_is_transient(group->status) &&
         status_write(work, &group_objects, group->id, &available, err) < 0) ||
        db_change(work->tx, err,
                  "UPDATE volume_groups SET display_name = $1, display_description = $2, "
                  "updated_at = $3 WHERE id = $4",
                  DB_TEXT(changes->name ? changes->name : group->name),
                  DB_TEXT(changes->description ? changes->description : group->description),
                  DB_INT(work->now_us), DB_TEXT(group->id)) < 0 ||
        group_row(work, group->id, &changed, err) < 0)
        return -1;
    return notification_put_group(work, "group.update.end", &changed, err);
}

/* ---- reset ---- */

int group_reset_status(struct work *work, const struct volume_group *group, const char *status,
                       struct error *err) {
    struct status_change change = { .from = STATUS_ANY };
    struct volume_group after = *group;

    if (status_find(&group_objects, arena_lower(work->arena, status), &change.to) < 0 ||
        !group_objects.statuses[change.to].by_reset)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: status: a group cannot be set to '%.64s'.",
                         status);
    if (notification_put_group(work, "group.reset_status.start", group, err) < 0)
        return -1;
    after.status = (enum group_status)change.to;
    change.by_reset = group_status_is_transient(after.status);
    if (status_write(work, &group_objects, group->id, &change, err) < 0)
        return -1;
    return notification_put_group(work, "group.reset_status.end", &after, err);
}
