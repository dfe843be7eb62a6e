/*
 * What a qcow2 image of unknown origin must be before it becomes a volume: at least what QEMU asks
 * of one that it opens, and nothing in it but the one disk.
 */
#pragma once

#include <stdbool.h>

/*
 * Why the image may not be taken over, as what follows its name in a sentence ("has features that
 * are not supported"); NULL: it may.  Reads the header and its extensions, with `tables` the entries
 * of the first two tables as well (at most 40 MiB).  The file may be of any content.
 */
const char *qcow2_check(int fd, bool tables);
