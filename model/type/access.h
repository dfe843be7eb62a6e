/*
 * Projects that may use a private volume type, beside the admins.  Public types have no such list
 * (ERROR_BAD_REQUEST for changes).
 */
#pragma once

#include "model/type/type.h"

/* Ids in order; returns how many. */
int type_access_list(struct work *work, const struct volume_type *type, const char ***ret,
                     struct error *err);
/* ERROR_CONFLICT for a project that is in the list already. */
int type_access_add(struct work *work, const struct volume_type *type, const char *project_id,
                    struct error *err);
/* ERROR_NOT_FOUND for one that is not. */
int type_access_remove(struct work *work, const struct volume_type *type, const char *project_id,
                       struct error *err);
