/*
 * Limits that are said for each GiB of a volume.
 *
 * Of the six limits (total, read and write; iops_sec and bytes_sec) NAME_per_gb is multiplied with
 * the size, is not less than NAME_per_gb_min, nor more than NAME_max, and comes as NAME; the three
 * are not told then.
 */
#pragma once

#include "ledger/pairs.h"

#include <jansson.h>

/* The specs as an object of its own; what is no number is told as it is. */
json_t *qos_scaled(const struct pairs *specs, int64_t size_gb);
