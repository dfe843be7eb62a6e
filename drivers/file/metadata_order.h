/*
 * The order in which a file system makes changes durable.
 */
#pragma once

#include <stdbool.h>

struct metadata_order {
    /* Every change of lengths, blocks, permissions and names is durable once a later change of a
     * directory is, by a flush of that directory: a length need not be flushed before a file gets
     * its name. */
    bool kept;
    /* A file may be made without a name (O_TMPFILE), get its length and then its first name.  Where
     * the order is not kept the file is flushed behind its name: a loss of power before that may
     * leave the name, once the file system is repaired, with what the inode was before. */
    bool unnamed;
};

/* That of the file system of `fd`; nothing where it is unknown. */
struct metadata_order metadata_order_of(int fd);
