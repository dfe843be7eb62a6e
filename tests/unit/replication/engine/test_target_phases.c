#include "replication/engine/target_phases.h"

#include "tests/lib/check_main.h"
#include "tests/lib/state_tables.h"

static bool serves(unsigned phase) {
    return phase >= TARGET_IS_IN_SYNC;
}

static bool is_sealed(unsigned phase) {
    return phase >= TARGET_IS_SEALED;
}

#define EACH_ROW(row)                                      \
    for (const struct state_row *row = target_phases.rows; \
         row < target_phases.rows + target_phases.count; row++)

START_TEST(a_target_serves_only_after_a_start_or_an_adoption) {
    EACH_ROW(row) {
        if (serves(row->state) || !serves(row->next))
            continue;
        ck_assert(row->state == TARGET_IS_STARTING || row->event == TARGET_ADOPTED);
    }
}
END_TEST

START_TEST(a_target_is_down_when_its_daemon_has_ended) {
    for (unsigned phase = 0; phase < target_phases.state_count; phase++)
        ck_assert_uint_eq(state_table_find(&target_phases, phase, TARGET_ENDED)->next,
                          TARGET_IS_DOWN);
    EACH_ROW(row) {
        if (serves(row->state) && !serves(row->next))
            ck_assert_uint_eq(row->event, TARGET_ENDED);
    }
}
END_TEST

START_TEST(a_volume_is_in_sync_after_a_clean_stop_or_a_comparison_of_all) {
    EACH_ROW(row) {
        if (row->next != TARGET_IS_IN_SYNC || row->state == TARGET_IS_IN_SYNC)
            continue;
        ck_assert(row->event == TARGET_SERVES_CLEAN ||
                  (row->state == TARGET_IS_RESYNCHRONIZING && row->event == TARGET_COMPARED));
    }
}
END_TEST

START_TEST(lost_reports_leave_no_volume_in_sync_or_reverted) {
    for (unsigned phase = TARGET_IS_IN_SYNC; phase < target_phases.state_count; phase++)
        ck_assert_uint_eq(state_table_find(&target_phases, phase, TARGET_REPORTS_LOST)->next,
                          is_sealed(phase) ? TARGET_IS_INCOMPLETE : TARGET_IS_RESYNCHRONIZING);
}
END_TEST

START_TEST(an_incomplete_revert_never_ends) {
    ck_assert_ptr_null(state_table_find(&target_phases, TARGET_IS_INCOMPLETE, TARGET_REVERT_ENDED));
    EACH_ROW(row) {
        if (row->state == TARGET_IS_INCOMPLETE)
            ck_assert(row->next == TARGET_IS_INCOMPLETE || row->event == TARGET_ENDED);
    }
}
END_TEST

START_TEST(a_sealed_volume_admits_no_client_until_its_daemon_has_ended) {
    EACH_ROW(row) {
        if (serves(row->state) && serves(row->next))
            ck_assert_int_eq(is_sealed(row->state), is_sealed(row->next));
    }
}
END_TEST

START_TEST(every_row_of_a_target_is_reached) {
    autoarena struct arena *arena = arena_new();
    struct error err;

    ck_assert_msg(state_table_check(&target_phases, &err) == 0, "%s", err.message);
    EACH_ROW(row) {
        unsigned phase = row->state;

        ck_assert_ptr_eq(state_table_next(&target_phases, &phase, row->event), row);
        ck_assert_uint_eq(phase, row->next);
    }
    ck_assert_ptr_null(state_table_unreached(&target_phases, arena));
}
END_TEST

CHECK_MAIN("target phases", a_target_serves_only_after_a_start_or_an_adoption,
           a_target_is_down_when_its_daemon_has_ended,
           a_volume_is_in_sync_after_a_clean_stop_or_a_comparison_of_all,
           lost_reports_leave_no_volume_in_sync_or_reverted, an_incomplete_revert_never_ends,
           a_sealed_volume_admits_no_client_until_its_daemon_has_ended,
           every_row_of_a_target_is_reached)
