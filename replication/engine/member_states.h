/*
 * A replica as its target sees it, as a state table: whether it votes, and why it may not for long.
 */
#pragma once

#include "common/state_table.h"

enum member_state {
    MEMBER_IS_OUT,        /* stale, empty, short, or beyond the wanted number */
    MEMBER_IS_EXCLUDED,   /* could not be opened in this start */
    MEMBER_IS_REBUILDING, /* in this state and the next ones the storage daemon has its file open */
    MEMBER_IS_INCOMPLETE, /* rebuilding, and has missed a write */
    MEMBER_IS_VOTING,     /* in this state and the next ones it is read and written */
    MEMBER_IS_FAILING,    /* voting, and has missed a write, or cannot be read */
    MEMBER_IS_UNLINKED,   /* voting, and its path leads to another file than the written one */
};

enum member_event {
    MEMBER_OPENED, /* in a start */
    MEMBER_NOT_OPENED,
    MEMBER_CHOSEN,
    MEMBER_REBUILDS,
    MEMBER_JOINS,
    MEMBER_MISSED,
    MEMBER_FILE_LOST,
    MEMBER_RESUMES, /* all are resynchronized: it counts as any other */
    MEMBER_EVICTED,
};

extern const struct state_table member_states;
