/*
 * State tables: state x event -> next state, action, sentence.
 *
 * A module lists its states, events and actions as enums and its transitions as rows, in one const
 * table, and changes a state by state_table_next() alone.  A pair of state and event without a row
 * is a bug: where $SCORIA_STATE_TABLES is "strict", as in every test, the process aborts; elsewhere
 * the transition is refused, the state stays and the log has one line a minute of each pair.
 * What comes from outside is looked up first (state_table_find()): a report that fits no row is no
 * bug.  An action is a number that the module performs itself, after the state has changed.
 *
 *     enum { OPEN, CLOSED };
 *     enum { PUSHED };
 *     enum { SWING };
 *     static const char *const states[] = { "Open", "Closed" }, *const events[] = { "pushed" },
 *                       *const actions[] = { "swing" };
 *     static const struct state_row rows[] = {
 *         { OPEN, PUSHED, CLOSED, SWING, "The door is closed." },
 *         { CLOSED, PUSHED, OPEN, SWING, "The door is open." },
 *     };
 *     static atomic_uint reached[LENGTH(rows)];
 *     const struct state_table door_states = STATE_TABLE("door", OPEN, states, events, actions,
 *                                                        rows, reached);
 *
 *     row = state_table_next(&door_states, &door->state, PUSHED);
 *     if (row && row->action == SWING)
 *         …
 *
 * Any thread may use a table.
 */
#pragma once

#include "common/arena.h"
#include "common/cleanup.h"
#include "common/error.h"

#include <stdatomic.h>

struct state_row {
    unsigned state, event, next, action;
    const char *sentence; /* for a status or an event; never empty */
};

struct state_table {
    const char *name;
    unsigned initial;
    const char *const *states, *const *events, *const *actions; /* names by number */
    unsigned state_count, event_count, action_count;
    const struct state_row *rows;
    unsigned count;
    atomic_uint *reached; /* how often each row was taken in this process */
};

#define STATE_TABLE(NAME, INITIAL, STATES, EVENTS, ACTIONS, ROWS, REACHED)                        \
    {                                                                                             \
        .name = NAME, .initial = INITIAL, .states = STATES, .events = EVENTS, .actions = ACTIONS, \
        .state_count = LENGTH(STATES), .event_count = LENGTH(EVENTS),                             \
        .action_count = LENGTH(ACTIONS), .rows = ROWS, .count = LENGTH(ROWS), .reached = REACHED, \
    }

/* Looks up a row without counting it; NULL: there is none. */
const struct state_row *state_table_find(const struct state_table *table, unsigned state,
                                         unsigned event);
/* Performs the transition: *state becomes the row's next state.  NULL: there is no row (above). */
const struct state_row *state_table_next(const struct state_table *table, unsigned *state,
                                         unsigned event);

/* The diagram: each state with its events, their next states and sentences. */
const char *state_table_text(const struct state_table *table, struct arena *arena);
