/*
 * Creating a group: rows alone, no backend is involved.
 */
#pragma once

#include "model/group/group.h"

struct group_new {
    const char *name, *description;
    const char *group_type;          /* id or name; NULL: that of consistency groups */
    const char *const *volume_types; /* ids or names */
    unsigned volume_type_count;
    const char *availability_zone; /* NULL: the default */
};

/* With no backend that takes all its volume types the row has status error, and the user a
 * message. */
int group_create(struct work *work, const struct group_new *request, struct volume_group *ret,
                 struct error *err);
/* The row, its volume types, its quota: for a group with everything but an id and its instant. */
int group_insert(struct work *work, struct volume_group *group, struct error *err);
