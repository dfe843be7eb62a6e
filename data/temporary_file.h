/*
 * Files that end with their last descriptor: no other program finds them, and a process that is
 * killed leaves none.
 */
#pragma once

#include "common/error.h"

#include <stdint.h>

/* Opens an empty one in the directory, which is made if it is missing and then private.  The
 * descriptor, or -1. */
int temporary_file_open(const char *directory, struct error *err);

/* Is there space for so many bytes more in its file system?  A part of that stays for others, such
 * as the database.  An errno, or 0. */
int temporary_file_check_space(int fd, int64_t bytes);

/* The same without the space that was promised to other files of this process, which are all in one
 * directory; and promises it.  What a file has taken, or does not need, is released.
 * Thread-safe. */
int temporary_file_promise(int fd, int64_t bytes);
void temporary_file_release(int64_t bytes);
