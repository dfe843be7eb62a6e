#include "model/volume/quota.h"

#include "operation/quota.h"
#include "operation/quota_limit.h"
#include "tests/lib/work_test.h"

#define TYPE_ID "aaaaaaaa-0000-4000-8000-000000000001"

static void put_type(struct work *work) {
    sql(work, "INSERT INTO volume_types (id, name, is_public, created_at) "
              "VALUES ('" TYPE_ID "', 'gold', 1, 1)");
}

static int64_t reserved(struct work *work, const char *resource) {
    return sql_int(work,
                   "SELECT COALESCE(SUM(delta), 0) FROM reservations "
                   "WHERE project_id = '" PROJECT "' AND resource = '%s'",
                   resource);
}

static int64_t in_use(struct work *work, const char *resource) {
    return sql_int(work,
                   "SELECT COALESCE(SUM(used), 0) FROM quota_usages "
                   "WHERE project_id = '" PROJECT "' AND resource = '%s'",
                   resource) -
           reserved(work, resource);
}

static struct volume volume_of(const char *id, int64_t size_gb, const char *type_name) {
    return (struct volume){ .id = id,
                            .project_id = PROJECT,
                            .size_gb = size_gb,
                            .use_quota = true,
                            .type_name = type_name };
}

/* ---- taking ---- */

WORK_TEST(a_taken_volume_counts_for_its_project_and_its_type) {
    OK(volume_quota_take(work, PROJECT, "gold", 5, err));
    OK(volume_quota_take(work, PROJECT, NULL, 2, err));
    ck_assert_int_eq(in_use(work, "volumes"), 2);
    ck_assert_int_eq(in_use(work, "gigabytes"), 7);
    ck_assert_int_eq(in_use(work, "volumes_gold"), 1);
    ck_assert_int_eq(in_use(work, "gigabytes_gold"), 5);
    ck_assert_int_eq(reserved(work, "gigabytes"), 0);
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM quota_usages "
                                   "WHERE project_id <> '" PROJECT "'"),
                     0);
}

WORK_TEST(more_gigabytes_than_the_quota_are_refused_as_upstream_does) {
    settings_of(work)->quota_gigabytes = 10;
    OK(volume_quota_take(work, PROJECT, NULL, 8, err));
    REFUSED(volume_quota_take(work, PROJECT, NULL, 5, err), OVER_QUOTA);
    ck_assert_str_eq(err->message,
                     "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds "
                     "allowed gigabytes quota. Requested 5G, quota is 10G and 8G has been "
                     "consumed.");
    ck_assert_int_eq(in_use(work, "gigabytes"), 8);
    ck_assert_int_eq(in_use(work, "volumes"), 1);
    OK(volume_quota_take(work, PROJECT, NULL, 2, err));
    ck_assert_int_eq(in_use(work, "gigabytes"), 10);
}

WORK_TEST(more_volumes_than_the_quota_are_refused_as_upstream_does) {
    settings_of(work)->quota_volumes = 1;
    OK(volume_quota_take(work, PROJECT, NULL, 1, err));
    REFUSED(volume_quota_take(work, PROJECT, NULL, 1, err), OVER_QUOTA);
    ck_assert_str_eq(err->message, "VolumeLimitExceeded: Maximum number of volumes allowed (1) "
                                   "exceeded for quota 'volumes'.");
    ck_assert_int_eq(in_use(work, "volumes"), 1);
}

WORK_TEST(gigabytes_are_reported_before_volumes_when_both_are_exceeded) {
    settings_of(work)->quota_volumes = 0;
    settings_of(work)->quota_gigabytes = 0;
    REFUSED(volume_quota_take(work, PROJECT, NULL, 1, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "VolumeSizeExceedsAvailableQuota: "));
    ck_assert_int_eq(rows_of(work, "quota_usages"), 0);
}

WORK_TEST(limits_of_a_type_hold_beside_the_projects) {
    put_type(work);
    OK(quota_limit_set(work, PROJECT, "gigabytes_gold", 4, err));
    REFUSED(volume_quota_take(work, PROJECT, "gold", 5, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "allowed gigabytes_gold quota"));
    OK(quota_limit_set(work, PROJECT, "volumes_gold", 0, err));
    REFUSED(volume_quota_take(work, PROJECT, "gold", 1, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "for quota 'volumes_gold'"));
    OK(volume_quota_take(work, PROJECT, NULL, 5, err));
}

