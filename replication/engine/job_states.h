/*
 * A job of a target as a state table: a copy by its storage daemon, for a rebuild, a snapshot, a
 * revert or a repair. A job with an unreadable request is repeated once, block by block; a stopped
 * one is not.
 */
#pragma once

#include "common/state_table.h"

enum job_state {
    JOB_IS_NONE,
    JOB_IS_COPYING,
    JOB_IS_COPYING_APART,  /* of a replica that joins only after a restart of the daemon */
    JOB_IS_ENDING,         /* all is copied, and the daemon was requested to end the job */
    JOB_IS_COPYING_BLOCKS, /* the same three, block by block */
    JOB_IS_COPYING_BLOCKS_APART,
    JOB_IS_ENDING_BLOCKS,
    JOB_IS_STOPPING, /* the daemon was requested to cancel it */
    JOB_IS_JOINING,  /* the replica has all data, and votes after the next start of the daemon */
    JOB_IS_DONE,
    JOB_IS_FAILED,
};

enum job_event {
    JOB_BEGUN,
    JOB_NEEDS_RESTART, /* the replica votes only in the next daemon, with another threshold */
    JOB_COPIED,
    JOB_UNREADABLE, /* a request, though perhaps none of its blocks */
    JOB_STOPPED,
    JOB_AWAITS_START,
    JOB_COMPLETED,
    JOB_FAILS,
    JOB_DAEMON_ENDED,
    JOB_FORGOTTEN, /* its subject has changed since */
};

enum job_action {
    JOB_NO_ACTION,
    JOB_CLEARS,    /* the status of the job before */
    JOB_LOGS,      /* it is logged */
    JOB_WARNS,     /* the same, with the reason */
    JOB_NOTES_END, /* its sentence is the error */
};

extern const struct state_table job_states;
