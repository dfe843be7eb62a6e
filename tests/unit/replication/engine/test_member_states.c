#include "replication/engine/member_states.h"

#include "tests/lib/check_main.h"
#include "tests/lib/state_tables.h"

#define EACH_ROW(row)                                      \
    for (const struct state_row *row = member_states.rows; \
         row < member_states.rows + member_states.count; row++)

static bool votes(unsigned state) {
    return state >= MEMBER_IS_VOTING;
}

START_TEST(a_member_or_completely_rebuilt_replica_votes) {
    EACH_ROW(row) {
        if (votes(row->state) || !votes(row->next))
            continue;
        ck_assert_uint_eq(row->next, MEMBER_IS_VOTING);
        ck_assert((row->state == MEMBER_IS_OUT && row->event == MEMBER_CHOSEN) ||
                  (row->state == MEMBER_IS_REBUILDING && row->event == MEMBER_JOINS));
    }
}
END_TEST

START_TEST(a_replica_that_missed_a_write_fails_until_a_rebuild_restart_or_comparison) {
    EACH_ROW(row) {
        bool fails = row->state == MEMBER_IS_INCOMPLETE || row->state == MEMBER_IS_FAILING ||
                     row->state == MEMBER_IS_UNLINKED;

        if (fails && row->event != MEMBER_RESUMES)
            ck_assert(row->next != MEMBER_IS_VOTING && row->next != MEMBER_IS_REBUILDING);
        if (row->event == MEMBER_RESUMES) /* and not with a path that leads to another file */
            ck_assert(row->state == MEMBER_IS_FAILING && row->next == MEMBER_IS_VOTING);
        if (row->state == MEMBER_IS_UNLINKED)
            ck_assert(row->next != MEMBER_IS_FAILING);
    }
}
END_TEST

START_TEST(each_start_resets_the_state) {
    for (unsigned state = 0; state < member_states.state_count; state++) {
        ck_assert_uint_eq(state_table_find(&member_states, state, MEMBER_OPENED)->next,
                          MEMBER_IS_OUT);
        ck_assert_uint_eq(state_table_find(&member_states, state, MEMBER_NOT_OPENED)->next,
                          MEMBER_IS_EXCLUDED);
    }
}
END_TEST

START_TEST(every_row_of_a_replica_is_reached) {
    autoarena struct arena *arena = arena_new();
    struct error err;

    ck_assert_msg(state_table_check(&member_states, &err) == 0, "%s", err.message);
    EACH_ROW(row) {
        unsigned state = row->state;

        ck_assert_ptr_eq(state_table_next(&member_states, &state, row->event), row);
        ck_assert_uint_eq(state, row->next);
    }
    ck_assert_ptr_null(state_table_unreached(&member_states, arena));
}
END_TEST

CHECK_MAIN("member states", a_member_or_completely_rebuilt_replica_votes,
           a_replica_that_missed_a_write_fails_until_a_rebuild_restart_or_comparison,
           each_start_resets_the_state, every_row_of_a_replica_is_reached)
