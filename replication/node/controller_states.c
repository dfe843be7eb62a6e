#include "replication/node/controller_states.h"

/* clang-format off */
static const char *const names[] = {
    [CONTROLLER_IDLE] = "Idle",
    [CONTROLLER_CLAIMING] = "Claiming",
    [CONTROLLER_STARTING] = "Starting",
    [CONTROLLER_EVALUATING] = "Evaluating",
    [CONTROLLER_SERVING] = "Serving",
    [CONTROLLER_REVERTING] = "Reverting",
    [CONTROLLER_STOPPING] = "Stopping",
    [CONTROLLER_RELEASED] = "Released",
    [CONTROLLER_ENDED] = "Ended",
};

static const char *const events[] = {
    [CONTROLLER_UNCLAIMED] = "assigned, not claimed",
    [CONTROLLER_ASSIGNED] = "assigned and claimed",
    [CONTROLLER_LEFT_OVER] = "not assigned, was served",
    [CONTROLLER_NOTHING_LEFT] = "not assigned, nothing left",
    [CONTROLLER_UNASSIGNED] = "not assigned any more",
    [CONTROLLER_CHANGED] = "assigned otherwise",
    [CONTROLLER_MOVED] = "replicas moved",
    [CONTROLLER_RECOVERY_REQUESTED] = "forced recovery requested",
    [CONTROLLER_CURRENT] = "open as assigned",
    [CONTROLLER_POOL_AWAITED] = "pool is unresponsive",
    [CONTROLLER_POOL_EXCLUDED] = "pool is excluded",
    [CONTROLLER_POOLS_CHANGED] = "other pools respond",
    [CONTROLLER_OPENED] = "target opened",
    [CONTROLLER_SERVED] = "daemon serves",
    [CONTROLLER_SERVED_SEALED] = "daemon serves no client",
    [CONTROLLER_LOST] = "daemon lost",
    [CONTROLLER_REVERT_FAILED] = "revert failed",
    [CONTROLLER_CLOSED] = "target closed",
    [CONTROLLER_DOCUMENT_CHANGED] = "document changed",
    [CONTROLLER_RETIRED] = "released or in no list",
};

static const char *const actions[] = {
    [CONTROLLER_CONTINUE] = "-",
    [CONTROLLER_WAIT] = "wait",
    [CONTROLLER_OPEN] = "open target",
    [CONTROLLER_START] = "start daemon",
    [CONTROLLER_EVALUATE] = "evaluate loss",
    [CONTROLLER_SERVE] = "serve",
    [CONTROLLER_REVERT] = "revert",
    [CONTROLLER_STOP] = "stop daemon",
    [CONTROLLER_CLOSE] = "close target",
    [CONTROLLER_KILL] = "kill daemon",
    [CONTROLLER_REPORT_NONE] = "report no target",
};

