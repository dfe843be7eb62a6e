/*
 * Which content of a block is right, where replicas differ after the end of a storage daemon? A
 * pure function of the contents and of the entries in the replicas' write logs
 * (replication/engine/write_log.h).
 *
 * It relies on two promises. A write is answered only when as many replicas have it as are needed,
 * so where as many of them are equal they have the last answered write
 * (replication/engine/quorum.h). And the newest entry of any log is of the last answered write, or
 * of a later one (replication/engine/target_logs.c), so content that it confirms is justified, in
 * whichever replica it stands. Other content has rotted, or lacks a write that was in flight; where
 * no content is justified, none is chosen.
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
    JUSTIFY_EQUAL,     /* no change is needed */
    JUSTIFY_CHOSEN,    /* ret has the content for all of them */
    JUSTIFY_UNDECIDED, /* a sector is not justified: the block stays as it is */
};

/* `needed`: as many equal replicas decide, whatever the logs have. `size`: of the block, in whole
 * sectors. Of two justified contents either may be chosen: the first is. */
enum justify_outcome justify(const struct justify_version *versions, unsigned count,
                             unsigned needed, size_t size, unsigned char *ret);
