/*
 * What becomes of a group with the last of its volumes: one that is deleted with them goes, and
 * where one stays, the group does so too; one that is made of others is available, or an error.
 */
#pragma once

#include "volume/group.h"

/* The rows, and its quota. */
int group_remove(struct work *work, const struct volume_group *group, struct error *err);
/* What is deleted and has no volumes any more goes. */
int group_settle(struct work *work, const char *group_id, struct error *err);
/* The delete of one of its volumes has ended otherwise. */
int group_keep(struct work *work, const char *group_id, struct error *err);
/* The create of one of its volumes has ended: a group that is being made with its volumes, and of
 * which no other is, is made.  request_id: of the user message. */
int group_made(struct work *work, const char *group_id, const char *request_id, struct error *err);
