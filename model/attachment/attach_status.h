/*
 * The statuses of a volume that follow from its attachment rows; no other module writes those.
 */
#pragma once

#include "model/volume/volume.h"

/* Different instances among attachments that are more than reserved (X19); attachments without an
 * instance do not count.  The list is the arena's; returns how many. */
unsigned attachment_instances(struct arena *arena, const struct volume *volume,
                              const char *const **ret);
/* The status that the volume's attachment rows give it: in-use, attaching, detaching, reserved or
 * available (R20). */
enum volume_status attachment_status_of(const struct volume *volume);

/* From the status that `volume` was read with; a miss is ERROR_BAD_REQUEST.  A volume whose storage
 * was never made, or may be gone, gets no usable status: it keeps that of its error. */
int attach_status_write(struct work *work, const struct volume *volume, enum volume_status wanted,
                        struct error *err);
/* Can it be attached?  ERROR_BAD_REQUEST without storage. */
int attach_status_check(const struct volume *volume, struct error *err);

/*
 * Reads the rows again and writes status and attach_status accordingly.  A status that an operation
 * owns stays (a pending extend, X45; migrating and uploading volumes too): the operation is
 * reevaluated (X30).
 */
int attach_status_follow(struct work *work, const char *volume_id, struct error *err);
