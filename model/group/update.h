/*
 * Changes of a group by users and operators: rows alone, in one transaction.
 */
#pragma once

#include "model/group/group.h"

struct group_changes {
    const char *name, *description;                         /* NULL: stays */
    const char *const *add_volumes, *const *remove_volumes; /* ids */
    unsigned add_count, remove_count;
};

/* PUT /groups/{id}: all of it or nothing. */
int group_update(struct work *work, const struct volume_group *group,
                 const struct group_changes *changes, struct error *err);
int group_reset_status(struct work *work, const struct volume_group *group, const char *status,
                       struct error *err);
