/*
 * The end of a group that is deleted with its volumes: it goes with the last of them, and where one
 * stays, the group does so too.
 */
#pragma once

#include "volume/group.h"

/* The rows, and its quota. */
int group_remove(struct work *work, const struct volume_group *group, struct error *err);
/* What is deleted and has no volumes any more goes. */
int group_settle(struct work *work, const char *group_id, struct error *err);
/* The delete of one of its volumes has ended otherwise. */
int group_keep(struct work *work, const char *group_id, struct error *err);