WORK_TEST(a_single_volume_has_a_limit_of_its_own) {
    settings_of(work)->per_volume_size_limit = 3;
    REFUSED(volume_quota_take(work, PROJECT, NULL, 4, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "VolumeSizeExceedsLimit: "));
    ck_assert_ptr_nonnull(strstr(err->message, "exceed"));
    ck_assert_int_eq(rows_of(work, "quota_usages"), 0);
    OK(volume_quota_take(work, PROJECT, NULL, 3, err));
}

WORK_TEST(minus_one_is_no_limit) {
    settings_of(work)->quota_gigabytes = -1;
    settings_of(work)->quota_volumes = -1;
    OK(volume_quota_take(work, PROJECT, NULL, 2147483647, err));
    OK(volume_quota_take(work, PROJECT, NULL, 2147483647, err));
    ck_assert_int_eq(in_use(work, "gigabytes"), INT64_C(4294967294));
}

WORK_TEST(reservations_count_as_used) {
    struct volume volume = volume_of("v1", 4, NULL);

    settings_of(work)->quota_gigabytes = 10;
    put_volume(work, "v1", PROJECT, NULL, 4, true, NULL);
    put_operation(work, "o1", "extend", "v1", 8);
    OK(volume_quota_take(work, PROJECT, NULL, 4, err));
    OK(volume_quota_reserve_growth(work, &volume, "o1", 8, err));
    REFUSED(volume_quota_take(work, PROJECT, NULL, 3, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "8G has been consumed"));
    OK(volume_quota_take(work, PROJECT, NULL, 2, err));
}

/* ---- giving back ---- */

WORK_TEST(a_deleted_volume_releases_its_quota) {
    struct volume volume = volume_of("v1", 5, "gold");

    OK(volume_quota_take(work, PROJECT, "gold", 5, err));
    OK(volume_quota_take(work, PROJECT, NULL, 2, err));
    OK(volume_quota_give_back(work, &volume, err));
    ck_assert_int_eq(in_use(work, "volumes"), 1);
    ck_assert_int_eq(in_use(work, "gigabytes"), 2);
    ck_assert_int_eq(in_use(work, "volumes_gold"), 0);
    ck_assert_int_eq(in_use(work, "gigabytes_gold"), 0);
    volume = volume_of("v2", 2, NULL);
    OK(volume_quota_give_back(work, &volume, err));
    OK(volume_quota_give_back(work, &volume, err));
    ck_assert_int_eq(in_use(work, "volumes"), 0);
    ck_assert_int_eq(in_use(work, "gigabytes"), 0);
}

WORK_TEST(a_volume_that_does_not_count_releases_nothing) {
    struct volume volume = volume_of("v1", 5, NULL);

    volume.use_quota = false;
    OK(volume_quota_take(work, PROJECT, NULL, 5, err));
    OK(volume_quota_give_back(work, &volume, err));
    ck_assert_int_eq(in_use(work, "gigabytes"), 5);
}

/* ---- reservations ---- */

static struct volume growing(struct work *work, const char *type_name) {
    put_type(work);
    put_volume(work, "v1", PROJECT, TYPE_ID, 2, true, NULL);
    put_operation(work, "o1", "extend", "v1", 5);
    return volume_of("v1", 2, type_name);
}

WORK_TEST(growth_is_reserved_for_the_operation_until_it_ends) {
    struct volume volume = growing(work, "gold");
    const char *ids;

    OK(volume_quota_take(work, PROJECT, "gold", 2, err));
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    ck_assert_int_eq(in_use(work, "gigabytes"), 2);
    ck_assert_int_eq(reserved(work, "gigabytes"), 3);
    ck_assert_int_eq(reserved(work, "gigabytes_gold"), 3);
    ck_assert_int_eq(reserved(work, "volumes"), 0);
    ck_assert_int_eq(rows_of(work, "reservations"), 2);
    OK(quota_reservation_ids(work, "o1", &ids, err));
    ck_assert_uint_eq(strlen(ids), 2 * 38 + 4); /* ["…", "…"] */
    ck_assert_int_eq(quota_commit(work, "o1", err), 2);
    ck_assert_int_eq(in_use(work, "gigabytes"), 5);
    ck_assert_int_eq(in_use(work, "gigabytes_gold"), 5);
    ck_assert_int_eq(reserved(work, "gigabytes"), 0);
    ck_assert_int_eq(rows_of(work, "reservations"), 0);
}

WORK_TEST(a_second_end_changes_nothing) { /* X11 */
    struct volume volume = growing(work, NULL);
    const char *ids;

    OK(volume_quota_take(work, PROJECT, NULL, 2, err));
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    OK(quota_rollback(work, "o1", err));
    OK(quota_rollback(work, "o1", err));
    OK(quota_commit(work, "o1", err));
    OK(quota_commit(work, "unknown", err));
    ck_assert_int_eq(in_use(work, "gigabytes"), 2);
    ck_assert_int_eq(reserved(work, "gigabytes"), 0);
    OK(quota_reservation_ids(work, "o1", &ids, err));
    ck_assert_str_eq(ids, "[]");
}

