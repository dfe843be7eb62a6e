#include "operation/quota_limit.h"

#include "model/type/type.h"
#include "model/volume/quota.h"
#include "operation/quota.h"
#include "tests/lib/work_test.h"

static void put_type(struct work *work, const char *name) {
    sql(work,
        "INSERT INTO volume_types (id, name, is_public, created_at) VALUES ('%s', '%s', 1, 1)",
        name, name);
}

static const struct quota *quota_of(const struct quota *quotas, int count, const char *resource) {
    for (int i = 0; i < count; i++)
        if (strcmp(quotas[i].resource, resource) == 0)
            return &quotas[i];
    ck_abort_msg("no quota %s", resource);
}

static struct quota listed(struct work *work, const char *resource, bool defaults_only) {
    struct error err = { 0 };
    struct quota *quotas;
    int count = quota_limit_list(work, &volume_type_quotas, PROJECT, defaults_only, &quotas, &err);

    ck_assert_msg(count > 0, "%s", err.message);
    return *quota_of(quotas, count, resource);
}

static int64_t limit_of(struct work *work, const char *resource) {
    return listed(work, resource, false).limit;
}

WORK_TEST(every_resource_is_listed_the_fixed_ones_first) {
    static const char *const names[] = {
        "volumes",        "per_volume_gigabytes", "snapshots",   "gigabytes",
        "backups",        "backup_gigabytes",     "groups",      "volumes_gold",
        "gigabytes_gold", "snapshots_gold",       "volumes_tin", "gigabytes_tin",
        "snapshots_tin",
    };
    struct quota *quotas;

    put_type(work, "tin");
    put_type(work, "gold");
    ck_assert_int_eq(quota_limit_list(work, &volume_type_quotas, PROJECT, false, &quotas, err),
                     LENGTH(names));
    for (size_t i = 0; i < LENGTH(names); i++)
        ck_assert_str_eq(quotas[i].resource, names[i]);
    ck_assert_int_eq(quotas[0].limit, 10);
    ck_assert_int_eq(quotas[1].limit, -1);
    ck_assert_int_eq(quotas[3].limit, 1000);
    ck_assert_int_eq(quotas[8].limit, -1);
}

WORK_TEST(a_limit_is_the_projects_else_the_default_classs_else_the_configured_one) {
    ck_assert_int_eq(limit_of(work, "volumes"), 10);
    OK(quota_limit_set_class(work, "default", "volumes", 20, err));
    OK(quota_limit_set_class(work, "other", "volumes", 25, err));
    ck_assert_int_eq(limit_of(work, "volumes"), 20);
    OK(quota_limit_set(work, PROJECT, "volumes", 30, err));
    OK(quota_limit_set(work, OTHER, "volumes", 40, err));
    ck_assert_int_eq(limit_of(work, "volumes"), 30);
    ck_assert_int_eq(listed(work, "volumes", true).limit, 20);
    OK(quota_limit_set(work, PROJECT, "volumes", 31, err));
    ck_assert_int_eq(limit_of(work, "volumes"), 31);
    OK(quota_limit_reset(work, PROJECT, err));
    ck_assert_int_eq(limit_of(work, "volumes"), 20);
    ck_assert_int_eq(sql_int(work, "SELECT hard_limit FROM quotas"), 40);
}

WORK_TEST(the_list_and_the_check_agree_on_the_limit) {
    OK(quota_limit_set_class(work, "default", "volumes", 1, err));
    OK(volume_quota_take(work, PROJECT, NULL, 1, err));
    REFUSED(volume_quota_take(work, PROJECT, NULL, 1, err), OVER_QUOTA);
    OK(quota_limit_set(work, PROJECT, "volumes", 2, err));
    OK(volume_quota_take(work, PROJECT, NULL, 1, err));
    REFUSED(volume_quota_take(work, PROJECT, NULL, 1, err), OVER_QUOTA);
}

WORK_TEST(usage_stands_beside_the_limits_and_outlives_them) {
    OK(quota_limit_set(work, PROJECT, "gigabytes", 50, err));
    OK(volume_quota_take(work, PROJECT, NULL, 4, err));
    ck_assert_int_eq(listed(work, "gigabytes", false).in_use, 4);
    ck_assert_int_eq(listed(work, "gigabytes", true).in_use, 0);
    OK(quota_limit_reset(work, PROJECT, err));
    ck_assert_int_eq(listed(work, "gigabytes", false).in_use, 4);
}

WORK_TEST(a_class_shows_its_own_limits_over_the_defaults) {
    struct quota *quotas;
    int count;

    OK(quota_limit_set_class(work, "default", "volumes", 20, err));
    OK(quota_limit_set_class(work, "default", "groups", 21, err));
    OK(quota_limit_set_class(work, "fast", "volumes", 30, err));
    OK(quota_limit_set(work, PROJECT, "volumes", 40, err));
    count = quota_limit_list_class(work, &volume_type_quotas, "fast", &quotas, err);
    ck_assert_int_eq(quota_of(quotas, count, "volumes")->limit, 30);
    ck_assert_int_eq(quota_of(quotas, count, "groups")->limit, 21);
    ck_assert_int_eq(quota_of(quotas, count, "backups")->limit, 10);
}

