#include "replication/node/rebuild_failures.h"

#include "tests/lib/check_main.h"

#define A "11111111-1111-4111-8111-111111111111"
#define B "22222222-2222-4222-8222-222222222222"

static const char *const both[] = { A, B };
static struct error full;

static void rebuild_fails(struct rebuild_failures *failures, const char *replica, int64_t now_us) {
    error_set(&full, ERROR_BACKEND, "No space left on device");
    rebuild_failures_add(failures, replica, &full, now_us);
}

START_TEST(a_replica_that_cannot_be_rebuilt_does_not_delay_another) {
    struct rebuild_failures failures = { 0 };

    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, 0), 0);
    rebuild_fails(&failures, A, 0);
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, 0), 1);
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 1, 0), -1);
    /* Both are due: the one with fewer failures is first. */
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, 10 * SECOND_US), 1);
    rebuild_fails(&failures, B, 10 * SECOND_US);
    rebuild_fails(&failures, B, 20 * SECOND_US);
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, 1000 * SECOND_US), 0);
}
END_TEST

START_TEST(each_failure_in_a_row_doubles_the_wait_up_to_a_limit) {
    struct rebuild_failures failures = { 0 };
    static const int64_t waits_s[] = { 5, 10, 20, 40, 80, 160, 320, 320, 320 };

    for (size_t i = 0; i < LENGTH(waits_s); i++) {
        rebuild_fails(&failures, A, 0);
        ck_assert_int_eq(rebuild_failures_find(&failures, A)->backoff.due_us,
                         waits_s[i] * SECOND_US);
        ck_assert_str_eq(rebuild_failures_find(&failures, A)->why.message,
                         "No space left on device");
    }
    rebuild_failures_forget(&failures, A);
    ck_assert_ptr_null(rebuild_failures_find(&failures, A));
    rebuild_fails(&failures, A, 0);
    ck_assert_int_eq(rebuild_failures_find(&failures, A)->backoff.due_us, 5 * SECOND_US);
}
END_TEST

START_TEST(an_attempt_is_due_when_a_full_pool_has_space) {
    const int64_t mib = INT64_C(1) << 20;
    struct rebuild_failures failures = { 0 };
    struct error other;

    ck_assert(!rebuild_failures_lack_space(&failures));
    error_set(&other, ERROR_BACKEND, "Input/output error");
    rebuild_failures_add(&failures, B, &other, 0);
    ck_assert(!rebuild_failures_lack_space(&failures));
    rebuild_fails(&failures, A, 0);
    ck_assert(rebuild_failures_lack_space(&failures));
    rebuild_failures_note_space(&failures, A, 3 * mib);
    rebuild_failures_note_space(&failures, A, 2 * mib);
    rebuild_failures_note_space(&failures, A, 5 * mib);
    rebuild_failures_note_space(&failures, B, 9 * mib); /* its failure was another one */
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, 1), -1);
    rebuild_failures_note_space(&failures, A, 5 * mib + 1);
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, 1), 0);
    rebuild_fails(&failures, A, 1);
    rebuild_failures_note_space(&failures, A, 5 * mib + 1); /* that was not enough */
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, 2), -1);
}
END_TEST

START_TEST(a_returned_pool_ends_the_wait_of_its_replica_alone) {
    struct rebuild_failures failures = { 0 };

    for (int i = 0; i < 5; i++) {
        rebuild_fails(&failures, A, 0);
        rebuild_fails(&failures, B, 0);
    }
    rebuild_failures_see(&failures, A, true); /* its pool was present all the time */
    ck_assert_ptr_nonnull(rebuild_failures_find(&failures, A));
    rebuild_failures_see(&failures, A, false);
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, SECOND_US), -1);
    rebuild_failures_see(&failures, A, true);
    ck_assert_ptr_null(rebuild_failures_find(&failures, A));
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 2, SECOND_US), 0);
    ck_assert_uint_eq(rebuild_failures_find(&failures, B)->backoff.failures, 5);
    rebuild_fails(&failures, A, 0);
    rebuild_failures_see(&failures, A, true);
    ck_assert_int_eq(rebuild_failures_find(&failures, A)->backoff.due_us, 5 * SECOND_US);
}
END_TEST

START_TEST(a_decision_about_refused_blocks_makes_the_next_attempt_due) {
    struct rebuild_failures failures = { 0 };

    for (int i = 0; i < 5; i++)
        rebuild_fails(&failures, A, 0);
    rebuild_failures_note_decisions(&failures, 0);
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 1, SECOND_US), -1);
    rebuild_failures_note_decisions(&failures, 1);
    ck_assert_int_eq(rebuild_failures_next(&failures, both, 1, SECOND_US), 0);
    rebuild_fails(&failures, A, 0);
    rebuild_failures_note_decisions(&failures, 1);
    ck_assert_int_eq(rebuild_failures_find(&failures, A)->backoff.due_us, 160 * SECOND_US);
}
END_TEST

START_TEST(failures_of_more_replicas_than_a_volume_has_replace_the_oldest) {
    struct rebuild_failures failures = { 0 };
    char replica[UUID_SIZE] = A;

    for (int i = 0; i < (int)LENGTH(failures.of) + 1; i++) {
        replica[0] = (char)('a' + i);
        rebuild_fails(&failures, replica, i * SECOND_US);
    }
    ck_assert_ptr_nonnull(rebuild_failures_find(&failures, replica));
    replica[0] = 'b';
    ck_assert_ptr_nonnull(rebuild_failures_find(&failures, replica));
    replica[0] = 'a';
    ck_assert_ptr_null(rebuild_failures_find(&failures, replica));
}
END_TEST

CHECK_MAIN("rebuild_failures", a_replica_that_cannot_be_rebuilt_does_not_delay_another,
           each_failure_in_a_row_doubles_the_wait_up_to_a_limit,
           an_attempt_is_due_when_a_full_pool_has_space,
           a_returned_pool_ends_the_wait_of_its_replica_alone,
           a_decision_about_refused_blocks_makes_the_next_attempt_due,
           failures_of_more_replicas_than_a_volume_has_replace_the_oldest)
