/*
 * Group types, and the meaning of their group specs.
 */
#pragma once

#include "operation/pairs.h"
#include "operation/query.h"

struct group_type {
    const char *id, *name, *description;
    bool is_public;
    struct pairs specs; /* values may be NULL */
    int64_t created_at, updated_at;
};

/* Condition on group_types t: public, or shared with the project of that parameter. */
#define GROUP_TYPE_SHARED_WITH(project)                                \
    "(t.is_public = 1 OR EXISTS (SELECT 1 FROM group_type_projects p " \
    "WHERE p.group_type_id = t.id AND p.project_id = " project "))"

/* By id, visible to the caller (public, shared with its project, or an admin). ERROR_NOT_FOUND. */
int group_type_get(struct work *work, const char *id, struct group_type *ret, struct error *err);
/* By id, without visibility checks. */
int group_type_row(struct work *work, const char *id, struct group_type *ret, struct error *err);
/* By id or name, visible to the caller. */
int group_type_find(struct work *work, const char *id_or_name, struct group_type *ret,
                    struct error *err);
#define GROUP_TYPE_DEFAULT "__DEFAULT__"
/* The configured one; ERROR_NOT_FOUND when there is none. */
int group_type_default(struct work *work, struct group_type *ret, struct error *err);
/* Rows for a list, over the alias t. */
int group_type_list(struct work *work, const struct query *query, struct group_type **ret,
                    struct error *err); /* how many, or -1 */

/* A taken name is ERROR_CONFLICT. */
int group_type_create(struct work *work, const char *name, const char *description, bool is_public,
                      const struct pairs *specs, struct group_type *ret, struct error *err);
/* NULL name or description: stays; is_public -1: stays. */
int group_type_update(struct work *work, const struct group_type *type, const char *name,
                      const char *description, int is_public, struct error *err);
/* Refused (ERROR_BAD_REQUEST) while groups or group snapshots have it, and for the default. */
int group_type_delete(struct work *work, const struct group_type *type, struct error *err);

/* ERROR_BAD_REQUEST for the one of consistency groups. */
int group_type_refuse_reserved(const char *name, struct error *err);
/* Do groups of the type replicate? */
bool group_type_replicates(const struct group_type *type);

int group_type_specs_set(struct work *work, const struct group_type *type,
                         const struct pairs *specs, struct error *err);
int group_type_spec_delete(struct work *work, const struct group_type *type, const char *key,
                           struct error *err);

/* Makes the reserved one in a fresh database, one without any group type; and GROUP_TYPE_DEFAULT
 * where that is the configured default and there is none. */
int group_type_bootstrap(struct work *work, struct error *err);
