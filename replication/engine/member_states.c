#include "replication/engine/member_states.h"

/* clang-format off */

static const char *const names[] = {
    [MEMBER_IS_OUT] = "Out",
    [MEMBER_IS_EXCLUDED] = "Excluded",
    [MEMBER_IS_REBUILDING] = "Rebuilding",
    [MEMBER_IS_INCOMPLETE] = "Incomplete",
    [MEMBER_IS_VOTING] = "Voting",
    [MEMBER_IS_FAILING] = "Failing",
    [MEMBER_IS_UNLINKED] = "Unlinked",
};

static const char *const events[] = {
    [MEMBER_OPENED] = "opened for a start",
    [MEMBER_NOT_OPENED] = "not opened for a start",
    [MEMBER_CHOSEN] = "member of the quorum",
    [MEMBER_REBUILDS] = "rebuild begins",
    [MEMBER_JOINS] = "rebuild ends",
    [MEMBER_MISSED] = "missed a write",
    [MEMBER_FILE_LOST] = "file was replaced",
    [MEMBER_RESUMES] = "resynchronization begins",
    [MEMBER_EVICTED] = "evicted",
};

static const char *const actions[] = { "-" };

#define ROW(STATE, EVENT, NEXT, SENTENCE) { STATE, EVENT, NEXT, 0, SENTENCE }
/* Each start resets the state. */
#define STARTS(STATE) \
    ROW(STATE, MEMBER_OPENED, MEMBER_IS_OUT, "The replica does not vote yet."), \
    ROW(STATE, MEMBER_NOT_OPENED, MEMBER_IS_EXCLUDED, "The replica cannot be opened.")
#define EVICTS(STATE) ROW(STATE, MEMBER_EVICTED, MEMBER_IS_OUT, "The replica is to be rebuilt.")
#define REBUILDS(STATE) \
    ROW(STATE, MEMBER_REBUILDS, MEMBER_IS_REBUILDING, "The replica is rebuilt from the beginning on.")
#define MISSES(STATE, NEXT) ROW(STATE, MEMBER_MISSED, NEXT, "The replica has missed a write.")
#define LOSES(STATE, NEXT) \
    ROW(STATE, MEMBER_FILE_LOST, NEXT, "The written file is not the one at the replica's path.")
/* A late report of the daemon about a removed replica. */
#define LATE(STATE) ROW(STATE, MEMBER_MISSED, STATE, "The replica does not vote already.")

static const struct state_row rows[] = {
    STARTS(MEMBER_IS_OUT),
    ROW(MEMBER_IS_OUT, MEMBER_CHOSEN, MEMBER_IS_VOTING, "The replica votes."),
    REBUILDS(MEMBER_IS_OUT),
    EVICTS(MEMBER_IS_OUT),
    LATE(MEMBER_IS_OUT),

    STARTS(MEMBER_IS_EXCLUDED),
    REBUILDS(MEMBER_IS_EXCLUDED),
    LATE(MEMBER_IS_EXCLUDED),

    STARTS(MEMBER_IS_REBUILDING),
    ROW(MEMBER_IS_REBUILDING, MEMBER_JOINS, MEMBER_IS_VOTING, "The replica has all data, and votes."),
    MISSES(MEMBER_IS_REBUILDING, MEMBER_IS_INCOMPLETE),
    LOSES(MEMBER_IS_REBUILDING, MEMBER_IS_INCOMPLETE),
    EVICTS(MEMBER_IS_REBUILDING),

    STARTS(MEMBER_IS_INCOMPLETE),
    MISSES(MEMBER_IS_INCOMPLETE, MEMBER_IS_INCOMPLETE),
    EVICTS(MEMBER_IS_INCOMPLETE),

    STARTS(MEMBER_IS_VOTING),
    MISSES(MEMBER_IS_VOTING, MEMBER_IS_FAILING),
    LOSES(MEMBER_IS_VOTING, MEMBER_IS_UNLINKED),
    EVICTS(MEMBER_IS_VOTING),

    STARTS(MEMBER_IS_FAILING),
    MISSES(MEMBER_IS_FAILING, MEMBER_IS_FAILING),
    LOSES(MEMBER_IS_FAILING, MEMBER_IS_UNLINKED),
    ROW(MEMBER_IS_FAILING, MEMBER_RESUMES, MEMBER_IS_VOTING,
        "The missed writes of the replica are found when all are compared."),
    EVICTS(MEMBER_IS_FAILING),

    STARTS(MEMBER_IS_UNLINKED),
    MISSES(MEMBER_IS_UNLINKED, MEMBER_IS_UNLINKED),
    EVICTS(MEMBER_IS_UNLINKED),
};
static atomic_uint reached[LENGTH(rows)];

const struct state_table member_states = STATE_TABLE("replica, as its target sees it",
    MEMBER_IS_OUT, names, events, actions, rows, reached);
