#include "operation/service.h"

#include "tests/lib/work_test.h"

#define SECOND INT64_C(1000000)

static void report(struct work *work, const char *binary, const char *host) {
    struct error err = { 0 };

    ck_assert_msg(service_report(work, binary, host, NULL, NULL, &err) == 0, "%s", err.message);
}

static struct service found(struct work *work, const char *binary, const char *host) {
    struct service service;
    struct error err = { 0 };

    ck_assert_int_eq(service_find(work, binary, host, &service, &err), 1);
    return service;
}

WORK_TEST(a_report_makes_the_service_and_then_renews_it) {
    struct service service;

    OK(service_report(work, SERVICE_COMPUTE, "node", "az1", "http://node/v2.1", err));
    service = found(work, SERVICE_COMPUTE, "node");
    ck_assert_str_eq(service.availability_zone, "az1");
    ck_assert_str_eq(service.endpoint, "http://node/v2.1");
    ck_assert(service.up && !service.disabled && !service.frozen);
    ck_assert_int_eq(service.created_at, NOW_US);
    work->now_us += SECOND;
    work->clock_us += SECOND;
    OK(service_report(work, SERVICE_COMPUTE, "node", NULL, NULL, err));
    ck_assert_int_eq(rows_of(work, "services"), 1);
    ck_assert_str_eq(found(work, SERVICE_COMPUTE, "node").id, service.id);
    service = found(work, SERVICE_COMPUTE, "node");
    ck_assert_str_eq(service.availability_zone, "nova");
    ck_assert_ptr_null(service.endpoint);
    ck_assert_int_eq(service.reported_at, NOW_US + SECOND);
    ck_assert_int_eq(service.created_at, NOW_US);
}

WORK_TEST(a_service_without_reports_is_down_after_the_timeout) {
    (void)err;
    report(work, SERVICE_VOLUME, "node@a");
    work->clock_us += 60 * SECOND;
    ck_assert(found(work, SERVICE_VOLUME, "node@a").up);
    work->clock_us += 1;
    ck_assert(!found(work, SERVICE_VOLUME, "node@a").up);
    report(work, SERVICE_VOLUME, "node@a");
    ck_assert(found(work, SERVICE_VOLUME, "node@a").up);
}

WORK_TEST(a_report_does_not_enable_a_disabled_service) {
    struct service service;

    report(work, SERVICE_VOLUME, "node@a");
    service = found(work, SERVICE_VOLUME, "node@a");
    OK(service_set_disabled(work, &service, true, "disks", err));
    OK(service_set_frozen(work, &service, true, err));
    report(work, SERVICE_VOLUME, "node@a");
    service = found(work, SERVICE_VOLUME, "node@a");
    ck_assert(service.disabled && service.frozen);
    ck_assert_str_eq(service.disabled_reason, "disks");
    ck_assert_int_eq(service.updated_at, NOW_US);
    OK(service_set_disabled(work, &service, false, "never kept", err));
    OK(service_set_frozen(work, &service, false, err));
    service = found(work, SERVICE_VOLUME, "node@a");
    ck_assert(!service.disabled && !service.frozen);
    ck_assert_ptr_null(service.disabled_reason);
}

WORK_TEST(a_list_is_narrowed_by_binary_and_host) {
    struct service *services;

    report(work, SERVICE_VOLUME, "node@b");
    report(work, SERVICE_VOLUME, "node@a");
    report(work, SERVICE_VOLUME, "node2@a");
    report(work, SERVICE_SCHEDULER, "node");
    ck_assert_int_eq(service_list(work, NULL, NULL, &services, err), 4);
    ck_assert_str_eq(services[0].binary, SERVICE_SCHEDULER);
    ck_assert_int_eq(service_list(work, NULL, "node", &services, err), 3);
    ck_assert_int_eq(service_list(work, SERVICE_VOLUME, "node", &services, err), 2);
    ck_assert_str_eq(services[0].host, "node@a");
    ck_assert_int_eq(service_list(work, SERVICE_VOLUME, "node@b", &services, err), 1);
    ck_assert_int_eq(service_list(work, NULL, "nod", &services, err), 0);
    ck_assert_int_eq(service_find(work, SERVICE_VOLUME, "node", &services[0], err), 0);
}

WORK_TEST(a_zone_is_available_when_an_enabled_volume_service_is_up) {
    struct service service;
    struct zone *zones;

    OK(service_report(work, SERVICE_VOLUME, "n1@a", "late", NULL, err));
    work->clock_us += 61 * SECOND;
    OK(service_report(work, SERVICE_VOLUME, "n2@a", "good", NULL, err));
    OK(service_report(work, SERVICE_VOLUME, "n3@a", "good", NULL, err));
    OK(service_report(work, SERVICE_VOLUME, "n4@a", "off", NULL, err));
    OK(service_report(work, SERVICE_COMPUTE, "n5", "compute", NULL, err));
    service = found(work, SERVICE_VOLUME, "n4@a");
    OK(service_set_disabled(work, &service, true, NULL, err));
    service = found(work, SERVICE_VOLUME, "n3@a");
    OK(service_set_disabled(work, &service, true, NULL, err));
    ck_assert_int_eq(service_zones(work, &zones, err), 4);
    ck_assert_str_eq(zones[0].name, "good");
    ck_assert(zones[0].available);
    ck_assert_str_eq(zones[1].name, "late");
    ck_assert(!zones[1].available);
    ck_assert_str_eq(zones[2].name, "nova"); /* configured, not running */
    ck_assert(!zones[2].available);
    ck_assert_str_eq(zones[3].name, "off");
    ck_assert(!zones[3].available);
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct service service, *services;
    struct zone *zones;

    report(work, SERVICE_VOLUME, "node@a");
    service = found(work, SERVICE_VOLUME, "node@a");
    FAILS_WITHOUT("services", service_report(work, SERVICE_VOLUME, "node@a", NULL, NULL, err));
    FAILS_WITHOUT("services", service_find(work, SERVICE_VOLUME, "node@a", &service, err));
    FAILS_WITHOUT("services", service_list(work, NULL, NULL, &services, err));
    FAILS_WITHOUT("services", service_set_disabled(work, &service, true, NULL, err));
    FAILS_WITHOUT("services", service_set_frozen(work, &service, true, err));
    FAILS_WITHOUT("services", service_zones(work, &zones, err));
    FAILS_READING("services", service_list(work, NULL, NULL, &services, err));
    FAILS_READING("services", service_zones(work, &zones, err));
}

CHECK_MAIN("service", a_report_makes_the_service_and_then_renews_it,
           a_service_without_reports_is_down_after_the_timeout,
           a_report_does_not_enable_a_disabled_service, a_list_is_narrowed_by_binary_and_host,
           a_zone_is_available_when_an_enabled_volume_service_is_up, a_failing_database_is_reported)
