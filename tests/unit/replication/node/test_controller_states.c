#include "replication/node/controller_states.h"

#include "tests/lib/check_main.h"
#include "tests/lib/state_tables.h"

static const struct state_table *const table = &controller_states;

static unsigned after(const enum controller_event *events, unsigned count) {
    unsigned state = CONTROLLER_IDLE;

    for (unsigned i = 0; i < count; i++)
        ck_assert_ptr_nonnull(state_table_next(table, &state, events[i]));
    return state;
}
#define AFTER(...)                                        \
    after((const enum controller_event[]){ __VA_ARGS__ }, \
          sizeof((const enum controller_event[]){ __VA_ARGS__ }) / sizeof(enum controller_event))

static void reach_every_row(const struct state_table *of) {
    autoarena struct arena *arena = arena_new();
    struct error err;

    ck_assert_msg(state_table_check(of, &err) == 0, "%s", err.message);
    for (unsigned i = 0; i < of->count; i++) {
        unsigned state = of->rows[i].state;

        ck_assert_ptr_eq(state_table_next(of, &state, of->rows[i].event), &of->rows[i]);
        ck_assert_uint_eq(state, of->rows[i].next);
    }
    ck_assert_ptr_null(state_table_unreached(of, arena));
}

START_TEST(every_row_of_the_volume_controller_is_reached) {
    reach_every_row(&controller_states);
}
END_TEST

static bool leads_to(unsigned from, unsigned to, unsigned steps) {
    if (from == to)
        return true;
    for (unsigned i = 0; i < table->count && steps > 0; i++)
        if (table->rows[i].state == from && leads_to(table->rows[i].next, to, steps - 1))
            return true;
    return false;
}

START_TEST(from_every_state_a_volume_controller_can_end) {
    for (unsigned state = 0; state < CONTROLLER_ENDED; state++) {
        ck_assert_msg(leads_to(state, CONTROLLER_ENDED, 4), "%s", table->states[state]);
        ck_assert_ptr_null(state_table_find(table, CONTROLLER_ENDED, state));
    }
}
END_TEST

/* The stop is half done: clients are disconnected, replicas perhaps closed. */
START_TEST(a_started_stop_is_finished) {
    for (unsigned i = 0; i < table->count; i++) {
        const struct state_row *row = &table->rows[i];

        if (row->state == CONTROLLER_STOPPING)
            ck_assert_uint_eq(row->next, row->event == CONTROLLER_CLOSED ? CONTROLLER_IDLE
                                                                         : CONTROLLER_STOPPING);
    }
}
END_TEST

START_TEST(a_daemon_is_started_for_a_claimed_assignment_alone) {
    ck_assert_uint_eq(AFTER(CONTROLLER_UNCLAIMED, CONTROLLER_UNCLAIMED), CONTROLLER_CLAIMING);
    ck_assert_uint_eq(AFTER(CONTROLLER_UNCLAIMED, CONTROLLER_ASSIGNED, CONTROLLER_OPENED,
                            CONTROLLER_CURRENT, CONTROLLER_SERVED, CONTROLLER_CURRENT),
                      CONTROLLER_SERVING);
    for (unsigned i = 0; i < table->count; i++) {
        const struct state_row *row = &table->rows[i];

        if (row->action == CONTROLLER_START || row->action == CONTROLLER_SERVE)
            ck_assert_uint_eq(row->event, CONTROLLER_CURRENT);
        if (row->state == CONTROLLER_CLAIMING)
            ck_assert_uint_ne(row->next, CONTROLLER_STARTING);
    }
}
END_TEST

START_TEST(no_volume_is_served_while_its_forced_recovery_is_evaluated) {
    ck_assert_uint_eq(AFTER(CONTROLLER_ASSIGNED, CONTROLLER_OPENED, CONTROLLER_RECOVERY_REQUESTED),
                      CONTROLLER_EVALUATING);
    ck_assert_ptr_null(state_table_find(table, CONTROLLER_EVALUATING, CONTROLLER_SERVED));
    ck_assert_ptr_null(state_table_find(table, CONTROLLER_EVALUATING, CONTROLLER_SERVED_SEALED));
}
END_TEST

