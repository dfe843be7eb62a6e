/*
 * Deleting a group: at once, or with the last of its volumes (end.h).
 */
#pragma once

#include "model/group/group.h"

int group_delete(struct work *work, const struct volume_group *group, bool delete_volumes,
                 struct error *err);
