#include "replication/node/pool_states.h"

/* clang-format off */
static const char *const names[] = {
    [POOL_IS_NEW] = "New",
    [POOL_IS_ONLINE] = "Online",
    [POOL_IS_READ_ONLY] = "ReadOnly",
    [POOL_IS_GONE] = "Gone",
    [POOL_IS_FOREIGN] = "Foreign",
    [POOL_IS_FAILING] = "Failing",
    [POOL_IS_UNRESPONSIVE] = "Unresponsive",
    [POOL_IS_ABANDONED] = "Abandoned",
};

static const char *const events[] = {
    [POOL_FOUND_ONLINE] = "marked and writable",
    [POOL_FOUND_READ_ONLY] = "takes no writes",
    [POOL_FOUND_GONE] = "not mounted",
    [POOL_FOUND_FOREIGN] = "another file system",
    [POOL_FOUND_FAILING] = "reading fails",
    [POOL_DOES_NOT_ANSWER] = "does not answer",
    [POOL_DOES_NOT_ANSWER_FOR_LONG] = "does not answer for 30 s",
};

static const char *const actions[] = { [POOL_CONTINUES] = "-", [POOL_REPORTS] = "report at once" };

#define ROW(STATE, EVENT, NEXT, SENTENCE) \
    { STATE, EVENT, NEXT, STATE == NEXT ? POOL_CONTINUES : POOL_REPORTS, SENTENCE }
#define ROWS(STATE)                                                                        \
    ROW(STATE, POOL_FOUND_ONLINE, POOL_IS_ONLINE, "The pool can be used."),                \
        ROW(STATE, POOL_FOUND_READ_ONLY, POOL_IS_READ_ONLY,                                \
            "The pool's file system takes no writes."),                                    \
        ROW(STATE, POOL_FOUND_GONE, POOL_IS_GONE,                                          \
            "The pool's directory is missing or empty: it may not be mounted."),           \
        ROW(STATE, POOL_FOUND_FOREIGN, POOL_IS_FOREIGN,                                    \
            "Another file system is in the pool's place; it is not accessed."),            \
        ROW(STATE, POOL_FOUND_FAILING, POOL_IS_FAILING, "The pool cannot be read."),       \
        ROW(STATE, POOL_DOES_NOT_ANSWER, POOL_IS_UNRESPONSIVE,                             \
            "The pool does not answer; it is not accessed."),                              \
        ROW(STATE, POOL_DOES_NOT_ANSWER_FOR_LONG, POOL_IS_ABANDONED,                       \
            "The pool does not answer; the sessions of its replicas end.")

static const struct state_row rows[] = {
    ROWS(POOL_IS_NEW),     ROWS(POOL_IS_ONLINE),  ROWS(POOL_IS_READ_ONLY),
    ROWS(POOL_IS_GONE),    ROWS(POOL_IS_FOREIGN), ROWS(POOL_IS_FAILING),
    ROWS(POOL_IS_UNRESPONSIVE), ROWS(POOL_IS_ABANDONED),
};
static atomic_uint reached[LENGTH(rows)];

const struct state_table pool_states =
    STATE_TABLE("pool, as its node sees it", POOL_IS_NEW, names, events, actions, rows, reached);
