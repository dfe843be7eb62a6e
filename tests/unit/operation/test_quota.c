#include "operation/quota.h"

#include "operation/quota_limit.h"
#include "tests/lib/work_test.h"

static struct quota_demands demands_of(struct work *work, const char *type_name, int64_t backups,
                                       int64_t groups) {
    struct quota_demands demands = { .count = 0 };

    quota_demand_add(&demands, work->arena, "groups", type_name, groups);
    quota_demand_add(&demands, work->arena, "backups", type_name, backups);
    return demands;
}

/* Usage of the project, "resource=used " of each. */
static const char *usage(struct work *work) {
    struct error err = { 0 };
    const char *text = "", **resources;
    int count = query_all(
        work,
        db_query(work->tx, &err,
                 "SELECT resource || '=' || used FROM quota_usages WHERE project_id = '" PROJECT
                 "' ORDER BY resource"),
        query_text, &resources, &err);

    ck_assert_msg(count >= 0, "%s", err.message);
    for (int i = 0; i < count; i++)
        text = arena_format(work->arena, "%s%s ", text, resources[i]);
    return text;
}

WORK_TEST(a_demand_of_a_type_counts_for_both) {
    struct quota_demands demands = demands_of(work, "gold", 3, 2);

    OK(quota_take(work, PROJECT, &demands, err));
    ck_assert_str_eq(usage(work), "backups=3 backups_gold=3 groups=2 groups_gold=2 ");
    OK(quota_take(work, OTHER, &demands, err));
    demands = demands_of(work, NULL, 1, 1);
    OK(quota_take(work, PROJECT, &demands, err));
    ck_assert_str_eq(usage(work), "backups=4 backups_gold=3 groups=3 groups_gold=2 ");
}

WORK_TEST(of_several_excesses_the_alphabetically_first_is_reported) {
    struct quota_demands demands = demands_of(work, NULL, 1, 1);

    settings_of(work)->quota_backups = settings_of(work)->quota_groups = 0;
    settings_of(work)->per_volume_size_limit = 4;
    REFUSED(quota_take(work, PROJECT, &demands, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "for quota 'backups'"));
    quota_demand_add(&demands, work->arena, QUOTA_PER_VOLUME, NULL, 5);
    REFUSED(quota_take(work, PROJECT, &demands, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "VolumeSizeExceedsLimit: "));
    settings_of(work)->quota_backups = 1;
    settings_of(work)->per_volume_size_limit = 5;
    REFUSED(quota_take(work, PROJECT, &demands, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "for quota 'groups'"));
    ck_assert_str_eq(usage(work), "");
}