#define ROW(STATE, EVENT, NEXT, ACTION, SENTENCE) \
    { CONTROLLER_##STATE, CONTROLLER_##EVENT, CONTROLLER_##NEXT, CONTROLLER_##ACTION, SENTENCE }

/* Without a target. */
#define ROWS_WITHOUT_TARGET(STATE)                                                       \
    ROW(STATE, LEFT_OVER, IDLE, OPEN,                                                    \
        "The volume was served here and is assigned elsewhere; its daemon is adopted."),   \
    ROW(STATE, POOL_AWAITED, STATE, WAIT,                                                \
        "A daemon may use a pool that does not respond; nothing is opened meanwhile."),                                                                    \
    ROW(STATE, RETIRED, ENDED, CONTINUE, "The controller ends.")

/* With a target. */
#define ROWS_WITH_TARGET(STATE)                                                          \
    ROW(STATE, POOLS_CHANGED, STATE, CLOSE,                                              \
        "A pool has stopped or begun to respond; the target is reopened."),          \
    ROW(STATE, CLOSED, IDLE, CONTINUE, "No target is open.")
#define ROWS_UNTIL_STOP(STATE)                                                           \
    ROW(STATE, UNASSIGNED, STOPPING, STOP,                                               \
        "The volume is not assigned to this node any more."),                            \
    ROW(STATE, CHANGED, STOPPING, STOP,                                                  \
        "The epoch, the revert or the forced recovery has changed; the target is "    \
        "stopped and reopened."),                                                    \
    ROW(STATE, MOVED, STATE, CLOSE,                                                      \
        "The access to replicas has changed; the target is reopened.")

/* With a daemon that may run. */
#define ROWS_WITH_DAEMON(STATE)                                                          \
    ROW(STATE, POOL_AWAITED, STATE, WAIT,                                                \
        "A pool of the volume does not respond; clients wait for it."),                  \
    ROW(STATE, POOL_EXCLUDED, STATE, KILL,                                               \
        "A pool does not respond for long; the daemon restarts without its replica.")

static const struct state_row rows[] = {
    ROW(IDLE, UNCLAIMED, CLAIMING, WAIT,
        "The assignment is reported; nothing begins before the document has its epoch."),
    ROW(IDLE, ASSIGNED, IDLE, OPEN, "The volume is assigned to this node."),
    ROW(IDLE, NOTHING_LEFT, RELEASED, REPORT_NONE, "This node does not serve the volume."),
    ROW(IDLE, OPENED, STARTING, CONTINUE, "The target is open."),
    ROWS_WITHOUT_TARGET(IDLE),

    ROW(CLAIMING, UNCLAIMED, CLAIMING, WAIT, "The document does not have the epoch yet."),
    ROW(CLAIMING, ASSIGNED, IDLE, OPEN, "The document has the epoch."),
    ROW(CLAIMING, NOTHING_LEFT, RELEASED, REPORT_NONE, "The assignment was withdrawn."),
    ROWS_WITHOUT_TARGET(CLAIMING),

    ROW(STARTING, CURRENT, STARTING, START, "The volume is being started."),
    ROW(STARTING, RECOVERY_REQUESTED, EVALUATING, EVALUATE,
        "Forced recovery is requested and not confirmed; the volume is not served."),
    ROW(STARTING, SERVED, SERVING, CONTINUE, "The volume is served."),
    ROW(STARTING, SERVED_SEALED, REVERTING, CONTINUE, "The volume is served to no client."),
    ROWS_UNTIL_STOP(STARTING),
    ROWS_WITH_TARGET(STARTING),

    ROW(EVALUATING, RECOVERY_REQUESTED, EVALUATING, EVALUATE,
        "The request is not confirmed yet."),
    ROW(EVALUATING, CURRENT, STARTING, START, "The request was withdrawn."),
    ROWS_UNTIL_STOP(EVALUATING),
    ROWS_WITH_TARGET(EVALUATING),

    ROW(SERVING, CURRENT, SERVING, SERVE, "The volume is served."),
    ROW(SERVING, LOST, STARTING, CONTINUE, "The daemon has died or was killed."),
    ROWS_UNTIL_STOP(SERVING),
    ROWS_WITH_DAEMON(SERVING),
    ROWS_WITH_TARGET(SERVING),

    ROW(REVERTING, CURRENT, REVERTING, REVERT, "The volume is being reverted to a snapshot."),
    ROW(REVERTING, LOST, STARTING, CONTINUE, "The daemon has died or was killed."),
    ROW(REVERTING, REVERT_FAILED, STOPPING, STOP,
        "The revert has failed; it is started again with another daemon."),
    ROWS_UNTIL_STOP(REVERTING),
    ROWS_WITH_DAEMON(REVERTING),
    ROWS_WITH_TARGET(REVERTING),

    ROW(STOPPING, UNASSIGNED, STOPPING, STOP, "The daemon is being stopped and its files removed."),
    ROW(STOPPING, CHANGED, STOPPING, STOP, "The daemon is being stopped."),
    ROWS_WITH_DAEMON(STOPPING),
    ROWS_WITH_TARGET(STOPPING),

    ROW(RELEASED, NOTHING_LEFT, RELEASED, CONTINUE,
        "Abandoned calls into pools are awaited."),
    ROW(RELEASED, DOCUMENT_CHANGED, IDLE, CONTINUE, "The volume's document has changed."),
    ROWS_WITHOUT_TARGET(RELEASED),
};
static atomic_uint reached[LENGTH(rows)];

const struct state_table controller_states = STATE_TABLE(
    "volume controller of a node", CONTROLLER_IDLE, names, events, actions, rows, reached);

/* ---- a revert ---- */

static const char *const revert_names[] = {
    [NODE_REVERT_NONE] = "None",
    [NODE_REVERT_ANNOUNCED] = "Announced",
    [NODE_REVERT_RUNNING] = "Running",
    [NODE_REVERT_FAILED] = "Failed",
    [NODE_REVERT_DONE] = "Done",
};

static const char *const revert_events[] = {
    [NODE_REVERT_UNKNOWN] = "attempt is not in the document",
    [NODE_REVERT_KNOWN] = "attempt is in the document",
    [NODE_REVERT_HAS_FAILED] = "copying failed",
    [NODE_REVERT_HELD] = "reverted",
    [NODE_REVERT_CLOSED] = "target closed",
};

static const char *const revert_actions[] = {
    [NODE_REVERT_WAIT] = "-",
    [NODE_REVERT_REPORT] = "report",
    [NODE_REVERT_START] = "copy",
    [NODE_REVERT_STOP] = "stop daemon",
};

#define REVERT_ROW(STATE, EVENT, NEXT, ACTION, SENTENCE) \
    { NODE_REVERT_##STATE, NODE_REVERT_##EVENT, NODE_REVERT_##NEXT, NODE_REVERT_##ACTION, SENTENCE }

static const struct state_row revert_rows[] = {
    REVERT_ROW(NONE, UNKNOWN, ANNOUNCED, REPORT,
               "The attempt is reported; it begins when the document has its number."),
    REVERT_ROW(NONE, HELD, DONE, REPORT, "The volume was reverted before this agent began."),
    REVERT_ROW(NONE, CLOSED, NONE, WAIT, "No revert is in progress."),

    REVERT_ROW(ANNOUNCED, UNKNOWN, ANNOUNCED, REPORT, "The document does not have the number yet."),
    REVERT_ROW(ANNOUNCED, KNOWN, RUNNING, START, "The snapshot is being copied to the volume."),
    REVERT_ROW(ANNOUNCED, HELD, DONE, REPORT, "The volume was reverted in an earlier attempt."),
    REVERT_ROW(ANNOUNCED, CLOSED, NONE, WAIT, "The attempt is abandoned before it began."),

    REVERT_ROW(RUNNING, KNOWN, RUNNING, START,
               "The copy could not start, or its daemon was lost; it is started again."),
    REVERT_ROW(RUNNING, UNKNOWN, ANNOUNCED, REPORT,
               "The document has a later attempt; another one is reported."),
    REVERT_ROW(RUNNING, HELD, DONE, REPORT, "The volume equals the snapshot."),
    REVERT_ROW(RUNNING, HAS_FAILED, FAILED, STOP, "The attempt has failed; another one follows."),
    REVERT_ROW(RUNNING, CLOSED, NONE, WAIT, "The attempt is abandoned; another one follows."),

    REVERT_ROW(FAILED, CLOSED, NONE, WAIT, "Another attempt follows."),

    REVERT_ROW(DONE, CLOSED, NONE, WAIT, "The document has the outcome of the revert, or lost it."),
};
static atomic_uint revert_reached[LENGTH(revert_rows)];

const struct state_table node_revert_states =
    STATE_TABLE("revert, as its node runs it", NODE_REVERT_NONE, revert_names, revert_events,
                revert_actions, revert_rows, revert_reached);

/* ---- copying and comparing ---- */

static const char *const work_names[] = {
    [REPLICA_WORK_NONE] = "None",
    [REPLICA_WORK_REBUILD] = "Rebuild",
    [REPLICA_WORK_SNAPSHOT] = "Snapshot",
    [REPLICA_WORK_CANCEL] = "Cancel",
    [REPLICA_WORK_COMPARE] = "Compare",
};

static const char *const work_events[] = {
    [REPLICA_WORK_REBUILD_BEGINS] = "rebuild or repair begins",
    [REPLICA_WORK_SNAPSHOT_BEGINS] = "snapshot begins",
    [REPLICA_WORK_COMPARE_BEGINS] = "comparison begins",
    [REPLICA_WORK_WITHDRAWN] = "snapshot withdrawn",
    [REPLICA_WORK_ENDS] = "ended",
    [REPLICA_WORK_CLOSED] = "target closed",
};

static const char *const work_actions[] = {
    [REPLICA_WORK_CONTINUE] = "-",
    [REPLICA_WORK_FREE_REBUILD] = "free its rebuild slot",
    [REPLICA_WORK_FREE_COMPARE] = "free its scrub slot",
};

#define WORK_ROW(STATE, EVENT, NEXT, ACTION, SENTENCE)                                    \
    { REPLICA_WORK_##STATE, REPLICA_WORK_##EVENT, REPLICA_WORK_##NEXT, REPLICA_WORK_##ACTION, \
      SENTENCE }

static const struct state_row work_rows[] = {
    WORK_ROW(NONE, REBUILD_BEGINS, REBUILD, CONTINUE, "A replica is rebuilt or repaired."),
    WORK_ROW(NONE, SNAPSHOT_BEGINS, SNAPSHOT, CONTINUE, "A snapshot is taken."),
    WORK_ROW(NONE, COMPARE_BEGINS, COMPARE, CONTINUE, "The replicas are compared."),
    WORK_ROW(NONE, CLOSED, NONE, CONTINUE, "Nothing is copied or compared."),

    WORK_ROW(REBUILD, ENDS, NONE, FREE_REBUILD, "The replica was rebuilt, or the rebuild failed."),
    WORK_ROW(REBUILD, CLOSED, NONE, FREE_REBUILD, "The rebuild is abandoned with its target."),

    WORK_ROW(SNAPSHOT, WITHDRAWN, CANCEL, CONTINUE, "The snapshot is not assigned any more; it is cancelled."),
    WORK_ROW(SNAPSHOT, ENDS, NONE, CONTINUE, "The snapshot was taken, or has failed."),
    WORK_ROW(SNAPSHOT, CLOSED, NONE, CONTINUE, "The snapshot is abandoned with its target."),

    WORK_ROW(CANCEL, ENDS, NONE, CONTINUE, "The snapshot has ended."),
    WORK_ROW(CANCEL, CLOSED, NONE, CONTINUE, "The snapshot has ended with its target."),

    WORK_ROW(COMPARE, REBUILD_BEGINS, REBUILD, FREE_COMPARE,
             "A rebuild or repair comes first; comparing is resumed after it."),
    WORK_ROW(COMPARE, SNAPSHOT_BEGINS, SNAPSHOT, FREE_COMPARE,
             "A snapshot comes first; comparing is resumed after it."),
    WORK_ROW(COMPARE, ENDS, NONE, FREE_COMPARE, "The replicas were compared, or cannot be now."),
    WORK_ROW(COMPARE, CLOSED, NONE, FREE_COMPARE, "The comparison is abandoned with its target."),
};
static atomic_uint work_reached[LENGTH(work_rows)];

const struct state_table replica_work_states =
    STATE_TABLE("copying and comparing of replicas", REPLICA_WORK_NONE, work_names, work_events,
                work_actions, work_rows, work_reached);
/* clang-format on */
