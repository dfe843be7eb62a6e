/*
 * What the calls about volume groups have in common.
 */
#pragma once

#include "client/groups.h"
#include "csi/controller/controller.private.h"

#define OURS \
    "made by CSI" /* description of what is ours, and " for CLUSTER" where that has a name */

/* It goes with its volumes. */
extern const struct controller_kind group_kind;

/* The description of what this driver makes. */
const char *group_description(const struct grpc_call *call);
/* A query for what has the name of a mark, and whether a row of that has the mark. */
const char *group_query(struct arena *arena, const char *mark);
bool group_is_named(const char *have, const char *description, const char *mark);
/* controller_check_owner() by a description. */
int group_check_owner(const struct grpc_call *call, const char *label, const char *id,
                      const char *description, struct error *err);
/* Read anew, when it does not change any more. */
int group_again(const struct grpc_call *call, const struct client *api, struct remote_group *group,
                struct error *err);
/* With its members. */
int group_show(const struct client *api, struct arena *arena, const struct remote_group *group,
               Volumegroup__VolumeGroup **ret, struct error *err);

/* Whether a list of a group, of its volumes or their types, has the id. */
bool group_has(const json_t *ids, const char *id);
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
