/*
 * The door of statuses: the changes it makes, and the statuses that stay.
 */
#include "operation/status.h"

#include "tests/lib/work_test.h"

#define ID "v1"

static void have(struct work *work, const char *status, int by_reset) {
    put_volume(work, ID, PROJECT, NULL, 1, true, "node@a#p");
    sql(work, "UPDATE volumes SET status = '%s', status_by_reset = %d", status, by_reset);
}

static void assert_status(struct work *work, enum volume_status status, bool by_reset) {
    struct error err = { 0 };
    struct volume volume;

    ck_assert_int_eq(volume_row(work, ID, &volume, &err), 0);
    ck_assert_int_eq(volume.status, status);
    ck_assert_int_eq(volume.status_by_reset, by_reset);
}

static int change(struct work *work, struct status_change change, struct error *err) {
    return status_write(work, &volume_objects, ID, &change, err);
}

WORK_TEST(a_status_changes_from_the_one_that_was_seen) {
    have(work, "available", 0);
    ck_assert_int_eq(
        change(work, (struct status_change){ .from = VOLUME_IN_USE, .to = VOLUME_EXTENDING }, err),
        0);
    assert_status(work, VOLUME_AVAILABLE, false);
    ck_assert_int_eq(
        change(work, (struct status_change){ .from = VOLUME_AVAILABLE, .to = VOLUME_EXTENDING },
               err),
        1);
    assert_status(work, VOLUME_EXTENDING, false);
}

WORK_TEST(a_status_set_by_an_operator_stays_where_requested) {
    struct status_change ending = { .from = VOLUME_EXTENDING,
                                    .to = VOLUME_IN_USE,
                                    .unless_reset = true };

    have(work, "available", 0);
    ck_assert_int_eq(change(work,
                            (struct status_change){
                                .from = STATUS_ANY, .to = VOLUME_EXTENDING, .by_reset = true },
                            err),
                     1);
    assert_status(work, VOLUME_EXTENDING, true);
    ck_assert_int_eq(change(work, ending, err), 0);
    assert_status(work, VOLUME_EXTENDING, true);
    ending.unless_reset = false;
    ck_assert_int_eq(change(work, ending, err), 1);
    assert_status(work, VOLUME_IN_USE, false);
}

WORK_TEST(an_object_that_is_gone_gets_no_status) {
    ck_assert_int_eq(
        change(work, (struct status_change){ .from = STATUS_ANY, .to = VOLUME_ERROR }, err), 0);
}

CHECK_MAIN("status door", a_status_changes_from_the_one_that_was_seen,
           a_status_set_by_an_operator_stays_where_requested, an_object_that_is_gone_gets_no_status)
