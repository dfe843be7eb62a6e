/*
 * Volumes that the image service names as the place of an image's content (cinder://): volumes of
 * the image are clones of them.
 *
 * Such a location is not trusted: where the image service shows locations its users may add them.
 * The volume must be of the image's owner, or its metadata image_owner name that owner.
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

#include <jansson.h>

struct image_volume_search {
    const char *const *ids;      /* of volumes, until NULL: the first that may be cloned is used */
    const char *owner;           /* of the image; NULL: none */
    int64_t bytes;               /* of the image */
    const struct volume *volume; /* which is made of the image */
    bool is_found;
    bool waits;          /* until other operations on the volume have ended: it was released */
    struct volume found; /* unchanged until the operation ends */
};

/* The ids of the first volumes in the description of an image. */
const char *const *image_volumes_of(struct arena *arena, const json_t *image);
/* An operation_body of a create_from_image, with a struct image_volume_search. */
int image_volume_find(struct work *work, const struct operation *held, void *search,
                      struct error *err);
