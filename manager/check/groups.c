#include "manager/check/check.private.h"
#include "model/group/member.h"

#include <stdlib.h>
#include <string.h>

/* The status is ended by an operation on one of its volumes. */
static bool is_worked_on(const struct round *round, const struct volume_group *group) {
    const struct operation_kind *kind =
        group->status == GROUP_DELETING ? &kind_delete : &kind_create;

    for (int i = 0; i < round->volume_count; i++) {
        const struct volume *volume = &round->volumes[i];
        const struct operation *operation = round_operation_at(round, volume->id);

        if (volume->group_id && strcmp(volume->group_id, group->id) == 0 && operation &&
            operation->kind == kind)
            return true;
    }
    return false;
}

static int compare_ids(const void *left, const void *right) {
    return strcmp(((const struct volume_group *)left)->id,
                  ((const struct volume_group *)right)->id);
}

int round_check_groups(struct round *round, struct work *work, struct error *err) {
    const struct query all = { .where = "1=1", .order = "g.id", .limit = -1 };
    struct volume_group *groups;
    int count = group_list(work, &all, false, &groups, err);

    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (group_status_is_transient(groups[i].status) && !is_worked_on(round, &groups[i]))
            round_status_stays(round, "group", groups[i].id, group_status_text(groups[i].status),
                               groups[i].status_by_reset);
    for (int i = 0; i < round->volume_count; i++) {
        const struct volume *volume = &round->volumes[i];
        const struct volume_group key = { .id = volume->group_id }, *group = NULL;

        if (!volume->group_id)
            continue;
        if (count > 0)
            group = bsearch(&key, groups, (size_t)count, sizeof key, compare_ids);
        if (!group)
            round_found(round, "P5", "volume %s is in group %s, which does not exist", volume->id,
                        volume->group_id);
        else if (strcmp(group->project_id, volume->project_id) != 0)
            round_found(round, "P5", "volume %s is in group %s of another project", volume->id,
                        group->id);
        else if (volume->host && !group_is_at(work, group, volume->host))
            round_found(round, "P5", "volume %s is in group %s of another backend", volume->id,
                        group->id);
    }
    return 0;
}
