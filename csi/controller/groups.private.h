/*
 * Common parts of the calls for volume groups.
 */
#pragma once

#include "client/groups.h"
#include "csi/controller/controller.private.h"

#define OURS \
    "made by CSI" /* description of the driver's groups, with " for CLUSTER" if that is
                   * configured */

/* It is deleted with its volumes. */
extern const struct controller_kind group_kind;
extern const struct controller_kind group_snapshot_kind;

/* The description of this driver's groups. */
const char *group_description(const struct grpc_call *call);
/* A query for the name in a mark, and the check whether a row has the mark. */
const char *group_query(struct arena *arena, const char *mark);
bool group_is_named(const char *have, const char *description, const char *mark);
/* controller_check_owner() by a description. */
int group_check_owner(const struct grpc_call *call, const char *label, const char *id,
                      const char *description, struct error *err);
/* Reads it again, and waits until its status is not transient. */
int group_again(const struct grpc_call *call, const struct client *api, struct remote_group *group,
                struct error *err);
/* With its members. */
int group_show(const struct client *api, struct arena *arena, const struct remote_group *group,
               Volumegroup__VolumeGroup **ret, struct error *err);

/* Is the id in the list of a group's volumes or types? */
bool group_has(const json_t *ids, const char *id);
/* Comma-separated lists: the requested volumes that are not in the group, each once; and those in
 * the group that are not requested. */
const char *group_missing(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count);
const char *group_surplus(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count);
/* Reads the volumes; each id is replaced by its canonical form. */
int group_read_members(const struct client *api, struct arena *arena, char **ids, size_t count,
                       struct remote_volume **ret, struct error *err);
/* One atomic change.  `code`: for a refusal because they do not fit. */
int group_change(const struct client *api, struct arena *arena, const char *id, const char *add,
                 const char *removed, enum grpc_code code, struct error *err);

grpc_handler group_create_call;
