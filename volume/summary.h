/*
 * What the caller's volumes have in common, without reading the volumes one by one.
 * Count and size are volume_summary() of volume.h.
 */
#pragma once

#include "volume/volume.h"

/* Every different pair of user metadata, ordered by key and value. `all_projects` is for admins. */
int summary_metadata(struct work *work, bool all_projects, struct pairs *ret, struct error *err);
