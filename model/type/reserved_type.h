/*
 * The group type of consistency groups, which the groups API does not show.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#define GROUP_TYPE_RESERVED "default_cgsnapshot_type"

static inline bool group_type_is_reserved(const char *name) {
    return strcmp(name, GROUP_TYPE_RESERVED) == 0;
}
