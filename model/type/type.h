/*
 * Volume types, their extra specs and the projects that may use private ones.
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/quota_limit.h"

struct volume_type {
    const char *id, *name, *description, *qos_specs_id;
    bool is_public, is_encrypted;
    struct pairs extra_specs; /* values may be NULL */
    int64_t created_at, updated_at;
};

#define TYPE_SPEC_ZONES \
    "RESKEY:availability_zones" /* "az1,az2": the allowed zones of its volumes */

/* Condition on volume_types t: public, or shared with the project of that parameter. */
#define TYPE_SHARED_WITH(project)                                       \
    "(t.is_public = 1 OR EXISTS (SELECT 1 FROM volume_type_projects p " \
    "WHERE p.volume_type_id = t.id AND p.project_id = " project "))"

/* The quotas of each type. */
extern const struct quota_types volume_type_quotas;

/* By id, visible to the caller (public, shared with its project, or an admin). ERROR_NOT_FOUND. */
int volume_type_get(struct work *work, const char *id, struct volume_type *ret, struct error *err);
/* By id, without visibility checks; for checks inside operations. */
int volume_type_row(struct work *work, const char *id, struct volume_type *ret, struct error *err);
/* provisioning:min_vol_size and provisioning:max_vol_size (GiB) of the extra specs:
 * ERROR_BAD_REQUEST. */
int volume_type_check_size(const struct volume_type *type, int64_t size_gb, struct error *err);
/* Is the spec "<is> True"?  Of an extra spec, and of those of any type. */
bool volume_type_is(const struct volume_type *type, const char *spec);
bool spec_is_true(const struct pairs *specs, const char *key);
/* By id or name, visible to the caller; for POST /volumes and filters. */
int volume_type_find(struct work *work, const char *id_or_name, struct volume_type *ret,
                     struct error *err);
/* The default of the caller's project (ERROR_NOT_FOUND when the project may not see it any more),
 * else the configured one (ERROR_INTERNAL when it is misconfigured). */
int volume_type_default(struct work *work, struct volume_type *ret, struct error *err);
/* As volume_list(), alias t. */
int volume_type_list(struct work *work, const struct query *query, struct volume_type **ret,
                     struct error *err);

/* A taken name is ERROR_CONFLICT; multiattach together with cacheable ERROR_BAD_REQUEST. */
int volume_type_create(struct work *work, const char *name, const char *description, bool is_public,
                       const struct pairs *extra_specs, struct volume_type *ret, struct error *err);
/* A new name renames the type's quotas. NULL name: stays; description only when set_description;
 * is_public -1: stays. */
int volume_type_update(struct work *work, const struct volume_type *type, const char *name,
                       bool set_description, const char *description, int is_public,
                       struct error *err);
/* Refused (ERROR_BAD_REQUEST) while volumes have it or groups may have them, and for the
 * default, that of a project, and the last type. */
int volume_type_delete(struct work *work, const struct volume_type *type, struct error *err);

/* ERROR_BAD_REQUEST when there are volumes of the type. */
int volume_type_check_unused(struct work *work, const struct volume_type *type, struct error *err);

/* Extra specs change only while no volume has the type (ERROR_BAD_REQUEST). */
int volume_type_specs_set(struct work *work, const struct volume_type *type,
                          const struct pairs *specs, struct error *err);
int volume_type_spec_delete(struct work *work, const struct volume_type *type, const char *key,
                            struct error *err);

/* Makes __DEFAULT__ in a fresh database: one without any type. */
int volume_type_bootstrap(struct work *work, struct error *err);
