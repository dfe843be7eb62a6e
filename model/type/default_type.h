/*
 * Default volume types of projects, for requests without a type.  They override the configured
 * default.
 */
#pragma once

#include "model/volume/volume.h"

struct default_type {
    const char *project_id, *volume_type_id;
};

/* 1 found, 0 the project has none. */
int default_type_get(struct work *work, const char *project_id, struct default_type *ret,
                     struct error *err);
/* In the order of the projects; how many. */
int default_type_list(struct work *work, struct default_type **ret, struct error *err);
/* Sets or replaces it. */
int default_type_set(struct work *work, const char *project_id, const char *volume_type_id,
                     struct error *err);
/* Also when there is none. */
int default_type_unset(struct work *work, const char *project_id, struct error *err);
