/*
 * Common parts of the calls for volume groups.
 */
#pragma once

#include "client/groups.h"
#include "csi/controller/controller.private.h"

/* It is deleted with its volumes. */
extern const struct controller_kind group_kind;
extern const struct controller_kind group_snapshot_kind;

/* ---- descriptions ---- */

/* That of this driver's groups and group snapshots. */
const char *group_description(const struct grpc_call *call);
/* That of a group until its first volumes join: no response has reported it before. */
const char *group_description_of_unreported(const struct grpc_call *call);
/* Has it one of both, of a driver for any cluster?  The second one? */
bool group_is_of_driver(const struct remote_group *group);
bool group_is_described_as_unreported(const struct remote_group *group);
/* The same without volumes: any call may delete it. */
bool group_is_unreported(const struct remote_group *group);
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

/* Comma-separated lists: the requested volumes that are not in the group, each once; and those in
 * the group that are not requested. */
const char *group_missing(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count);
const char *group_surplus(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count);
/* Reads the volumes; each id is replaced by its canonical form. */
int group_read_members(const struct client *api, struct arena *arena, char **ids, size_t count,
                       struct remote_volume **ret, struct error *err);
/*
 * One atomic change: the volumes are added, with `removes` all others are removed, and an
 * unreported group is so no more.  `code`: for a refusal because they do not fit; GRPC_ABORTED
 * while a volume is in a transient state or when the group has changed meanwhile, GRPC_INTERNAL for
 * one that has failed.
 */
int group_change(const struct grpc_call *call, const struct client *api,
                 const struct remote_group *group, char *const *ids, size_t count, bool removes,
                 enum grpc_code code, struct error *err);
/* GRPC_ABORTED: after a change it has other volumes than these. */
int group_check_members(struct arena *arena, const struct remote_group *group, char *const *ids,
                        size_t count, struct error *err);
/* Deletes a group without volumes, and no other one. */
int group_remove_empty(const struct client *api, struct arena *arena, const char *id,
                       struct error *err);

grpc_handler group_create_call, group_modify_call;
