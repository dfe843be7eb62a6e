#include "model/group/copy.h"

#include "common/assert.h"
#include "model/group/create.h"
#include "model/group/end.h"
#include "model/notification.h"
#include "model/snapshot/snapshot.h"
#include "model/volume/create.h"

/* The sources of the new volumes, one of the two each. */
static int find_sources(struct work *work, const struct group_copy *request,
                        struct volume_new **ret, struct error *err) {
    struct snapshot *snapshots = NULL;
    struct volume *volumes = NULL;
    int count = request->group_snapshot
                    ? snapshot_of_group(work, request->group_snapshot->id, &snapshots, err)
                    : group_members(work, request->group->id, &volumes, err);

    if (count == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid Group: The source has no %s, and no group is made of it.",
                         request->group_snapshot ? "snapshots" : "volumes");
    if (count < 0)
        return -1;
    *ret = arena_alloc(work->arena, (size_t)count * sizeof **ret);
    for (int i = 0; i < count; i++)
        (*ret)[i] = snapshots ? (struct volume_new){ .snapshot_id = snapshots[i].id,
                                                     .type = snapshots[i].type_name }
                              : (struct volume_new){ .source_volid = volumes[i].id,
                                                     .type = volumes[i].type_id };
    return count;
}

int group_copy(struct work *work, const struct group_copy *request, struct volume_group *ret,
               struct error *err) {
    const struct group_snapshot *of = request->group_snapshot;
    struct volume_group source, group;
    struct volume_new *sources = NULL;
    struct volume made;
    int count;

    assert(!request->group_snapshot != !request->group);
    if (work_check_project(work, "A group", err) < 0 ||
        group_row(work, of ? of->group_id : request->group->id, &source, err) < 0)
        return -1;
    group = (struct volume_group){
        .project_id = work->context->project_id,
        .user_id = work->context->user_id,
        .host = source.host,
        .availability_zone = source.availability_zone,
        .name = request->name,
        .description = request->description,
        .status = GROUP_CREATING,
        .group_type_id = source.group_type_id,
        .group_snapshot_id = of ? of->id : NULL,
        .source_group_id = of ? NULL : source.id,
        .replication_status = "disabled",
        .volume_types = source.volume_types,
        .volume_type_count = source.volume_type_count,
    };
    count = find_sources(work, request, &sources, err);
    if (count < 0 || group_insert(work, &group, err) < 0 ||
        notification_put_group(work, "group.create.start", &group, err) < 0)
        return -1;
    assert(count > 0);
    for (int i = 0; i < count; i++) {
        sources[i].group_id = group.id;
        if (volume_create(work, &sources[i], &made, err) < 0)
            return -1;
    }
    if (group_made(work, group.id, work->context->request_id, err) < 0)
        return -1;
    *ret = group;
    return 0;
}
