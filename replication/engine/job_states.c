#include "replication/engine/job_states.h"

/* clang-format off */

static const char *const names[] = {
    [JOB_IS_NONE] = "None",
    [JOB_IS_COPYING] = "Copying",
    [JOB_IS_COPYING_APART] = "CopyingApart",
    [JOB_IS_ENDING] = "Ending",
    [JOB_IS_COPYING_BLOCKS] = "CopyingBlocks",
    [JOB_IS_COPYING_BLOCKS_APART] = "CopyingBlocksApart",
    [JOB_IS_ENDING_BLOCKS] = "EndingBlocks",
    [JOB_IS_STOPPING] = "Stopping",
    [JOB_IS_JOINING] = "Joining",
    [JOB_IS_DONE] = "Done",
    [JOB_IS_FAILED] = "Failed",
};

static const char *const events[] = {
    [JOB_BEGUN] = "begun",
    [JOB_NEEDS_RESTART] = "replica needs a restart of the daemon",
    [JOB_COPIED] = "all is copied",
    [JOB_UNREADABLE] = "a request is unreadable",
    [JOB_STOPPED] = "stopped",
    [JOB_AWAITS_START] = "ended before a restart",
    [JOB_COMPLETED] = "completed",
    [JOB_FAILS] = "failed",
    [JOB_DAEMON_ENDED] = "daemon ended",
    [JOB_FORGOTTEN] = "outdated",
};

static const char *const actions[] = {
    [JOB_NO_ACTION] = "-",
    [JOB_CLEARS] = "clear",
    [JOB_LOGS] = "log",
    [JOB_WARNS] = "log a warning",
    [JOB_NOTES_END] = "note the reason",
};

#define FAILS(STATE) \
    { STATE, JOB_FAILS, JOB_IS_FAILED, JOB_WARNS, "The copy has failed." }, \
    { STATE, JOB_DAEMON_ENDED, JOB_IS_FAILED, JOB_NOTES_END, "The storage daemon has ended." }

#define RUNNING(STATE) \
    { STATE, JOB_STOPPED, JOB_IS_STOPPING, JOB_NO_ACTION, "The copy is cancelled." }, \
    FAILS(STATE)

#define COPYING(STATE, APART, ENDING) \
    { STATE, JOB_NEEDS_RESTART, APART, JOB_NO_ACTION, \
      "The replica votes from the storage daemon's next start on." }, \
    { STATE, JOB_COPIED, ENDING, JOB_NO_ACTION, "All is copied; the storage daemon ends the copy." }, \
    RUNNING(STATE)

#define COMPLETES(STATE) \
    { STATE, JOB_COMPLETED, JOB_IS_DONE, JOB_LOGS, "The copy is complete." }

/* At the first attempt. */
#define REPEATS(STATE) \
    { STATE, JOB_UNREADABLE, JOB_IS_COPYING_BLOCKS, JOB_NO_ACTION, \
      "A request was unreadable; all is copied again, block by block." }

#define RESTARTS(STATE) \
    { STATE, JOB_AWAITS_START, JOB_IS_JOINING, JOB_NO_ACTION, \
      "All is copied; the replica votes from the storage daemon's next start on." }

#define OVER(STATE) \
    { STATE, JOB_BEGUN, JOB_IS_COPYING, JOB_CLEARS, "Data are being copied." }, \
    { STATE, JOB_DAEMON_ENDED, STATE, JOB_NO_ACTION, "No job is lost." }, \
    { STATE, JOB_FORGOTTEN, JOB_IS_NONE, JOB_CLEARS, "There is no job." }

static const struct state_row rows[] = {
    OVER(JOB_IS_NONE),

    COPYING(JOB_IS_COPYING, JOB_IS_COPYING_APART, JOB_IS_ENDING),
    COMPLETES(JOB_IS_COPYING), /* a repair ends by itself */
    REPEATS(JOB_IS_COPYING),

    RUNNING(JOB_IS_COPYING_APART),
    RESTARTS(JOB_IS_COPYING_APART),
    REPEATS(JOB_IS_COPYING_APART),

    RUNNING(JOB_IS_ENDING),
    COMPLETES(JOB_IS_ENDING),
    REPEATS(JOB_IS_ENDING),

    COPYING(JOB_IS_COPYING_BLOCKS, JOB_IS_COPYING_BLOCKS_APART, JOB_IS_ENDING_BLOCKS),

    RUNNING(JOB_IS_COPYING_BLOCKS_APART),
    RESTARTS(JOB_IS_COPYING_BLOCKS_APART),

    RUNNING(JOB_IS_ENDING_BLOCKS),
    COMPLETES(JOB_IS_ENDING_BLOCKS),

    FAILS(JOB_IS_STOPPING),
    COMPLETES(JOB_IS_STOPPING), /* before the daemon has cancelled it */

    COMPLETES(JOB_IS_JOINING),
    { JOB_IS_JOINING, JOB_FAILS, JOB_IS_FAILED, JOB_WARNS, "The replica was not started." },
    { JOB_IS_JOINING, JOB_DAEMON_ENDED, JOB_IS_JOINING, JOB_NO_ACTION,
      "All is copied; the replica votes from the storage daemon's next start on." },

    OVER(JOB_IS_DONE),
    OVER(JOB_IS_FAILED),
};
static atomic_uint reached[LENGTH(rows)];

const struct state_table job_states =
    STATE_TABLE("job of a storage daemon", JOB_IS_NONE, names, events, actions, rows, reached);
