#include "replication/engine/target_phases.h"

/* clang-format off */

static const char *const names[] = {
    [TARGET_IS_DOWN] = "Down",
    [TARGET_IS_WITHOUT_QUORUM] = "WithoutQuorum",
    [TARGET_IS_ABLE] = "Able",
    [TARGET_IS_STARTING] = "Starting",
    [TARGET_IS_IN_SYNC] = "InSync",
    [TARGET_IS_RESYNCHRONIZING] = "Resynchronizing",
    [TARGET_IS_UNDECIDED] = "Undecided",
    [TARGET_IS_SEALED] = "Sealed",
    [TARGET_IS_INCOMPLETE] = "Incomplete",
    [TARGET_IS_REVERTED] = "Reverted",
};

static const char *const events[] = {
    [TARGET_STARTS] = "starts",
    [TARGET_FOUND_TOO_FEW] = "too few replicas vote",
    [TARGET_FOUND_ENOUGH] = "enough replicas vote",
    [TARGET_SERVES_CLEAN] = "serves, clean stop",
    [TARGET_SERVES_UNCLEAN] = "serves, unclean stop",
    [TARGET_SERVES_SEALED] = "serves, sealed",
    [TARGET_ADOPTED] = "daemon adopted",
    [TARGET_REPORTS_LOST] = "reports lost",
    [TARGET_WRITE_MISSED] = "a replica misses a write",
    [TARGET_RESUMES] = "failed replicas resume",
    [TARGET_COMPARISON_BEGUN] = "comparison begins",
    [TARGET_BLOCK_UNDECIDED] = "a block has no majority",
    [TARGET_DECIDED] = "refused blocks are written",
    [TARGET_COMPARED] = "all compared and equal",
    [TARGET_REVERT_BEGUN] = "revert begins",
    [TARGET_REVERT_ENDED] = "revert ends",
    [TARGET_ENDED] = "daemon ended",
};

static const char *const actions[] = {
    [TARGET_NO_ACTION] = "-",
    [TARGET_RESYNCS] = "compare all",
    [TARGET_COMPARES] = "compare all once more",
    [TARGET_LOGS] = "log",
};

#define ENDS(STATE) { STATE, TARGET_ENDED, TARGET_IS_DOWN, TARGET_NO_ACTION, "No storage daemon runs." }
#define NO_CHANGE(STATE, EVENT, SENTENCE) { STATE, EVENT, STATE, TARGET_NO_ACTION, SENTENCE }

#define LOST "Reports of the storage daemon were lost."
#define MISSED "A replica missed a write, or its file is not the one that is served."

/* Clients are admitted. */
#define OPEN(STATE) \
    { STATE, TARGET_REPORTS_LOST, TARGET_IS_RESYNCHRONIZING, TARGET_RESYNCS, LOST }, \
    NO_CHANGE(STATE, TARGET_WRITE_MISSED, "The replica is evicted, or stays where it is needed."), \
    { STATE, TARGET_RESUMES, TARGET_IS_RESYNCHRONIZING, TARGET_RESYNCS, \
      "Too many replicas have missed writes; all are compared." }, \
    ENDS(STATE)

/* None is; a comparison changes nothing. */
#define SEALED(STATE, REVERTING) \
    { STATE, TARGET_REPORTS_LOST, TARGET_IS_INCOMPLETE, TARGET_NO_ACTION, LOST }, \
    { STATE, TARGET_WRITE_MISSED, TARGET_IS_INCOMPLETE, TARGET_NO_ACTION, MISSED }, \
    NO_CHANGE(STATE, TARGET_COMPARISON_BEGUN, "The replicas are compared."), \
    NO_CHANGE(STATE, TARGET_BLOCK_UNDECIDED, "The block is refused."), \
    { STATE, TARGET_REVERT_BEGUN, REVERTING, TARGET_NO_ACTION, \
      "The snapshot is written to the replicas." }, \
    ENDS(STATE)

