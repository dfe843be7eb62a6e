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
    const char *project_id; /* of the request */
    int64_t bytes;        /* of the image that an earlier worker has sent, or a part; 0: unknown */
    const char *clone_id; /* a volume that is to be the place of the content; NULL: none */
    bool registers;       /* the image service may know that place */
    bool sends_bytes;     /* there is none any more, and none is made again */
};
int volume_upload_target(struct arena *arena, const struct operation *operation,
                         struct upload_target *ret);
/* Before a worker sends the bytes of the image: an operation_body, for their int64_t number. */
int volume_upload_note(struct work *work, const struct operation *held, void *bytes,
                       struct error *err);

/*
 * A clone of the volume as the place of the content of a raw image.  It belongs to the project of
 * the request or to the internal one, counts there as any volume, can be attached for reading only,
 * and names the image and the project of the request in its metadata, which the image service
 * compares with the owner of the image.
 *
 * These are operation_body functions.  The first creates it: the operation was released until its
 * create has ended.
 */
struct upload_clone {
    const char *project_id, *user_id; /* NULL: those of the request */
    bool begun;                       /* false: the pool has no space */
};
int volume_upload_clone(struct work *work, const struct operation *held, void *clone,
                        struct error *err);
/* Before the image service gets the place; without an argument. */
int volume_upload_register(struct work *work, const struct operation *held, void *arg,
                           struct error *err);
/* It certainly knows none: the clone is deleted, and the bytes are sent.  Without an argument. */
int volume_upload_leave_clone(struct work *work, const struct operation *held, void *arg,
                              struct error *err);
/* A work_body with a struct upload_target: deletes its clone, if it has one. */
int volume_upload_drop_clone(struct work *work, void *target, struct error *err);

/* Its result. */
enum upload_step {
    UPLOAD_READS,    /* opens the volume, or makes a snapshot of it */
    UPLOAD_CONVERTS, /* in the directory for conversions */
    UPLOAD_SENDS,
};

struct upload_ending {
    const struct error *failure; /* NULL: done */
    enum upload_step step;       /* of the failure */
    bool image_stays;            /* perhaps: a clone that it may have for its content stays, too */
};
