/*
 * Requirements on a volume of a group: in the group's project, of one of its types, on its backend.
 */
#pragma once

#include "model/group/group.h"
#include "model/type/type.h"

/* The group that a new volume of the caller's project shall be in; ERROR_NOT_FOUND,
 * ERROR_BAD_REQUEST. */
int group_for_new(struct work *work, const char *group_id, struct volume_group *ret,
                  struct error *err);
/* May volumes of the type (NULL: of none) be in it? */
bool group_takes_type(const struct volume_group *group, const char *type_id);
/* Is `host` (node@backend#pool, or NULL) on the group's backend? */
bool group_is_at(struct work *work, const struct volume_group *group, const char *host);