START_TEST(a_volume_that_is_reverted_is_served_to_no_client) {
    ck_assert_uint_eq(
        AFTER(CONTROLLER_ASSIGNED, CONTROLLER_OPENED, CONTROLLER_SERVED_SEALED, CONTROLLER_CURRENT),
        CONTROLLER_REVERTING);
    for (unsigned i = 0; i < table->count; i++)
        if (table->rows[i].state == CONTROLLER_REVERTING)
            ck_assert_uint_ne(table->rows[i].next, CONTROLLER_SERVING);
    ck_assert_uint_eq(AFTER(CONTROLLER_ASSIGNED, CONTROLLER_OPENED, CONTROLLER_SERVED_SEALED,
                            CONTROLLER_REVERT_FAILED, CONTROLLER_CLOSED),
                      CONTROLLER_IDLE);
}
END_TEST

/* ---- a walk over all events ---- */

/* The model, independent of the table. */
struct model {
    unsigned state;
    bool open, serves, sealed;
    bool opens, starts; /* the effect of the last action */
};

static bool is_stopping(const struct model *model) {
    return model->state == CONTROLLER_STOPPING;
}

static bool happens_without_target(const struct model *model, unsigned event) {
    bool released = model->state == CONTROLLER_RELEASED;

    switch (event) {
    case CONTROLLER_UNCLAIMED:
    case CONTROLLER_ASSIGNED:
        return !released; /* first in another document */
    case CONTROLLER_DOCUMENT_CHANGED:
        return released;
    case CONTROLLER_OPENED:
        return model->opens;
    default:
        return event == CONTROLLER_LEFT_OVER || event == CONTROLLER_NOTHING_LEFT ||
               event == CONTROLLER_POOL_AWAITED || event == CONTROLLER_RETIRED;
    }
}

static bool happens_with_target(const struct model *model, unsigned event) {
    switch (event) {
    case CONTROLLER_CURRENT:
    case CONTROLLER_MOVED:
        return !is_stopping(model);
    case CONTROLLER_RECOVERY_REQUESTED:
        return !is_stopping(model) && !model->serves;
    case CONTROLLER_SERVED:
    case CONTROLLER_SERVED_SEALED:
        return model->starts && model->sealed == (event == CONTROLLER_SERVED_SEALED);
    case CONTROLLER_LOST:
        return model->serves && !is_stopping(model);
    case CONTROLLER_REVERT_FAILED:
        return model->serves && model->sealed && !is_stopping(model);
    case CONTROLLER_POOL_AWAITED:
    case CONTROLLER_POOL_EXCLUDED:
        return model->serves;
    default:
        return event == CONTROLLER_UNASSIGNED || event == CONTROLLER_CHANGED ||
               event == CONTROLLER_POOLS_CHANGED || event == CONTROLLER_CLOSED;
    }
}

static void apply(struct model *model, unsigned event, unsigned action) {
    if (event == CONTROLLER_OPENED) {
        model->open = true;
        model->sealed = rand() % 2;
    }
    if (event == CONTROLLER_CLOSED)
        model->open = model->serves = false;
    if (event == CONTROLLER_SERVED || event == CONTROLLER_SERVED_SEALED)
        model->serves = true;
    if (event == CONTROLLER_LOST)
        model->serves = false;
    model->opens = action == CONTROLLER_OPEN;
    model->starts = action == CONTROLLER_START || event == CONTROLLER_OPENED; /* adopted */
    if (event == CONTROLLER_RETIRED)
        *model = (struct model){ .state = CONTROLLER_IDLE };
}

static void assert_model(const struct model *model, unsigned action) {
    bool started = model->state == CONTROLLER_SERVING || model->state == CONTROLLER_REVERTING;

    ck_assert_int_eq(started, model->serves && !is_stopping(model));
    ck_assert(model->state != CONTROLLER_SERVING || !model->sealed);
    ck_assert(model->state != CONTROLLER_REVERTING || model->sealed);
    ck_assert(action != CONTROLLER_OPEN || !model->open);
    ck_assert(action != CONTROLLER_START || (model->open && !model->serves));
    ck_assert(action != CONTROLLER_EVALUATE || (model->open && !model->serves));
    ck_assert(action != CONTROLLER_SERVE || (model->serves && !model->sealed));
    ck_assert(action != CONTROLLER_REVERT || (model->serves && model->sealed));
    ck_assert(action != CONTROLLER_STOP || model->open);
    ck_assert(action != CONTROLLER_KILL || model->serves);
    ck_assert(action != CONTROLLER_REPORT_NONE || !model->open);
}

