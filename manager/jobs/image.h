/*
 * The content of an image for a new volume: as it is stored where the image is a raw disk,
 * otherwise through a copy in a file of this host and a qemu-nbd of its own.
 */
#pragma once

#include "manager/runtime/job.h"

struct volume_io;

/* Is the image of the job's operation active?  0, or -1. */
int job_image_check(struct job *job, struct error *err);

/*
 * The image of the job's operation, inspected before any tool reads it, and no larger than its
 * volume.  Reading the last byte fails with ERROR_BACKEND where the bytes are not those that the
 * image service has recorded the checksum of, or not those that were signed.  After a failure, also
 * of such a read, *ret_detail is the number of the user message, or unchanged.  When all bytes are
 * read *ret_verified is the row signature_verified of their volume; NULL: none.
 */
int job_image_open(struct job *job, struct volume_io **ret, const char **ret_detail,
                   const char **ret_verified, struct error *err);
