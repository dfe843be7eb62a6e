/*
 * A node's volume controller as a state table.  Each step of it begins with an event that the
 * assignment and the target give, and does the action of that event's row; other events report
 * what an action has found.
 */
#pragma once

#include "common/state_table.h"

enum controller_state {
    CONTROLLER_IDLE,       /* no target is open */
    CONTROLLER_CLAIMING,   /* nor is one, until the document has the reported epoch */
    CONTROLLER_STARTING,   /* the target is open, and no daemon serves it */
    CONTROLLER_EVALUATING, /* the same, and none is to before a forced recovery is confirmed */
    CONTROLLER_SERVING,
    CONTROLLER_REVERTING, /* a daemon serves it to no client */
    CONTROLLER_STOPPING,  /* the daemon is to end, whatever the assignment says meanwhile */
    CONTROLLER_RELEASED,  /* nothing of the volume is on this node, and that was reported */
    CONTROLLER_ENDED,
};

enum controller_event {
    /* With which a step begins: no target is open, */
    CONTROLLER_UNCLAIMED, /* and the document does not have the epoch of the assignment, */
    CONTROLLER_ASSIGNED,  /* or has it, */
    CONTROLLER_LEFT_OVER, /* or the volume is not assigned, and was served here */
    CONTROLLER_NOTHING_LEFT,
    /* one is open: */
    CONTROLLER_UNASSIGNED,
    CONTROLLER_CHANGED,            /* the epoch, the revert or the forced recovery is another one */
    CONTROLLER_MOVED,              /* its replicas are reached otherwise */
    CONTROLLER_RECOVERY_REQUESTED, /* and not confirmed */
    CONTROLLER_CURRENT,            /* it is open as it is assigned */
    /* What the step has found about pools: */
    CONTROLLER_POOL_AWAITED,  /* one does not answer that is needed, or not for long enough */
    CONTROLLER_POOL_EXCLUDED, /* or the others are enough */
    CONTROLLER_POOLS_CHANGED,
    /* and about the target: */
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

/* Of a target that is served to no client, until that is closed: no daemon that dies ends it. */
enum node_revert_state {
    NODE_REVERT_NONE,
    NODE_REVERT_ANNOUNCED, /* the number of its attempt was reported */
    NODE_REVERT_RUNNING,
    NODE_REVERT_FAILED, /* the target is to be closed */
    NODE_REVERT_DONE,   /* nothing begins it again */
};

enum node_revert_event {
    NODE_REVERT_UNKNOWN, /* to the document: that has another attempt */
    NODE_REVERT_KNOWN,
    NODE_REVERT_HAS_FAILED,
    NODE_REVERT_HELD, /* the volume holds what the snapshot does, or the document says so */
    NODE_REVERT_CLOSED,
};

enum node_revert_action {
    NODE_REVERT_WAIT,
    NODE_REVERT_REPORT,
    NODE_REVERT_START,
    NODE_REVERT_STOP
};

extern const struct state_table node_revert_states;

/* ---- what is copied or compared ---- */

/* One at a time; of some of them there are only so many on a node at once (rebuild_slots.h), and
 * such a place is freed by the row that ends it. */
enum replica_work_state {
    REPLICA_WORK_NONE,
    REPLICA_WORK_REBUILD, /* or repair */
    REPLICA_WORK_SNAPSHOT,
    REPLICA_WORK_CANCEL, /* of a snapshot that is wanted no more */
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
