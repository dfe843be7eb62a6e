#include "model/group/member.h"

#include "operation/host.h"

#include <string.h>

bool group_takes_type(const struct volume_group *group, const char *type_id) {
    for (unsigned i = 0; type_id && i < group->volume_type_count; i++)
        if (strcmp(group->volume_types[i], type_id) == 0)
            return true;
    return false;
}

bool group_is_at(struct work *work, const struct volume_group *group, const char *host) {
    return group->host && host &&
           strcmp(host_backend(work->arena, group->host), host_backend(work->arena, host)) == 0;
}

int group_for_new(struct work *work, const char *group_id, struct volume_group *ret,
                  struct error *err) {
    struct volume_group group;

    if (group_get(work, group_id, &group, err) < 0)
        return -1;
    if (strcmp(group.project_id, work->context->project_id) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid group: Group %s is another project's, and a volume of this one "
                         "cannot be in it.",
                         group.id);
    if (group.status != GROUP_AVAILABLE && group.status != GROUP_CREATING)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid group: Group %s status must be available or creating to get a "
                         "volume, but current status is: %s.",
                         group.id, group_status_text(group.status));
    if (!group.host)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid group: Group %s is on no backend and cannot get a volume.",
                         group.id);
    *ret = group;
    return 0;
}