WORK_TEST(growth_past_the_quota_is_refused_and_reserves_nothing) {
    struct volume volume = growing(work, "gold");

    settings_of(work)->quota_gigabytes = 4;
    OK(volume_quota_take(work, PROJECT, "gold", 2, err));
    REFUSED(volume_quota_reserve_growth(work, &volume, "o1", 5, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "Requested 3G, quota is 4G and 2G"));
    settings_of(work)->quota_gigabytes = -1;
    settings_of(work)->per_volume_size_limit = 4;
    REFUSED(volume_quota_reserve_growth(work, &volume, "o1", 5, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "VolumeSizeExceedsLimit: "));
    ck_assert_int_eq(rows_of(work, "reservations"), 0);
    ck_assert_int_eq(reserved(work, "gigabytes"), 0);
}

WORK_TEST(growth_of_a_volume_that_does_not_count_reserves_nothing) {
    struct volume volume = growing(work, "gold");

    volume.use_quota = false;
    settings_of(work)->quota_gigabytes = 0;
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    ck_assert_int_eq(rows_of(work, "reservations"), 0);
    ck_assert_int_eq(rows_of(work, "quota_usages"), 0);
}

WORK_TEST(reservations_are_of_the_volumes_project) { /* X10 */
    struct volume volume = growing(work, NULL);

    context_of(work)->project_id = OTHER;
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    ck_assert_int_eq(reserved(work, "gigabytes"), 3);
    ck_assert_int_eq(quota_commit(work, "o1", err), 1);
    ck_assert_int_eq(in_use(work, "gigabytes"), 3);
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM quota_usages "
                                   "WHERE project_id = '" OTHER "'"),
                     0);
}

WORK_TEST(a_rollback_without_a_usage_row_releases_nothing) {
    struct volume volume = growing(work, NULL);

    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    sql(work, "DELETE FROM quota_usages");
    OK(quota_rollback(work, "o1", err));
    ck_assert_int_eq(rows_of(work, "quota_usages"), 0);
    ck_assert_int_eq(rows_of(work, "reservations"), 0);
}

WORK_TEST(usage_does_not_fall_below_zero) {
    struct volume volume = growing(work, "gold");

    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    sql(work, "UPDATE quota_usages SET used = 1");
    OK(quota_rollback(work, "o1", err));
    ck_assert_int_eq(in_use(work, "gigabytes"), 0);
    ck_assert_int_eq(in_use(work, "gigabytes_gold"), 0);
}

WORK_TEST(an_end_that_is_good_leaves_the_shared_row_alone) {
    struct volume volume = growing(work, "gold");
    int64_t changes;

    OK(volume_quota_take(work, PROJECT, "gold", 2, err));
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    if (postgresql_given())
        return; /* total_changes() is SQLite's */
    changes = sql_int(work, "SELECT total_changes()");
    ck_assert_int_eq(quota_commit(work, "o1", err), 2);
    ck_assert_int_eq(sql_int(work, "SELECT total_changes()") - changes, 2); /* the reservations */
}

/* ---- recounts ---- */

struct findings {
    unsigned count;
    char last[256];
};

static void keep_finding(void *arg, const char *text) {
    struct findings *findings = arg;

    findings->count++;
    snprintf(findings->last, sizeof(findings->last), "%s", text);
}

static unsigned findings_of(struct work *work, struct findings *findings) {
    struct error err = { 0 };

    *findings = (struct findings){ 0 };
    ck_assert_msg(quota_recount(work, volume_quota_in_use, keep_finding, findings, &err) == 0, "%s",
                  err.message);
    return findings->count;
}

static void put_counted_rows(struct work *work) {
    put_type(work);
    put_volume(work, "v1", PROJECT, TYPE_ID, 2, true, NULL);
    put_volume(work, "v2", PROJECT, NULL, 3, true, NULL);
    put_volume(work, "v3", PROJECT, NULL, 100, false, NULL);
    put_volume(work, "v4", OTHER, NULL, 7, true, NULL);
    put_operation(work, "o1", "extend", "v1", 5);
}

WORK_TEST(a_recount_finds_nothing_where_nothing_is_wrong) {
    struct volume volume = volume_of("v1", 2, "gold");
    struct findings findings;

    put_counted_rows(work);
    OK(volume_quota_take(work, PROJECT, "gold", 2, err));
    OK(volume_quota_take(work, PROJECT, NULL, 3, err));
    OK(volume_quota_take(work, OTHER, NULL, 7, err));
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    ck_assert_msg(findings_of(work, &findings) == 0, "%s", findings.last);
}

