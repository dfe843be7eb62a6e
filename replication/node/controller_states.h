/*
 * The volume controller of a node as a state table.  Each step starts with an event that follows
 * from the assignment and the target, and runs the action of that event's row; other events report
 * the outcome of an action.
 */
#pragma once

#include "common/state_table.h"

enum controller_state {
    CONTROLLER_IDLE,       /* no target is open */
    CONTROLLER_CLAIMING,   /* no target is open before the document has the reported epoch */
    CONTROLLER_STARTING,   /* the target is open without a daemon */
    CONTROLLER_EVALUATING, /* the same, until a forced recovery is confirmed */
    CONTROLLER_SERVING,
    CONTROLLER_REVERTING, /* a daemon runs, and the volume is exported to no client */
    CONTROLLER_STOPPING,  /* the daemon is being stopped, whatever the assignment is meanwhile */
    CONTROLLER_RELEASED,  /* this node has nothing of the volume, and has reported that */
    CONTROLLER_ENDED,
};

enum controller_event {
    /* Start of a step, without a target: */
    CONTROLLER_UNCLAIMED, /* the document does not have the epoch of the assignment */
    CONTROLLER_ASSIGNED,  /* it has */
    CONTROLLER_LEFT_OVER, /* the volume is not assigned, and was served here */
    CONTROLLER_NOTHING_LEFT,
    /* Start of a step, with a target: */
    CONTROLLER_UNASSIGNED,
    CONTROLLER_CHANGED,            /* the epoch, the revert or the forced recovery has changed */
    CONTROLLER_MOVED,              /* the access to its replicas has changed */
    CONTROLLER_RECOVERY_REQUESTED, /* and not confirmed */
    CONTROLLER_CURRENT,            /* it is as assigned */
    /* Found in pools: */
    CONTROLLER_POOL_AWAITED,  /* a needed one is unresponsive, or another one not for long enough */
    CONTROLLER_POOL_EXCLUDED, /* the others are sufficient */
    CONTROLLER_POOLS_CHANGED,
    /* Of the target: */
    CONTROLLER_OPENED,
    CONTROLLER_SERVED,
    CONTROLLER_SERVED_SEALED, /* to no client */
    CONTROLLER_LOST,
    CONTROLLER_REVERT_FAILED,
    CONTROLLER_CLOSED,
    /* From outside: */
    CONTROLLER_DOCUMENT_CHANGED,
    CONTROLLER_RETIRED,
};

enum controller_action {
    CONTROLLER_CONTINUE,
    CONTROLLER_WAIT,
    CONTROLLER_OPEN,
    CONTROLLER_START,
    CONTROLLER_EVALUATE,
    CONTROLLER_SERVE,
    CONTROLLER_REVERT,
    CONTROLLER_STOP,
    CONTROLLER_CLOSE,
    CONTROLLER_KILL,
    CONTROLLER_REPORT_NONE,
};

extern const struct state_table controller_states;

/* ---- a revert ---- */

/* Of a target that is exported to no client, until it is closed; the death of a daemon does not end
 * it. */
enum node_revert_state {
    NODE_REVERT_NONE,
    NODE_REVERT_ANNOUNCED, /* its attempt was reported */
    NODE_REVERT_RUNNING,
    NODE_REVERT_FAILED, /* the target is being closed */
    NODE_REVERT_DONE,   /* it is not started again */
};

enum node_revert_event {
    NODE_REVERT_UNKNOWN, /* the document has another attempt */
    NODE_REVERT_KNOWN,
    NODE_REVERT_HAS_FAILED,
    NODE_REVERT_HELD, /* the volume equals the snapshot, or is reverted according to the document */
    NODE_REVERT_CLOSED,
};

enum node_revert_action {
    NODE_REVERT_WAIT,
    NODE_REVERT_REPORT,
    NODE_REVERT_START,
    NODE_REVERT_STOP
};

extern const struct state_table node_revert_states;

/* ---- copying and comparing ---- */

/* One at a time; some of them need a slot of the node (rebuild_slots.h), which is freed by the row
 * that ends them. */
enum replica_work_state {
    REPLICA_WORK_NONE,
    REPLICA_WORK_REBUILD, /* or repair */
    REPLICA_WORK_SNAPSHOT,
    REPLICA_WORK_CANCEL, /* of a snapshot that is not assigned any more */
    REPLICA_WORK_COMPARE,
};

enum replica_work_event {
    REPLICA_WORK_REBUILD_BEGINS,
    REPLICA_WORK_SNAPSHOT_BEGINS,
    REPLICA_WORK_COMPARE_BEGINS,
    REPLICA_WORK_WITHDRAWN,
    REPLICA_WORK_ENDS,
    REPLICA_WORK_CLOSED,
};

enum replica_work_action {
    REPLICA_WORK_CONTINUE,
    REPLICA_WORK_FREE_REBUILD,
    REPLICA_WORK_FREE_COMPARE,
};

extern const struct state_table replica_work_states;
