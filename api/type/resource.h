/*
 * Volume types as a resource: loaded; paging, sorting, and the filters is_public and extra_specs of
 * their list.
 */
#pragma once

#include "rest/resource.h"

extern const struct resource type_resource;
