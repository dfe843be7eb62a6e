/*
 * The content of a volume becomes that of another image: os-reimage (3.68).
 */
#pragma once

#include "model/volume/image.h"
#include "model/volume/volume.h"

/* ERROR_BAD_REQUEST: not in this state, or attached; `reserved_too`: a reserved volume is accepted.
 * ERROR_CONFLICT: more than one attachment.  Changes nothing. */
int volume_reimage_check(const struct volume *volume, bool reserved_too, struct error *err);
/* After that check.  ERROR_BAD_REQUEST also where the image does not fit. */
int volume_reimage(struct work *work, const struct volume *volume, const struct volume_image *image,
                   struct error *err);

/* Its result. */
struct reimage_ending {
    const struct error *failure;    /* NULL: done */
    const char *detail;             /* of the user message; NULL: the kind's */
    const char *signature_verified; /* in the metadata; NULL: it has no such row */
};
