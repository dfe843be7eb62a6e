#include "model/group/create.h"

#include "common/assert.h"
#include "model/notification.h"
#include "model/scheduler/placement.h"
#include "model/type/group_type.h"
#include "model/type/reserved_type.h"
#include "model/volume/quota.h"
#include "operation/message.h"

#include <string.h>

int group_insert(struct work *work, struct volume_group *group, struct error *err) {
    group->id = work_uuid(work);
    group->created_at = work->now_us;
    assert(group->project_id);
    if (group_quota_take(work, group->project_id, err) < 0 ||
        db_change(work->tx, err,
                  "INSERT INTO volume_groups (id, project_id, user_id, host, availability_zone, "
                  "display_name, display_description, status, status_by_reset, group_type_id, "
                  "group_snapshot_id, source_group_id, replication_status, created_at) "
                  "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12, $13)",
                  DB_TEXT(group->id), DB_TEXT(group->project_id), DB_TEXT(group->user_id),
                  DB_TEXT(group->host), DB_TEXT(group->availability_zone), DB_TEXT(group->name),
                  DB_TEXT(group->description), DB_TEXT(group_status_text(group->status)),
                  DB_TEXT(group->group_type_id), DB_TEXT(group->group_snapshot_id),
                  DB_TEXT(group->source_group_id), DB_TEXT(group->replication_status),
                  DB_INT(group->created_at)) < 0)
        return -1;
    for (unsigned i = 0; i < group->volume_type_count; i++)
        if (db_run(work->tx, err,
                   "INSERT INTO group_volume_types (group_id, volume_type_id) VALUES ($1, $2)",
                   DB_TEXT(group->id), DB_TEXT(group->volume_types[i])) < 0)
            return -1;
    return 0;
}

/* Each once, by its id or by its name. */
static int find_types(struct work *work, const struct group_new *request, struct volume_type *types,
                      struct volume_group *group, struct error *err) {
    const char **ids = arena_alloc(work->arena, request->volume_type_count * sizeof *ids + 1);
    unsigned count = 0;

    for (unsigned i = 0; i < request->volume_type_count; i++) {
        bool known = false;

        if (volume_type_find(work, request->volume_types[i], &types[count], err) < 0)
            return -1;
        for (unsigned j = 0; j < count; j++)
            known |= strcmp(types[j].id, types[count].id) == 0;
        if (!known) {
            ids[count] = types[count].id;
            count++;
        }
    }
    group->volume_types = ids;
    group->volume_type_count = count;
    return 0;
}

static int tell(struct work *work, const struct volume_group *group, struct error *err) {
    struct volume_group asked = *group;

    assert(group->status == GROUP_AVAILABLE || group->status == GROUP_ERROR);
    asked.status = GROUP_CREATING;
    if (notification_put_group(work, "group.create.start", &asked, err) < 0)
        return -1;
    if (group->status == GROUP_AVAILABLE)
        return notification_put_group(work, "group.create.end", group, err);
    return message_put_of(work, group->project_id, work->context->request_id, "VOLUME_GROUP",
                          group->id, "903", "003", err);
}

int group_create(struct work *work, const struct group_new *request, struct volume_group *ret,
                 struct error *err) {
    struct volume_type *types =
        arena_alloc(work->arena, request->volume_type_count * sizeof *types + 1);
    struct placement placement = { .type = types, .other_types = types + 1 };
    struct group_type type;
    struct volume_group group = {
        .project_id = work->context->project_id,
        .user_id = work->context->user_id,
        .name = request->name,
        .description = request->description,
        .replication_status = "disabled",
    };
    const char *why = NULL;
    int placed;

    if (work_check_project(work, "A group", err) < 0 ||
        group_type_find(work, request->group_type ? request->group_type : GROUP_TYPE_RESERVED,
                        &type, err) < 0 ||
        (request->group_type && group_type_refuse_reserved(type.name, err) < 0) ||
        find_types(work, request, types, &group, err) < 0 ||
        zone_choose(work, request->availability_zone, &group.availability_zone, err) < 0)
        return -1;
    placement.availability_zone = group.availability_zone;
    placement.other_type_count = group.volume_type_count - 1;
    placed = placement_pick(work, &placement, &group.host, &why, err);
    if (placed < 0)
        return -1;
    group.group_type_id = type.id;
    group.status = placed ? GROUP_AVAILABLE : GROUP_ERROR;
    if (group_insert(work, &group, err) < 0 || tell(work, &group, err) < 0 ||
        (why && message_explain(work, group.id, why, err) < 0))
        return -1;
    *ret = group;
    return 0;
}
