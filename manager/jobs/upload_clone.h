/*
 * A clone of the volume as the place of the content of a raw image (cinder://), in place of the
 * bytes: created by an operation of its own, which the upload lets pass, then registered with the
 * image service.
 */
#pragma once

#include "manager/runtime/job.h"
#include "model/volume/upload.h"

/* Is a clone to be made, as the backend is configured, or was one begun? */
bool job_upload_clones(const struct job *job, const struct upload_target *target);

/* Of an image with this status whose place was to be registered. */
bool job_upload_has_place(const char *status);

enum upload_clone_outcome {
    UPLOAD_CLONE_REGISTERED = 0,
    UPLOAD_CLONE_UNUSED, /* there is none any more: the bytes are to be sent */
    UPLOAD_CLONE_WAITS,  /* the operation was released, or has another worker */
};
/* The outcome, or -1.  The image service has responded that the image waits for its data. */
int job_upload_clone(struct job *job, const struct upload_target *target, struct error *err);
