/*
 * Image metadata of a volume (table volume_glance_metadata): what the image said that the volume
 * was made from, changed by the volume's image actions.  Read with the volume's details (volume.h).
 *
 * Like user metadata it stays as it is while the volume is in maintenance or being uploaded
 * (ERROR_BAD_REQUEST).
 */
#pragma once

#include "volume/volume.h"

extern const struct pair_rows image_metadata_rows;

/* Adds or overwrites. */
int image_metadata_set(struct work *work, const struct volume *volume, const struct pairs *pairs,
                       struct error *err);
int image_metadata_delete(struct work *work, const struct volume *volume, const char *key,
                          struct error *err); /* ERROR_NOT_FOUND when absent */
