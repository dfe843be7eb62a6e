/*
 * Limits of quotas, and the list of all resources with their usage.
 *
 * A limit is the project's own, else the one of the quota class "default", else the configured one;
 * for the resources of a type -1.
 */
#pragma once

#include "operation/work.h"

#define QUOTA_VOLUMES          "volumes"
#define QUOTA_GIGABYTES        "gigabytes"
#define QUOTA_SNAPSHOTS        "snapshots"
#define QUOTA_BACKUPS          "backups"
#define QUOTA_BACKUP_GIGABYTES "backup_gigabytes"
#define QUOTA_GROUPS           "groups"
#define QUOTA_PER_VOLUME       "per_volume_gigabytes" /* of a single one: checked, never used up */

/* Resources of each type of an object. */
struct quota_types {
    const char *const *resources; /* ended with NULL */
    /* SQL of the names that the caller sees, column name: $1 is 1 if all are visible, $2 the
     * project. */
    const char *names;
};

/* The resource of a type: volumes_T. */
char *quota_limit_of_type(struct arena *arena, const char *resource, const char *type_name);

struct quota {
    const char *resource;
    int64_t limit; /* -1: none */
    int64_t in_use, reserved;
};

/* Every resource of a project: the fixed ones, then those of each type; defaults_only leaves out
 * the project's own limits.  Returns how many. */
int quota_limit_list(struct work *work, const struct quota_types *types, const char *project_id,
                     bool defaults_only, struct quota **ret, struct error *err);
/* A class's own limits, else those of the class "default", else the configured ones. */
int quota_limit_list_class(struct work *work, const struct quota_types *types,
                           const char *class_name, struct quota **ret, struct error *err);
/* 1 there is a resource of this name, 0 none, -1 failed. */
int quota_limit_known(struct work *work, const struct quota_types *types, const char *resource,
                      struct error *err);
/* The configured limit, without rows. */
int64_t quota_limit_configured(const struct settings *settings, const char *resource);

/* A limit below present use is refused (ERROR_BAD_REQUEST) when the project has its own limit
 * already, as upstream does; the first one may be lower, so that a project can be stopped. */
int quota_limit_set(struct work *work, const char *project_id, const char *resource, int64_t limit,
                    struct error *err);
int quota_limit_set_class(struct work *work, const char *class_name, const char *resource,
                          int64_t limit, struct error *err);
/* Removes the project's own limits; usage stays. */
int quota_limit_reset(struct work *work, const char *project_id, struct error *err);

/* A type's resources follow its name: limits, classes, usage, reservations. */
int quota_limit_rename_type(struct work *work, const struct quota_types *types,
                            const char *old_name, const char *new_name, struct error *err);
int quota_limit_forget_type(struct work *work, const struct quota_types *types, const char *name,
                            struct error *err);