WORK_TEST(a_recount_names_each_difference_and_changes_nothing) {
    struct findings findings;

    put_counted_rows(work);
    OK(volume_quota_take(work, PROJECT, "gold", 2, err));
    OK(volume_quota_take(work, PROJECT, NULL, 3, err));
    OK(volume_quota_take(work, OTHER, NULL, 7, err));
    sql(work, "UPDATE quota_usages SET used = 9 "
              "WHERE project_id = '" PROJECT "' AND resource = 'gigabytes'");
    ck_assert_uint_eq(findings_of(work, &findings), 1);
    ck_assert_str_eq(findings.last, "quota gigabytes of project " PROJECT
                                    ": stored are 9 used, the rows say 5 in use and 0 reserved");
    sql(work, "DELETE FROM quota_usages WHERE project_id = '" OTHER "'");
    ck_assert_uint_eq(findings_of(work, &findings), 3);
    ck_assert_int_eq(in_use(work, "gigabytes"), 9);
}

WORK_TEST(the_usage_of_a_project_can_be_set_to_its_rows) { /* X9 */
    struct volume volume = volume_of("v1", 2, "gold");
    struct findings findings;

    put_counted_rows(work);
    OK(volume_quota_take(work, OTHER, NULL, 7, err));
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    sql(work, "UPDATE quota_usages SET used = 50 WHERE project_id = '" PROJECT "'");
    sql(work, "INSERT INTO quota_usages VALUES ('" PROJECT "', 'snapshots', 4)");
    OK(quota_recount_project(work, volume_quota_in_use, PROJECT, err));
    ck_assert_int_eq(in_use(work, "volumes"), 2);
    ck_assert_int_eq(in_use(work, "gigabytes"), 5);
    ck_assert_int_eq(in_use(work, "gigabytes_gold"), 2);
    ck_assert_int_eq(reserved(work, "gigabytes"), 3);
    ck_assert_int_eq(in_use(work, "snapshots"), 0);
    ck_assert_msg(findings_of(work, &findings) == 0, "%s", findings.last);
}

/* ---- a failing database ---- */

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct volume volume = growing(work, "gold");
    const char *ids;

    FAILS_WITHOUT("quotas", volume_quota_take(work, PROJECT, NULL, 1, err));
    FAILS_WITHOUT("quota_usages", volume_quota_give_back(work, &volume, err));
    FAILS_WITHOUT("quota_classes", volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    FAILS_WITHOUT("reservations", volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    OK(volume_quota_reserve_growth(work, &volume, "o1", 5, err));
    FAILS_WITHOUT("reservations", quota_reservation_ids(work, "o1", &ids, err));
    FAILS_READING("reservations", quota_reservation_ids(work, "o1", &ids, err));
    FAILS_WITHOUT("reservations", quota_commit(work, "o1", err));
    FAILS_WITHOUT("quota_usages", quota_rollback(work, "o1", err));
    FAILS_WITHOUT("quota_usages",
                  quota_recount(work, volume_quota_in_use, keep_finding, NULL, err));
    FAILS_WITHOUT("quota_usages", quota_recount_project(work, volume_quota_in_use, PROJECT, err));
}

CHECK_MAIN("volume_quota", a_taken_volume_counts_for_its_project_and_its_type,
           more_gigabytes_than_the_quota_are_refused_as_upstream_does,
           more_volumes_than_the_quota_are_refused_as_upstream_does,
           gigabytes_are_reported_before_volumes_when_both_are_exceeded,
           limits_of_a_type_hold_beside_the_projects, a_single_volume_has_a_limit_of_its_own,
           minus_one_is_no_limit, reservations_count_as_used, a_deleted_volume_releases_its_quota,
           a_volume_that_does_not_count_releases_nothing,
           growth_is_reserved_for_the_operation_until_it_ends, a_second_end_changes_nothing,
           growth_past_the_quota_is_refused_and_reserves_nothing,
           growth_of_a_volume_that_does_not_count_reserves_nothing,
           reservations_are_of_the_volumes_project, a_rollback_without_a_usage_row_releases_nothing,
           usage_does_not_fall_below_zero, an_end_that_is_good_leaves_the_shared_row_alone,
           a_recount_finds_nothing_where_nothing_is_wrong,
           a_recount_names_each_difference_and_changes_nothing,
           the_usage_of_a_project_can_be_set_to_its_rows, a_failing_database_is_reported)
