/*
 * Requirements on a qcow2 image of unknown origin before it becomes a volume: at least those of
 * QEMU for opening one, and no content but the one disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The reason to refuse the image, as the predicate of a sentence ("has features that are not
 * supported"); NULL: acceptable.  Reads the header and its extensions, with `tables` the entries of
 * the first two tables as well (at most 40 MiB).  The file may have any content.
 */
const char *qcow2_check(int fd, bool tables);
/* The same for an image that is only read: it need not be closed and consistent, but features that
 * the image service does not accept are refused here, too (extended L2).  Its size is valid with
 * NULL only. */
const char *qcow2_check_source(int fd, uint64_t *ret_virtual_bytes);
