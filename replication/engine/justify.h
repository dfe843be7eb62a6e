/*
 * Which content of a block is right, where replicas differ behind the end of a storage daemon?  A
 * pure function of the contents and of what the replicas' write logs say
 * (replication/engine/write_log.h).
 *
 * What is relied on: entries are of a generation in which a write is answered only when every
 * replica has it, and each write has its entry before it is submitted.  So the newest entry of any
 * log is of the last write that was answered, or of a later one, and content that it confirms is
 * justified, in whichever replica it stands.  Other content has rotted, or lacks a write that was
 * in flight; where no content is justified, none is chosen.
 *
 * Each sector of 512 bytes is decided by itself, as disks write it.
 */
#pragma once

#include "replication/engine/write_log.h"

#define JUSTIFY_SECTOR 512
#define JUSTIFY_BLOCK  4096

struct justify_version {
    const unsigned char *content;
    const struct write_log_block *logged; /* by its replica's log; NULL: no entry */
};

enum justify_outcome {
    JUSTIFY_EQUAL,     /* nothing is to be done */
    JUSTIFY_CHOSEN,    /* ret has the content for all of them */
    JUSTIFY_UNDECIDED, /* a sector is not justified: the block stays as it is */
};

/* `size`: of the block, in whole sectors. Of two that are justified either may be chosen: the first
 * is. */
enum justify_outcome justify(const struct justify_version *versions, unsigned count, size_t size,
                             unsigned char *ret);