WORK_TEST(a_limit_of_ones_own_cannot_fall_below_present_use) {
    OK(volume_quota_take(work, PROJECT, NULL, 4, err));
    sql(work, "UPDATE quota_usages SET used = 6 WHERE resource = 'gigabytes'");
    OK(quota_limit_set(work, PROJECT, "gigabytes", 1, err)); /* the first one stops a project */
    OK(quota_limit_set(work, PROJECT, "gigabytes", 6, err));
    REFUSED(quota_limit_set(work, PROJECT, "gigabytes", 5, err), BAD_REQUEST);
    ck_assert_ptr_nonnull(strstr(err->message, "gigabytes"));
    ck_assert_int_eq(limit_of(work, "gigabytes"), 6);
    OK(quota_limit_set(work, PROJECT, "gigabytes", -1, err));
    OK(quota_limit_set(work, PROJECT, QUOTA_PER_VOLUME, 0, err));
}

WORK_TEST(only_resources_that_exist_are_known) {
    put_type(work, "gold");
    ck_assert_int_eq(quota_limit_known(work, &volume_type_quotas, "volumes", err), 1);
    ck_assert_int_eq(quota_limit_known(work, &volume_type_quotas, QUOTA_PER_VOLUME, err), 1);
    ck_assert_int_eq(quota_limit_known(work, &volume_type_quotas, "gigabytes_gold", err), 1);
    ck_assert_int_eq(quota_limit_known(work, &volume_type_quotas, "gigabytes_tin", err), 0);
    ck_assert_int_eq(quota_limit_known(work, &volume_type_quotas, "volumes_", err), 0);
    ck_assert_int_eq(quota_limit_known(work, &volume_type_quotas, "backups_gold", err), 0);
    ck_assert_int_eq(quota_limit_known(work, &volume_type_quotas, "", err), 0);
}

WORK_TEST(limits_and_usage_follow_a_types_name) {
    put_type(work, "gold");
    put_volume(work, "v1", PROJECT, "gold", 2, true, NULL);
    put_operation(work, "o1", "extend", "v1", 5);
    OK(volume_quota_take(work, PROJECT, "gold", 2, err));
    OK(volume_quota_reserve_growth(
        work,
        &(struct volume){
            .project_id = PROJECT, .size_gb = 2, .type_name = "gold", .use_quota = true },
        "o1", 5, err));
    OK(quota_limit_set(work, PROJECT, "volumes_gold", 7, err));
    OK(quota_limit_set_class(work, "default", "gigabytes_gold", 8, err));
    sql(work, "INSERT INTO quotas VALUES ('" PROJECT "', 'volumes_silver', 99)"); /* left over */
    sql(work, "UPDATE volume_types SET name = 'silver'");
    OK(quota_limit_rename_type(work, &volume_type_quotas, "gold", "silver", err));
    ck_assert_int_eq(limit_of(work, "volumes_silver"), 7);
    ck_assert_int_eq(limit_of(work, "gigabytes_silver"), 8);
    ck_assert_int_eq(listed(work, "gigabytes_silver", false).reserved, 3);
    ck_assert_int_eq(quota_commit(work, "o1", err), 2);
    ck_assert_int_eq(listed(work, "gigabytes_silver", false).in_use, 5);
    OK(quota_limit_forget_type(work, &volume_type_quotas, "silver", err));
    ck_assert_int_eq(limit_of(work, "volumes_silver"), -1);
    ck_assert_int_eq(listed(work, "gigabytes_silver", false).in_use, 0);
    ck_assert_int_eq(listed(work, "gigabytes", false).in_use, 5);
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct quota *quotas;

    put_type(work, "gold");
    OK(quota_limit_set(work, PROJECT, "volumes", 1, err));
    FAILS_WITHOUT("quotas",
                  quota_limit_list(work, &volume_type_quotas, PROJECT, false, &quotas, err));
    FAILS_READING("volume_types",
                  quota_limit_list(work, &volume_type_quotas, PROJECT, false, &quotas, err));
    FAILS_WITHOUT("quota_classes",
                  quota_limit_list_class(work, &volume_type_quotas, "default", &quotas, err));
    FAILS_WITHOUT("quota_usages", quota_limit_set(work, PROJECT, "volumes", 1, err));
    FAILS_WITHOUT("quota_classes", quota_limit_set_class(work, "default", "volumes", 1, err));
    FAILS_WITHOUT("quotas", quota_limit_reset(work, PROJECT, err));
    FAILS_WITHOUT("volume_types",
                  quota_limit_known(work, &volume_type_quotas, "volumes_gold", err));
    FAILS_WITHOUT("quotas", quota_limit_forget_type(work, &volume_type_quotas, "gold", err));
    FAILS_WITHOUT("quotas", quota_limit_rename_type(work, &volume_type_quotas, "gold", "tin", err));
    FAILS_WITHOUT("reservations",
                  quota_limit_rename_type(work, &volume_type_quotas, "gold", "tin", err));
}

CHECK_MAIN("quota_limit", every_resource_is_listed_the_fixed_ones_first,
           a_limit_is_the_projects_else_the_default_classs_else_the_configured_one,
           the_list_and_the_check_agree_on_the_limit,
           usage_stands_beside_the_limits_and_outlives_them,
           a_class_shows_its_own_limits_over_the_defaults,
           a_limit_of_ones_own_cannot_fall_below_present_use, only_resources_that_exist_are_known,
           limits_and_usage_follow_a_types_name, a_failing_database_is_reported)
