/*
 * Volume types as a resource: loaded; paging, sorting, and the filters is_public and extra_specs of
 * their list.
 */
#pragma once

#include "api/resource.h"

extern const struct resource type_resource;
