/*
 * What the calls about volume groups have in common.
 */
#pragma once

#include "client/groups.h"
#include "csi/controller.private.h"

#define OURS "made by CSI" /* description of what is ours */

/* GRPC_NOT_FOUND. */
int group_read(const struct client *api, struct arena *arena, const char *id,
               struct remote_group *ret, struct error *err);
/* As controller_settled(). */
int group_settled(const struct grpc_call *call, const struct client *api,
                  struct remote_group *group, struct error *err);
/* As it is now, with its members. */
int group_show_again(const struct client *api, struct arena *arena, const char *id,
                     Volumegroup__VolumeGroup **ret, struct error *err);

/* Lists with commas: of the wanted ones those that are not in it, each once; and of those in it
 * those that are not wanted. */
const char *group_missing(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count);
const char *group_surplus(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count);
/* The volumes that the ids name; an id is brought into the form that the API shows. */
int group_read_members(const struct client *api, struct arena *arena, char **ids, size_t count,
                       struct remote_volume **ret, struct error *err);
/* One change of all; a refusal has changed nothing.  `code`: what it means when they do not fit. */
int group_change(const struct client *api, struct arena *arena, const char *id, const char *add,
                 const char *removed, enum grpc_code code, struct error *err);

grpc_handler group_create_call;
