/*
 * The image of a new volume: its description by the image service, as an object of the API v2.
 *
 * Of that only these are trusted: the identity, and that the caller may see it.  The bytes are
 * inspected by the worker (data/image_inspect.h).
 */
#pragma once

#include "model/volume/image_signature.h"
#include "operation/operation.h"
#include "operation/pairs.h"

struct volume_image {
    const char *id, *status;
    const char *disk_format, *container_format; /* "" when unset */
    const char *type;                           /* requested by the image; NULL: none */
    const char *hash_algorithm, *hash;          /* of its stored bytes, lower case; NULL: unknown */
    const char *version;   /* of its description and content, in order of time; NULL: unknown */
    int64_t bytes;         /* stored */
    int64_t virtual_bytes; /* 0: unknown */
    int64_t min_disk_gb;
    bool without_source; /* no volume with its content is used in its place any more */
    struct image_signature signature;
    struct pairs metadata; /* of a volume with its content */
};

/* Text in the arena, and in `image`.  ERROR_BAD_REQUEST: impossible, or with half a signature where
 * signatures are to be verified. */
int volume_image_read(const struct work *work, const json_t *image, struct volume_image *ret,
                      struct error *err);
/* Is a volume of that size made of it?  ERROR_BAD_REQUEST with the reason. */
int volume_image_check(const struct volume_image *image, int64_t size_gb, struct error *err);

/* Is it signed, and its signature to be verified? */
bool volume_image_is_to_be_verified(const struct settings *settings,
                                    const struct volume_image *image);
/* Of the content, rounded up; 0: unknown before the bytes are read. */
int64_t volume_image_gb(const struct volume_image *image);

/* Is it a member that every image has, by its name, and no property? */
bool volume_image_has_member(const char *key);

#define VOLUME_IMAGE_NO_CONVERSION_SPACE \
    "No space is left in the directory for the conversion of images."

/* The message about a failure to make a content of an image.  `detail`: the image's own reason;
 * NULL: `otherwise`. */
int volume_image_failed(struct work *work, const struct operation *held,
                        const struct error *failure, const char *detail, const char *otherwise,
                        struct error *err);

/* As the arguments of an operation, and back; 0 when it has none. */
const char *volume_image_print(const struct work *work, const struct volume_image *image);
int volume_image_of(struct arena *arena, const struct operation *operation,
                    struct volume_image *ret);

#define VOLUME_IMAGE_VERIFIED "True"
#define VOLUME_IMAGE_UNSIGNED "False"

/* The content of the image is that of a system, and its description the volume's: of the
 * operation's image, if it has one.  `verified`: whether its signature was; NULL: nothing was
 * downloaded or verified. */
int volume_image_describe(struct work *work, const struct operation *held, const char *verified,
                          struct error *err);

/* The volume may have other bytes than those of its image, after a failure to write them anew. */
int volume_image_spoiled(struct work *work, const char *volume_id, struct error *err);

/* An operation_body: the operation uses the image itself from now on, and is in the queue of no
 * volume with its content any more, which a download would block. */
int volume_image_leave_source(struct work *work, const struct operation *held, void *arg,
                              struct error *err);
