#include "model/scheduler/pool.h"

#include "operation/service.h"
#include "tests/lib/work_test.h"

static const struct pool sample = {
    .name = "node@a#p",
    .host = "node@a",
    .capabilities = "{\"vendor_name\": \"V\", \"thin_provisioning_support\": true}",
    .total_gb = 100.5,
    .free_gb = 40.25,
};

static struct pool found(struct work *work, const char *name) {
    struct error err = { 0 };
    struct pool pool;

    ck_assert_int_eq(pool_find(work, name, &pool, &err), 1);
    return pool;
}

WORK_TEST(a_pool_is_read_back_as_it_was_reported) {
    struct pool pool;

    OK(pool_report(work, &sample, err));
    pool = found(work, sample.name);
    ck_assert_str_eq(pool.host, "node@a");
    ck_assert_str_eq(pool.capabilities, sample.capabilities);
    ck_assert_double_eq(pool.total_gb, 100.5);
    ck_assert_double_eq(pool.free_gb, 40.25);
    ck_assert(!pool.infinite);
    ck_assert_int_eq(pool.reported_at, NOW_US);
    ck_assert_int_eq(pool_find(work, "node@a", &pool, err), 0);
}

WORK_TEST(unknown_space_stays_unknown) {
    struct pool pool = sample;

    pool.total_gb = pool.free_gb = -1;
    pool.infinite = true;
    OK(pool_report(work, &pool, err));
    pool = found(work, sample.name);
    ck_assert_double_eq(pool.total_gb, -1);
    ck_assert_double_eq(pool.free_gb, -1);
    ck_assert(pool.infinite);
}

WORK_TEST(a_report_keeps_the_allocated_space) {
    struct pool pool = sample;

    OK(pool_report(work, &pool, err));
    OK(pool_allocate(work, pool.name, 7, err));
    pool.free_gb = 1;
    OK(pool_report(work, &pool, err));
    pool = found(work, sample.name);
    ck_assert_int_eq(pool.allocated_gb, 7);
    ck_assert_double_eq(pool.free_gb, 1);
    OK(pool_allocate(work, pool.name, -3, err));
    ck_assert_int_eq(found(work, sample.name).allocated_gb, 4);
    OK(pool_allocate(work, pool.name, -9, err));
    ck_assert_int_eq(found(work, sample.name).allocated_gb, 0);
    OK(pool_allocate(work, "unknown", 5, err));
}

WORK_TEST(a_new_pool_has_the_allocation_of_its_volumes) {
    put_volume(work, "v1", PROJECT, NULL, 5, true, sample.name);
    put_volume(work, "v2", PROJECT, NULL, 2, false, sample.name);
    put_volume(work, "v3", PROJECT, NULL, 50, true, "node@a#other");
    put_operation(work, "o1", "extend", "v1", 9);
    put_operation(work, "o2", "delete", "v2", 0);
    OK(pool_report(work, &sample, err));
    ck_assert_int_eq(found(work, sample.name).allocated_gb, 11);
}

WORK_TEST(a_pool_is_active_while_its_service_is_up_enabled_and_not_frozen) {
    struct service service;
    struct pool *pools;

    OK(pool_report(work, &sample, err));
    ck_assert(!found(work, sample.name).active);
    ck_assert_ptr_null(found(work, sample.name).availability_zone);
    OK(service_report(work, SERVICE_VOLUME, "node@a", "az1", NULL, err));
    ck_assert_int_eq(pool_list(work, &pools, err), 1);
    ck_assert(pools[0].active);
    ck_assert_str_eq(pools[0].availability_zone, "az1");
    ck_assert_int_eq(service_find(work, SERVICE_VOLUME, "node@a", &service, err), 1);
    OK(service_set_frozen(work, &service, true, err));
    ck_assert(!found(work, sample.name).active);
    OK(service_set_frozen(work, &service, false, err));
    OK(service_set_disabled(work, &service, true, NULL, err));
    ck_assert(!found(work, sample.name).active);
    OK(service_set_disabled(work, &service, false, NULL, err));
    work->clock_us += INT64_C(60000001);
    ck_assert(!found(work, sample.name).active);
}

WORK_TEST(capabilities_have_every_key_that_clients_count_on) {
    static const char *const keys[] = {
        "updated",
        "QoS_support",
        "total_capacity_gb",
        "volume_backend_name",
        "free_capacity_gb",
        "driver_version",
        "reserved_percentage",
        "storage_protocol",
        "vendor_name",
        "timestamp",
        "pool_name",
        "allocated_capacity_gb",
        "provisioned_capacity_gb",
        "backend_state",
    };
    struct pool pool = sample;
    const json_t *tree;

    pool.reported_at = NOW_US;
    pool.allocated_gb = 7;
    tree = pool_capabilities(work, &pool);
    for (size_t i = 0; i < LENGTH(keys); i++)
        ck_assert_msg(json_object_get(tree, keys[i]) != NULL, "%s", keys[i]);
    ck_assert_str_eq(json_string_value(json_object_get(tree, "vendor_name")), "V");
    ck_assert_str_eq(json_string_value(json_object_get(tree, "volume_backend_name")), "a");
    ck_assert_str_eq(json_string_value(json_object_get(tree, "pool_name")), "p");
    ck_assert_double_eq(json_real_value(json_object_get(tree, "total_capacity_gb")), 100.5);
    ck_assert_int_eq(json_integer_value(json_object_get(tree, "provisioned_capacity_gb")), 7);
    ck_assert_str_eq(json_string_value(json_object_get(tree, "timestamp")),
                     "2027-01-15T08:00:00.000000");
    (void)err;
}

