/*
 * File systems whose journal keeps the order of changes.
 */
#pragma once

#include <stdbool.h>

/*
 * On the file system of `fd`: is every change of lengths, blocks, permissions and names durable
 * once a later change of a directory is, by a flush of that directory?  Then a length need not be
 * flushed before a file gets its name.  False also where it is unknown.
 */
bool metadata_order_kept(int fd);
