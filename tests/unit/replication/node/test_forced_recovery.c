#include "replication/node/forced_recovery.h"

#include "tests/lib/check_main.h"
#include "tests/lib/state_tables.h"

static unsigned after(const enum forced_event *events, unsigned count) {
    unsigned state = FORCED_UNKNOWN;

    for (unsigned i = 0; i < count; i++)
        ck_assert_ptr_nonnull(state_table_next(&forced_states, &state, events[i]));
    return state;
}
#define AFTER(...)                                    \
    after((const enum forced_event[]){ __VA_ARGS__ }, \
          sizeof((const enum forced_event[]){ __VA_ARGS__ }) / sizeof(enum forced_event))

START_TEST(a_request_is_answered_once) {
    static const enum forced_event answers[] = { FORCED_REPLICA_FIT, FORCED_REPLICA_FLAW,
                                                 FORCED_HAS_QUORUM, FORCED_SERVED };

    for (unsigned state = FORCED_ABLE; state <= FORCED_DONE; state++)
        for (size_t i = 0; i < LENGTH(answers); i++)
            ck_assert_ptr_null(state_table_find(&forced_states, state, answers[i]));
    for (unsigned state = FORCED_UNKNOWN; state <= FORCED_DONE; state++)
        ck_assert_uint_eq(state_table_find(&forced_states, state, FORCED_REQUESTED)->next,
                          FORCED_UNKNOWN);
}
END_TEST

START_TEST(a_refused_request_is_about_no_later_loss) {
    ck_assert_uint_eq(AFTER(FORCED_HAS_QUORUM, FORCED_CLOSED_REQUESTED), FORCED_REFUSED);
    ck_assert_uint_eq(AFTER(FORCED_HAS_QUORUM, FORCED_CLOSED), FORCED_UNKNOWN);
    ck_assert_uint_eq(AFTER(FORCED_REPLICA_FIT, FORCED_CLOSED_REQUESTED), FORCED_UNKNOWN);
}
END_TEST

START_TEST(every_row_of_a_forced_recovery_is_reached) {
    autoarena struct arena *arena = arena_new();
    struct error err;

    ck_assert_msg(state_table_check(&forced_states, &err) == 0, "%s", err.message);
    AFTER(FORCED_REQUESTED, FORCED_CLOSED_REQUESTED, FORCED_CLOSED);
    AFTER(FORCED_REPLICA_FIT, FORCED_CLOSED_REQUESTED, FORCED_REPLICA_FIT, FORCED_CLOSED,
          FORCED_REPLICA_FIT, FORCED_REQUESTED);
    AFTER(FORCED_REPLICA_FLAW, FORCED_CLOSED_REQUESTED, FORCED_CLOSED, FORCED_HAS_QUORUM,
          FORCED_REQUESTED);
    AFTER(FORCED_SERVED, FORCED_CLOSED_REQUESTED, FORCED_SERVED, FORCED_CLOSED, FORCED_SERVED,
          FORCED_REQUESTED);
    ck_assert_ptr_null(state_table_unreached(&forced_states, arena));
}
END_TEST

CHECK_MAIN("forced recovery", a_request_is_answered_once, a_refused_request_is_about_no_later_loss,
           every_row_of_a_forced_recovery_is_reached)
