#include "replication/node/pool_states.h"

#include "tests/lib/check_main.h"
#include "tests/lib/state_tables.h"

START_TEST(every_event_of_a_pool_in_every_state_has_a_row_and_a_sentence) {
    autoarena struct arena *arena = arena_new();
    struct error err;

    ck_assert_msg(state_table_check(&pool_states, &err) == 0, "%s", err.message);
    for (unsigned state = 0; state < pool_states.state_count; state++)
        for (unsigned event = 0; event < pool_states.event_count; event++) {
            unsigned now = state;
            const struct state_row *row = state_table_next(&pool_states, &now, event);

            ck_assert_ptr_nonnull(row);
            ck_assert_uint_eq(now, event + POOL_IS_ONLINE);
            ck_assert_int_eq(row->action == POOL_REPORTS, now != state);
        }
    ck_assert_ptr_null(state_table_unreached(&pool_states, arena));
}
END_TEST

CHECK_MAIN("pool states", every_event_of_a_pool_in_every_state_has_a_row_and_a_sentence)
