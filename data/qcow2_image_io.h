/*
 * The content of a volume as a qcow2 image (version 3) that is read: a filter that makes the image
 * while it is read, for the upload of one.  Nothing is stored, and zeros of the content take no
 * space in the image.
 *
 * The layout follows from the extents, which are queried when it is opened: the content does not
 * change until it is closed.  Not writable.
 */
#pragma once

#include "data/volume_io.h"

/* ERROR_BACKEND: the size of the content is not a positive multiple of 512.  Owns `next`, also when
 * it fails (NULL). */
struct volume_io *qcow2_image_io_open(struct volume_io *next, struct error *err);
