/*
 * File systems whose order of changes is known.
 */
#pragma once

#include <stdbool.h>

/*
 * On the file system of `fd`: is every change of lengths, blocks, permissions and names durable
 * once a later change of a directory is, by a flush of that directory?  Then a length need not be
 * flushed before a file gets its name.  False also where it is unknown.
 */
bool metadata_order_kept(int fd);

/*
 * May a file be made there without a name (O_TMPFILE), get its length and then its first name?
 * Where the order is not kept the file is flushed behind its name.  A loss of power before that may
 * leave the name, once the file system is repaired, with what the inode was before.
 */
bool metadata_unnamed_kept(int fd);
