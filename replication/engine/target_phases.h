/*
 * A target as a state table: whether it serves, and whether its replicas are known to be equal.
 */
#pragma once

#include "common/state_table.h"

enum target_phase {
    TARGET_IS_DOWN,           /* no storage daemon; nor in the next two: */
    TARGET_IS_WITHOUT_QUORUM, /* the last start has found too few replicas */
    TARGET_IS_ABLE,           /* the last start was a dry run, and has found enough */
    TARGET_IS_STARTING,
    TARGET_IS_IN_SYNC, /* from here on it serves: all voters are equal, but for damage */
    TARGET_IS_RESYNCHRONIZING,
    TARGET_IS_UNDECIDED,  /* the same, and a block of this comparison has no majority */
    TARGET_IS_SEALED,     /* no client is admitted, and the replicas may differ until a revert */
    TARGET_IS_INCOMPLETE, /* the same, and a replica may have missed a part of the revert */
    TARGET_IS_REVERTED,   /* no client is admitted, and the replicas have the snapshot's content */
};

enum target_event {
    TARGET_STARTS,
    TARGET_FOUND_TOO_FEW,
    TARGET_FOUND_ENOUGH,
    TARGET_SERVES_CLEAN,
    TARGET_SERVES_UNCLEAN,
    TARGET_SERVES_SEALED,
    TARGET_ADOPTED,
    TARGET_REPORTS_LOST,
    TARGET_WRITE_MISSED,
    TARGET_RESUMES, /* with voters that have missed writes */
    TARGET_COMPARISON_BEGUN,
    TARGET_BLOCK_UNDECIDED,
    TARGET_DECIDED, /* refused blocks have a majority: they were written again */
    TARGET_COMPARED,
    TARGET_REVERT_BEGUN,
    TARGET_REVERT_ENDED,
    TARGET_ENDED, /* the storage daemon */
};

enum target_action {
    TARGET_NO_ACTION,
    TARGET_RESYNCS,  /* a new reason: all is compared, from the beginning on */
    TARGET_COMPARES, /* the same once more, for the present reason */
    TARGET_LOGS,     /* it is logged */
};

extern const struct state_table target_phases;