START_TEST(every_event_of_a_volume_controller_has_a_row) {
    autoarena struct arena *arena = arena_new();
    struct model model = { .state = CONTROLLER_IDLE };
    const char *unreached;

    srand(3);
    for (unsigned i = 0; i < 200000; i++) {
        unsigned event = (unsigned)rand() % table->event_count;
        const struct state_row *row;

        if (!(model.open ? happens_with_target : happens_without_target)(&model, event))
            continue;
        row = state_table_next(table, &model.state, event);
        ck_assert_msg(row, "%s: %s", table->states[model.state], table->events[event]);
        apply(&model, event, row->action);
        assert_model(&model, row->action);
    }
    unreached = state_table_unreached(table, arena);
    ck_assert_msg(!unreached, "%s", unreached);
}
END_TEST

/* ---- a revert ---- */

START_TEST(every_row_of_a_revert_on_its_node_is_reached) {
    reach_every_row(&node_revert_states);
}
END_TEST

START_TEST(a_revert_begins_with_an_attempt_that_its_document_has) {
    unsigned state = NODE_REVERT_NONE;

    state_table_next(&node_revert_states, &state, NODE_REVERT_UNKNOWN);
    state_table_next(&node_revert_states, &state, NODE_REVERT_UNKNOWN);
    ck_assert_uint_eq(state, NODE_REVERT_ANNOUNCED);
    for (unsigned i = 0; i < node_revert_states.count; i++) {
        const struct state_row *row = &node_revert_states.rows[i];

        ck_assert_int_eq(row->action == NODE_REVERT_START, row->next == NODE_REVERT_RUNNING);
        ck_assert_int_eq(row->action == NODE_REVERT_START, row->event == NODE_REVERT_KNOWN);
    }
}
END_TEST

/* As far as this node knows, clients may have written since. */
START_TEST(a_finished_revert_is_not_repeated) {
    for (unsigned event = 0; event < NODE_REVERT_CLOSED; event++)
        ck_assert_ptr_null(state_table_find(&node_revert_states, NODE_REVERT_DONE, event));
}
END_TEST

/* ---- copying and comparing ---- */

START_TEST(every_row_of_copying_and_comparing_is_reached) {
    reach_every_row(&replica_work_states);
}
END_TEST

START_TEST(each_slot_of_the_node_is_freed_once) {
    unsigned state = REPLICA_WORK_NONE;
    int rebuilds = 0, comparisons = 0;

    srand(7);
    for (unsigned i = 0; i < 10000; i++) {
        unsigned event = (unsigned)rand() % replica_work_states.event_count;
        const struct state_row *row = state_table_find(&replica_work_states, state, event);

        if (!row)
            continue;
        state_table_next(&replica_work_states, &state, event);
        rebuilds +=
            (event == REPLICA_WORK_REBUILD_BEGINS) - (row->action == REPLICA_WORK_FREE_REBUILD);
        comparisons +=
            (event == REPLICA_WORK_COMPARE_BEGINS) - (row->action == REPLICA_WORK_FREE_COMPARE);
        ck_assert_int_eq(rebuilds, state == REPLICA_WORK_REBUILD);
        ck_assert_int_eq(comparisons, state == REPLICA_WORK_COMPARE);
    }
}
END_TEST

CHECK_MAIN("controller states", every_row_of_the_volume_controller_is_reached,
           from_every_state_a_volume_controller_can_end, a_started_stop_is_finished,
           a_daemon_is_started_for_a_claimed_assignment_alone,
           no_volume_is_served_while_its_forced_recovery_is_evaluated,
           a_volume_that_is_reverted_is_served_to_no_client,
           every_event_of_a_volume_controller_has_a_row,
           every_row_of_a_revert_on_its_node_is_reached,
           a_revert_begins_with_an_attempt_that_its_document_has, a_finished_revert_is_not_repeated,
           every_row_of_copying_and_comparing_is_reached, each_slot_of_the_node_is_freed_once)
