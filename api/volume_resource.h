/*
 * Volumes as a resource: how one is loaded, what a list of them can be asked.
 */
#pragma once

#include "api/resource.h"

extern const struct resource volume_resource;
