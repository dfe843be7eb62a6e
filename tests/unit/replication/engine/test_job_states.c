#include "replication/engine/job_states.h"

#include "tests/lib/check_main.h"
#include "tests/lib/state_tables.h"

static const unsigned ends[] = { JOB_IS_NONE, JOB_IS_DONE, JOB_IS_FAILED };

static bool is_over(unsigned state) {
    return state == ends[0] || state == ends[1] || state == ends[2];
}

static bool has(unsigned state, unsigned event) {
    return state_table_find(&job_states, state, event) != NULL;
}

START_TEST(one_job_runs_at_a_time) {
    for (unsigned state = 0; state < job_states.state_count; state++) {
        ck_assert_int_eq(has(state, JOB_BEGUN), is_over(state));
        ck_assert_int_eq(has(state, JOB_FORGOTTEN), is_over(state));
        ck_assert_int_eq(has(state, JOB_FAILS), !is_over(state));
    }
}
END_TEST

START_TEST(a_job_ends_with_the_daemon_unless_it_awaits_the_next_start) {
    for (unsigned state = 0; state < job_states.state_count; state++) {
        const struct state_row *row = state_table_find(&job_states, state, JOB_DAEMON_ENDED);

        ck_assert_ptr_nonnull(row);
        ck_assert_uint_eq(row->next,
                          is_over(state) || state == JOB_IS_JOINING ? state : JOB_IS_FAILED);
    }
}
END_TEST

/* Marks all states that follow from this one, by any events but another job. */
static void mark(unsigned state, bool *ret) {
    bool changed = true;

    ret[state] = true;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < job_states.count; i++) {
            const struct state_row *row = &job_states.rows[i];

            if (row->event == JOB_BEGUN || !ret[row->state] || ret[row->next])
                continue;
            ret[row->next] = changed = true;
        }
    }
}

START_TEST(a_job_is_repeated_once_and_never_after_a_stop) {
    static const unsigned last[] = { JOB_IS_COPYING_BLOCKS, JOB_IS_STOPPING };

    for (size_t i = 0; i < LENGTH(last); i++) {
        bool follows[JOB_IS_FAILED + 1] = { false };

        mark(last[i], follows);
        for (unsigned state = 0; state < LENGTH(follows); state++)
            ck_assert(!follows[state] || !has(state, JOB_UNREADABLE));
    }
}
END_TEST

START_TEST(a_copy_is_completed_by_one_request) {
    for (unsigned state = 0; state < job_states.state_count; state++) {
        const struct state_row *row = state_table_find(&job_states, state, JOB_COPIED);

        ck_assert(!row || !has(row->next, JOB_COPIED));
        ck_assert(!row || has(row->next, JOB_COMPLETED));
    }
    ck_assert(!has(JOB_IS_STOPPING, JOB_COPIED) && !has(JOB_IS_STOPPING, JOB_AWAITS_START));
}
END_TEST

START_TEST(every_row_of_a_job_is_reached) {
    autoarena struct arena *arena = arena_new();
    struct error err;

    ck_assert_msg(state_table_check(&job_states, &err) == 0, "%s", err.message);
    for (unsigned state = 0; state < job_states.state_count; state++)
        for (unsigned event = 0; event < job_states.event_count; event++) {
            unsigned now = state;

            if (has(state, event))
                ck_assert_ptr_nonnull(state_table_next(&job_states, &now, event));
        }
    ck_assert_ptr_null(state_table_unreached(&job_states, arena));
}
END_TEST

CHECK_MAIN("job states", one_job_runs_at_a_time,
           a_job_ends_with_the_daemon_unless_it_awaits_the_next_start,
           a_job_is_repeated_once_and_never_after_a_stop, a_copy_is_completed_by_one_request,
           every_row_of_a_job_is_reached)
