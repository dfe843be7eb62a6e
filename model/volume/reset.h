/*
 * os-reset_status: an operator sets a volume's status.
 */
#pragma once

#include "model/volume/volume.h"

/* Each may be NULL; values in any case. */
int volume_reset_status(struct work *work, const struct volume *volume, const char *status,
                        const char *attach_status, const char *migration_status, struct error *err);
