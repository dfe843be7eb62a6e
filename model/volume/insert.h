/*
 * The row of a new volume.
 */
#pragma once

#include "model/volume/volume.h"

/* The row alone, with its metadata. */
int volume_insert(struct work *work, const struct volume *volume, struct error *err);