WORK_TEST(the_row_overrides_the_space_in_the_report) {
    struct pool pool = sample;
    const json_t *tree;

    pool.name = pool.host = "node";
    pool.capabilities = "{\"provisioned_capacity_gb\": 12.5, \"total_capacity_gb\": 1}";
    pool.infinite = true;
    pool.allocated_gb = 3;
    tree = pool_capabilities(work, &pool);
    ck_assert_str_eq(json_string_value(json_object_get(tree, "total_capacity_gb")), "infinite");
    ck_assert_double_eq(json_real_value(json_object_get(tree, "provisioned_capacity_gb")), 12.5);
    ck_assert_str_eq(json_string_value(json_object_get(tree, "volume_backend_name")), "node");
    ck_assert(json_is_null(json_object_get(tree, "pool_name")));
    pool.infinite = false;
    pool.free_gb = -1;
    tree = pool_capabilities(work, &pool);
    ck_assert_str_eq(json_string_value(json_object_get(tree, "free_capacity_gb")), "unknown");
    (void)err;
}

WORK_TEST(an_unreadable_report_is_an_empty_one) {
    struct pool pool = sample;

    (void)err;
    pool.capabilities = "{";
    ck_assert_uint_eq(json_object_size(pool_reported(work, &pool)), 0);
    pool.capabilities = "[1]";
    ck_assert_uint_eq(json_object_size(pool_reported(work, &pool)), 0);
}

WORK_TEST(a_report_is_read_anew_when_its_text_changes) {
    struct pool pool = sample, other = sample;
    const json_t *first = pool_reported(work, &pool), *second;

    (void)err;
    ck_assert_str_eq(json_string_value(json_object_get(first, "vendor_name")), "V");
    pool.capabilities = "{\"vendor_name\": \"W\"}";
    second = pool_reported(work, &pool);
    ck_assert_str_eq(json_string_value(json_object_get(second, "vendor_name")), "W");
    ck_assert_ptr_null(json_object_get(second, "thin_provisioning_support"));
    ck_assert_str_eq(json_string_value(json_object_get(first, "vendor_name")), "V");
    other.name = "node@a#other";
    ck_assert(json_equal(pool_reported(work, &other), first));
}

WORK_TEST(completing_a_report_changes_no_other_reader_of_it) {
    const struct pool pool = sample;
    const json_t *reported = pool_reported(work, &pool);
    json_t *completed = pool_capabilities(work, &pool);

    (void)err;
    json_object_set_new(completed, "vendor_name", json_string("W"));
    ck_assert_uint_eq(json_object_size(reported), 2);
    ck_assert_uint_eq(json_object_size(pool_reported(work, &pool)), 2);
    ck_assert_str_eq(json_string_value(json_object_get(reported, "vendor_name")), "V");
}

WORK_TEST(a_long_report_is_read_each_time) {
    struct pool pool = sample;
    char *note = arena_alloc(work->arena, 20001);

    (void)err;
    memset(note, 'n', 20000);
    pool.capabilities = arena_format(work->arena, "{\"note\": \"%s\"}", note);
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(json_string_value(json_object_get(pool_reported(work, &pool), "note")),
                         note);
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct pool pool, *pools;

    FAILS_WITHOUT("pools", pool_report(work, &sample, err));
    FAILS_WITHOUT("pools", pool_list(work, &pools, err));
    FAILS_READING("pools", pool_list(work, &pools, err));
    FAILS_WITHOUT("services", pool_find(work, sample.name, &pool, err));
    FAILS_WITHOUT("pools", pool_allocate(work, sample.name, 1, err));
}

CHECK_MAIN("pool", a_pool_is_read_back_as_it_was_reported, unknown_space_stays_unknown,
           a_report_keeps_the_allocated_space, a_new_pool_has_the_allocation_of_its_volumes,
           a_pool_is_active_while_its_service_is_up_enabled_and_not_frozen,
           capabilities_have_every_key_that_clients_count_on,
           the_row_overrides_the_space_in_the_report, an_unreadable_report_is_an_empty_one,
           a_report_is_read_anew_when_its_text_changes,
           completing_a_report_changes_no_other_reader_of_it, a_long_report_is_read_each_time,
           a_failing_database_is_reported)