static const struct state_row rows[] = {
    { TARGET_IS_DOWN, TARGET_STARTS, TARGET_IS_STARTING, TARGET_NO_ACTION, "The volume is started." },
    { TARGET_IS_DOWN, TARGET_ADOPTED, TARGET_IS_RESYNCHRONIZING, TARGET_RESYNCS,
      "Reports of the storage daemon before its adoption are not known." },
    { TARGET_IS_DOWN, TARGET_FOUND_TOO_FEW, TARGET_IS_WITHOUT_QUORUM, TARGET_NO_ACTION,
      "Too few replicas can be used." },
    { TARGET_IS_DOWN, TARGET_FOUND_ENOUGH, TARGET_IS_ABLE, TARGET_NO_ACTION,
      "The volume could be served." },
    ENDS(TARGET_IS_DOWN),
    ENDS(TARGET_IS_WITHOUT_QUORUM),
    ENDS(TARGET_IS_ABLE),

    { TARGET_IS_STARTING, TARGET_SERVES_CLEAN, TARGET_IS_IN_SYNC, TARGET_NO_ACTION,
      "The replicas are equal." },
    { TARGET_IS_STARTING, TARGET_SERVES_UNCLEAN, TARGET_IS_RESYNCHRONIZING, TARGET_RESYNCS,
      "The replicas are not resynchronized since an unclean stop." },
    { TARGET_IS_STARTING, TARGET_SERVES_SEALED, TARGET_IS_SEALED, TARGET_NO_ACTION,
      "The replicas are not resynchronized." },
    ENDS(TARGET_IS_STARTING),

    OPEN(TARGET_IS_IN_SYNC),
    NO_CHANGE(TARGET_IS_IN_SYNC, TARGET_COMPARISON_BEGUN, "The replicas are compared."),
    NO_CHANGE(TARGET_IS_IN_SYNC, TARGET_BLOCK_UNDECIDED, "The block is refused."),

    OPEN(TARGET_IS_RESYNCHRONIZING),
    NO_CHANGE(TARGET_IS_RESYNCHRONIZING, TARGET_COMPARISON_BEGUN, "The replicas are compared."),
    { TARGET_IS_RESYNCHRONIZING, TARGET_BLOCK_UNDECIDED, TARGET_IS_UNDECIDED, TARGET_NO_ACTION,
      "A block has no majority: it is refused, and all are compared once more." },
    { TARGET_IS_RESYNCHRONIZING, TARGET_COMPARED, TARGET_IS_IN_SYNC, TARGET_LOGS,
      "The replicas are equal." },

    OPEN(TARGET_IS_UNDECIDED),
    { TARGET_IS_UNDECIDED, TARGET_COMPARISON_BEGUN, TARGET_IS_RESYNCHRONIZING, TARGET_COMPARES,
      "The replicas are compared once more: blocks had no majority." },
    NO_CHANGE(TARGET_IS_UNDECIDED, TARGET_BLOCK_UNDECIDED, "The block is refused."),
    { TARGET_IS_UNDECIDED, TARGET_DECIDED, TARGET_IS_RESYNCHRONIZING, TARGET_RESYNCS,
      "Blocks that had no majority were written again; all replicas are compared." },

    SEALED(TARGET_IS_SEALED, TARGET_IS_SEALED),
    { TARGET_IS_SEALED, TARGET_REVERT_ENDED, TARGET_IS_REVERTED, TARGET_NO_ACTION,
      "The replicas have the snapshot's content." },
    SEALED(TARGET_IS_INCOMPLETE, TARGET_IS_INCOMPLETE),
    SEALED(TARGET_IS_REVERTED, TARGET_IS_SEALED),
};
static atomic_uint reached[LENGTH(rows)];

const struct state_table target_phases =
    STATE_TABLE("target of a volume", TARGET_IS_DOWN, names, events, actions, rows, reached);
