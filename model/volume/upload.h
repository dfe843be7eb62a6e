/*
 * An image made of a volume: the request creates the image without data, on behalf of its caller,
 * and a manager uploads the data.
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

struct volume_upload {
    const char *image_name, *disk_format, *container_format;
    const char *visibility; /* NULL: the image service's default */
    bool sets_protection, is_protected;
    bool force; /* an attached volume, too, where the configuration has that */
};

/* ERROR_BAD_REQUEST: not of this volume, not now, or not as such an image.  Changes nothing. */
int volume_upload_check(struct work *work, const struct volume *volume,
                        const struct volume_upload *upload, struct error *err);
/* JSON for the image service: with the properties in the image metadata of the volume. */
const char *volume_upload_describe(struct work *work, const struct volume *volume,
                                   const struct volume_upload *upload);
/* After the check, in the same transaction. */
int volume_upload(struct work *work, const struct volume *volume,
                  const struct volume_upload *upload, const char *image_id, struct error *err);

/* The target of the operation; text in the arena, ids are UUIDs.  0: it has none. */
struct upload_target {
    const char *image_id, *disk_format;
    int64_t bytes; /* of the image that an earlier worker has sent, or a part; 0: unknown */
};
int volume_upload_target(struct arena *arena, const struct operation *operation,
                         struct upload_target *ret);
/* Before a worker sends the bytes of the image: an operation_body, for their int64_t number. */
int volume_upload_note(struct work *work, const struct operation *held, void *bytes,
                       struct error *err);
/* Its result. */
struct upload_ending {
    const struct error *failure; /* NULL: done */
};
