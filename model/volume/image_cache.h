/*
 * The image cache of a backend: volumes of images are clones of its entries.
 *
 * An entry is a volume with the content of one image.  It belongs to the internal project, counts
 * in no quota, and has the status maintenance, in which it is neither attached nor changed.  Its
 * name has the id of the image, and its description the version of that image's content, and
 * whether it was verified as a signed one.
 * An entry is created from the image as any volume is, before the first volume that is a clone of
 * it.
 *
 * The right to an image is checked by the request, before there is an operation that reads an
 * entry.
 */
#pragma once

#include "model/volume/image_cache_entry.h"
#include "operation/operation.h"

struct image_cache_limits {
    bool is_enabled;
    int64_t gb_most, entries_most; /* of one backend; 0: unlimited */
};

enum image_cache_outcome {
    IMAGE_CACHE_UNUSED, /* the content is that of the image itself */
    IMAGE_CACHE_HIT,    /* or of this entry, which remains until the operation ends */
    IMAGE_CACHE_WAITS,  /* an entry is being created: the operation was released until then */
};

struct image_cache_search {
    const struct image_cache_limits *limits;
    const struct volume *volume;
    enum image_cache_outcome outcome;
    struct volume entry; /* of a hit */
};

/* An operation_body of a create_from_image, with a struct image_cache_search: finds the entry of
 * the image on the pool of the volume, or begins to create one. */
int image_cache_find(struct work *work, const struct operation *held, void *search,
                     struct error *err);
/* An administrator has set the status of the volume: an entry becomes a volume as any other, with
 * the name former-image-..., as its content may be changed from now on. */
int image_cache_release(struct work *work, const struct volume *volume, struct error *err);
