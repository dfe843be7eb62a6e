/*
 * The two tables: every status has a way out, every operation ends in a status from which work can
 * continue.
 */
#include "model/conflict.h"
#include "model/group/snapshot_status.h"
#include "model/group/status.h"
#include "model/operations.h"
#include "model/snapshot/status.h"
#include "tests/lib/check_main.h"

#include <string.h>

/* Statuses of operations that this program does not run yet: nothing here can enter them but an
 * operator's reset, which is also the way out. */
static const uint64_t entered_by_reset_only =
    ST(ERROR_MANAGING_DELETING) | ST(BACKING_UP) | ST(RESTORING_BACKUP) | ST(RETYPING);

static const struct operation_kind *owner_of(enum volume_status status) {
    for (const struct operation_kind *const *kind = operation_kinds; *kind; kind++)
        if ((*kind)->object == &volume_objects && (*kind)->meanwhile == status)
            return *kind;
    return NULL;
}

START_TEST(every_transient_status_has_an_operation_that_ends_it) {
    for (int i = 0; i < VOLUME_STATUSES; i++) {
        enum volume_status status = (enum volume_status)i;

        if (status_is_transient(status) && !(entered_by_reset_only & ((uint64_t)1 << i)))
            ck_assert_msg(owner_of(status) != NULL, "%s has no operation", status_text(status));
    }
}
END_TEST

START_TEST(operations_end_in_statuses_that_last) {
    for (unsigned i = 0; operation_kinds[i]; i++) {
        const struct operation_kind *kind = operation_kinds[i];
        const struct object_kind *object = kind->object;

        if (!object)
            continue;
        ck_assert(object->statuses[kind->meanwhile].transient);
        ck_assert(!object->statuses[kind->on_failure].transient);
        for (unsigned j = 0; j < object->status_count; j++)
            if (kind->may_start_from >> j & 1)
                ck_assert_msg(!object->statuses[j].transient, "%s starts from %s", kind->name,
                              object->statuses[j].text);
    }
}
END_TEST

/* From a failure's status a volume, a snapshot or a group snapshot can be deleted, or reset; or the
 * same can be tried again. */
START_TEST(every_failure_can_be_left) {
    for (unsigned i = 0; operation_kinds[i]; i++) {
        const struct operation_kind *kind = operation_kinds[i];
        const struct object_kind *object = kind->object;
        const struct operation_kind *leave = object == &snapshot_objects ? &kind_snapshot_delete
                                             : object == &group_snapshot_objects
                                                 ? &kind_group_snapshot_delete
                                                 : &kind_delete;

        if (object)
            ck_assert_msg((kind->may_start_from >> kind->on_failure & 1) ||
                              (object->statuses[kind->on_failure].by_reset &&
                               (kind->on_failure == leave->on_failure ||
                                (leave->may_start_from >> kind->on_failure & 1))),
                          "%s", object->statuses[kind->on_failure].text);
    }
}
END_TEST

/* Operations that meet one with a volume in its hands are notified; and it can end. */
START_TEST(operations_that_change_a_status_run_beside_no_other) {
    for (unsigned i = 0; operation_kinds[i]; i++) {
        const struct operation_kind *kind = operation_kinds[i];

        if (!kind->object)
            continue;
        ck_assert_msg(kind->is[PHASE_QUEUED] != WORK_BESIDE, "%s", kind->name);
        ck_assert_msg(kind->is[PHASE_RUNNING] != WORK_BESIDE, "%s", kind->name);
        ck_assert_msg(kind->finish != NULL, "%s", kind->name);
    }
}
END_TEST

/* One that makes its object is the only one that it has. */
START_TEST(two_operations_never_share_a_status) {
    for (unsigned i = 0; operation_kinds[i]; i++)
        for (unsigned j = 0; j < i; j++)
            ck_assert(!operation_kinds[i]->object ||
                      !operation_kinds[i]->may_start_from != !operation_kinds[j]->may_start_from ||
                      operation_kinds[i]->object != operation_kinds[j]->object ||
                      operation_kinds[i]->meanwhile != operation_kinds[j]->meanwhile);
}
END_TEST

START_TEST(texts_are_read_back) {
    enum volume_status status;

    for (int i = 0; i < VOLUME_STATUSES; i++) {
        ck_assert_int_eq(status_parse(status_text((enum volume_status)i), &status), 0);
        ck_assert_int_eq(status, i);
    }
    ck_assert_int_eq(status_parse("In-Use", &status), -1);
    ck_assert_int_eq(status_parse("", &status), -1);
    ck_assert_str_eq(status_shown(VOLUME_MANAGING), "creating");
    ck_assert_str_eq(status_shown(VOLUME_ERROR_MANAGING), "error");
    ck_assert_str_eq(status_shown(VOLUME_ERROR_MANAGING_DELETING), "deleting");
}
END_TEST

/* in-use is the one status of a group that no operator sets. */
START_TEST(an_operator_sets_each_status_of_groups_but_one) {
    unsigned status;

    ck_assert_int_eq(status_find(&group_objects, "in-use", &status), 0);
    ck_assert_uint_eq(status, GROUP_IN_USE);
    for (unsigned i = 0; i < GROUP_STATUSES; i++)
        ck_assert_int_eq(group_objects.statuses[i].by_reset, i != GROUP_IN_USE);
    for (unsigned i = 0; i < GROUP_SNAPSHOT_STATUSES; i++) {
        ck_assert(group_snapshot_objects.statuses[i].by_reset);
        ck_assert_int_eq(
            status_find(&group_objects, group_snapshot_objects.statuses[i].text, &status), 0);
    }
}
END_TEST

START_TEST(kinds_are_found_by_name) {
    for (unsigned i = 0; operation_kinds[i]; i++)
        ck_assert_ptr_eq(operation_kind_find(operation_kinds[i]->name), operation_kinds[i]);
    ck_assert_ptr_null(operation_kind_find("nonsense"));
}
END_TEST

CHECK_MAIN("status", every_transient_status_has_an_operation_that_ends_it,
           operations_end_in_statuses_that_last, every_failure_can_be_left,
           operations_that_change_a_status_run_beside_no_other, two_operations_never_share_a_status,
           texts_are_read_back, an_operator_sets_each_status_of_groups_but_one,
           kinds_are_found_by_name)
