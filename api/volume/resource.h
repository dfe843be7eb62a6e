/*
 * Volumes as a resource: loading, and the filters of their list.
 */
#pragma once

#include "rest/resource.h"

extern const struct resource volume_resource;
