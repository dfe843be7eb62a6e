/*
 * Limits of quotas, and the list of all resources with what is used of them.
 *
 * A limit is the project's own, else the one of the quota class "default", else the configured one;
 * for the resources of a type (volumes_T, gigabytes_T, snapshots_T) -1.
 */
#pragma once

#include "volume/volume.h"

#define QUOTA_PER_VOLUME "per_volume_gigabytes" /* of a single volume: checked, never used up */

struct quota {
    const char *resource;
    int64_t limit; /* -1: none */
    int64_t in_use, reserved;
};

/* Every resource of a project: the fixed ones, then three for each volume type; defaults_only
 * leaves out what is the project's own. Returns how many. */
int quota_limit_list(struct work *work, const char *project_id, bool defaults_only,
                     struct quota **ret, struct error *err);
/* A class's own limits, else those of the class "default", else the configured ones. */
int quota_limit_list_class(struct work *work, const char *class_name, struct quota **ret,
                           struct error *err);
/* 1 there is a resource of this name, 0 none, -1 failed. */
int quota_limit_known(struct work *work, const char *resource, struct error *err);
/* As the configuration says, before any row. */
int64_t quota_limit_configured(const struct settings *settings, const char *resource);

/* A limit below present use is refused (ERROR_BAD_REQUEST) when the project has its own limit
 * already, as upstream does; the first one may be lower, so that a project can be stopped. */
int quota_limit_set(struct work *work, const char *project_id, const char *resource, int64_t limit,
                    struct error *err);
int quota_limit_set_class(struct work *work, const char *class_name, const char *resource,
                          int64_t limit, struct error *err);
/* Removes what is the project's own; usage stays. */
int quota_limit_reset(struct work *work, const char *project_id, struct error *err);

/* A type's three resources follow its name: limits, classes, usage, reservations. */
int quota_limit_rename_type(struct work *work, const char *old_name, const char *new_name,
                            struct error *err);
int quota_limit_forget_type(struct work *work, const char *name, struct error *err);
