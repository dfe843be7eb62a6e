/*
 * The end of work on the last volume of a group: a group that is deleted with its volumes is
 * removed, and stays if one of them stays; a group created from others becomes available, or an
 * error.
 */
#pragma once

#include "model/group/group.h"

/* Removes a deleted group without volumes. */
int group_finish_delete(struct work *work, const char *group_id, struct error *err);
/* The delete of one of its volumes has failed. */
int group_keep(struct work *work, const char *group_id, struct error *err);
/* The create of one of its volumes has ended: completes the creation of its group after the last
 * one. request_id: of the user message. */
int group_made(struct work *work, const char *group_id, const char *request_id, struct error *err);
