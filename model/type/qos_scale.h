/*
 * Limits for each GiB of a volume.
 *
 * Of the six limits (total, read and write; iops_sec and bytes_sec) NAME_per_gb is multiplied with
 * the size, is not less than NAME_per_gb_min, nor more than NAME_max, and replaces NAME; the three
 * are left out then.
 */
#pragma once

#include "operation/pairs.h"

#include <jansson.h>

/* The specs as an object of its own; a value that is no number stays unchanged. */
json_t *qos_scaled(const struct pairs *specs, int64_t size_gb);