WORK_TEST(an_excess_has_the_text_of_upstream) {
    static const char *const rows[][2] = {
        { "volumes", "VolumeLimitExceeded: Maximum number of volumes allowed (1) exceeded" },
        { "snapshots", "SnapshotLimitExceeded: Maximum number of snapshots allowed (1) exceeded" },
        { "snapshots_gold", "SnapshotLimitExceeded: Maximum number of snapshots allowed (1) "
                            "exceeded for quota 'snapshots_gold'." },
        { "backups", "BackupLimitExceeded: Maximum number of backups allowed (1) exceeded" },
        { "groups", "GroupLimitExceeded: Maximum number of groups allowed (1) exceeded" },
        { "gigabytes_gold", "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds "
                            "allowed gigabytes_gold quota. Requested 2G, quota is 1G and 0G has "
                            "been consumed." },
        { "backup_gigabytes", "VolumeBackupSizeExceedsAvailableQuota: Requested backup exceeds "
                              "allowed backup_gigabytes quota. Requested 2G, quota is 1G" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct quota_demands demands = { .count = 0 };

        OK(quota_limit_set(work, PROJECT, rows[i][0], 1, err));
        quota_demand_add(&demands, work->arena, rows[i][0], NULL, 2);
        REFUSED(quota_take(work, PROJECT, &demands, err), OVER_QUOTA);
        ck_assert_msg(strncmp(err->message, rows[i][1], strlen(rows[i][1])) == 0, "%s",
                      err->message);
    }
}

WORK_TEST(a_limit_is_the_projects_before_the_default_classs_before_the_configured_one) {
    struct quota_demands demands = demands_of(work, NULL, 3, 3);

    settings_of(work)->quota_backups = settings_of(work)->quota_groups = 3;
    OK(quota_check(work, PROJECT, &demands, err));
    OK(quota_limit_set_class(work, "default", "groups", 2, err));
    OK(quota_limit_set_class(work, "other", "backups", 1, err));
    REFUSED(quota_check(work, PROJECT, &demands, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "(2) exceeded for quota 'groups'"));
    OK(quota_limit_set(work, PROJECT, "groups", -1, err));
    OK(quota_limit_set(work, OTHER, "backups", 1, err));
    OK(quota_take(work, PROJECT, &demands, err));
    demands = demands_of(work, NULL, 1, 1); /* groups without a limit, backups used up */
    REFUSED(quota_check(work, PROJECT, &demands, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "(3) exceeded for quota 'backups'"));
    OK(quota_check(work, OTHER, &demands, err)); /* usage and limits are each project's own */
}

WORK_TEST(a_limit_that_is_only_checked_is_never_used_up) {
    struct quota_demands demands = { .count = 0 };

    quota_demand_add(&demands, work->arena, QUOTA_PER_VOLUME, NULL, 5);
    OK(quota_take(work, PROJECT, &demands, err));
    OK(quota_reserve(work, PROJECT, "o1", &demands, err));
    ck_assert_str_eq(usage(work), "");
    ck_assert_int_eq(rows_of(work, "reservations"), 0);
}

WORK_TEST(as_many_demands_as_fit_are_reserved_and_released) {
    struct quota_demands demands = { .count = 0 };

    for (int i = 0; i < QUOTA_DEMANDS_MOST; i++)
        quota_demand_add(&demands, work->arena, arena_format(work->arena, "r%d", i), NULL, i + 1);
    OK(quota_take(work, PROJECT, &demands, err));
    OK(quota_take(work, PROJECT, &demands, err));
    ck_assert_str_eq(usage(work), "r0=2 r1=4 r2=6 r3=8 r4=10 r5=12 r6=14 r7=16 ");
    OK(quota_take(work, OTHER, &demands, err));
    OK(quota_give_back(work, PROJECT, &demands, err));
    ck_assert_str_eq(usage(work), "r0=1 r1=2 r2=3 r3=4 r4=5 r5=6 r6=7 r7=8 ");
    sql(work, "UPDATE quota_usages SET used = 3 WHERE project_id = '" PROJECT "'");
    OK(quota_give_back(work, PROJECT, &demands, err));
    ck_assert_str_eq(usage(work), "r0=2 r1=1 r2=0 r3=0 r4=0 r5=0 r6=0 r7=0 ");
    ck_assert_int_eq(sql_int(work, "SELECT used FROM quota_usages WHERE project_id = '" OTHER
                                   "' AND resource = 'r7'"),
                     8);
}

WORK_TEST(usage_never_falls_below_zero) {
    struct quota_demands demands = demands_of(work, NULL, 1, 1);

    OK(quota_give_back(work, PROJECT, &demands, err));
    ck_assert_str_eq(usage(work), "backups=0 groups=0 ");
}

WORK_TEST(a_reservation_is_used_or_released_when_its_operation_ends) {
    struct quota_demands demands = demands_of(work, NULL, 3, 2);

    put_volume(work, "v1", PROJECT, NULL, 1, true, NULL);
    put_volume(work, "v2", PROJECT, NULL, 1, true, NULL);
    put_operation(work, "o1", "extend", "v1", 2);
    put_operation(work, "o2", "extend", "v2", 2);
    OK(quota_reserve(work, PROJECT, "o1", &demands, err));
    OK(quota_reserve(work, PROJECT, "o2", &demands, err));
    ck_assert_str_eq(usage(work), "backups=6 groups=4 ");
    ck_assert_int_eq(quota_commit(work, "o1", err), 2);
    ck_assert_str_eq(usage(work), "backups=6 groups=4 ");
    OK(quota_rollback(work, "o2", err));
    ck_assert_str_eq(usage(work), "backups=3 groups=2 ");
    ck_assert_int_eq(rows_of(work, "reservations"), 0);
}

/* ---- recounts ---- */

#define IN_USE                                                                                 \
    "SELECT '" PROJECT "' AS project_id, 'backups' AS resource, 2 AS in_use UNION ALL SELECT " \
    "'" OTHER "', 'groups', 1"

static void keep_text(void *arg, const char *text) {
    const char **kept = arg;

    *kept = text;
}

WORK_TEST(a_recount_compares_rows_with_stored_sums) {
    struct quota_demands two = demands_of(work, NULL, 2, 0), one = demands_of(work, NULL, 0, 1);
    const char *text = NULL;

    OK(quota_take(work, PROJECT, &two, err));
    OK(quota_take(work, OTHER, &one, err));
    OK(quota_recount(work, IN_USE, keep_text, &text, err));
    ck_assert_ptr_null(text);
    sql(work,
        "UPDATE quota_usages SET used = 9 WHERE resource = 'backups' AND project_id = '" PROJECT
        "'");
    OK(quota_recount(work, IN_USE, keep_text, &text, err));
    ck_assert_str_eq(text, "quota backups of project " PROJECT
                           ": stored are 9 used, the rows say 2 in use and 0 reserved");
    sql(work, "UPDATE quota_usages SET used = 9");
    OK(quota_recount_project(work, IN_USE, PROJECT, err));
    ck_assert_str_eq(usage(work), "backups=2 groups=0 ");
    ck_assert_int_eq(sql_int(work, "SELECT used FROM quota_usages WHERE project_id = '" OTHER
                                   "' AND resource = 'groups'"),
                     9);
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct quota_demands demands = demands_of(work, NULL, 1, 1);
    const char *text;

    OK(quota_limit_set(work, PROJECT, "groups", 5, err));
    FAILS_WITHOUT("quotas", quota_take(work, PROJECT, &demands, err));
    FAILS_READING("quotas", quota_take(work, PROJECT, &demands, err));
    FAILS_WITHOUT("quota_usages", quota_give_back(work, PROJECT, &demands, err));
    FAILS_WITHOUT("reservations", quota_reserve(work, PROJECT, "o1", &demands, err));
    FAILS_WITHOUT("reservations", quota_recount(work, IN_USE, keep_text, &text, err));
}

CHECK_MAIN("quota", a_demand_of_a_type_counts_for_both,
           of_several_excesses_the_alphabetically_first_is_reported,
           an_excess_has_the_text_of_upstream,
           a_limit_is_the_projects_before_the_default_classs_before_the_configured_one,
           a_limit_that_is_only_checked_is_never_used_up,
           as_many_demands_as_fit_are_reserved_and_released, usage_never_falls_below_zero,
           a_reservation_is_used_or_released_when_its_operation_ends,
           a_recount_compares_rows_with_stored_sums, a_failing_database_is_reported)
