#include "operation/service_log.h"

#include "tests/lib/work_test.h"

static unsigned logger(const char *name) {
    unsigned i = 0;

    while (strcmp(log_logger(i), name) != 0)
        i++;
    return i;
}

static struct service backend(struct work *work) {
    struct error error, *err = &error;
    struct service service;

    OK(service_report(work, SERVICE_VOLUME, "node@a", NULL, NULL, err));
    ck_assert_int_eq(service_find(work, SERVICE_VOLUME, "node@a", &service, err), 1);
    return service;
}

WORK_TEST(a_requested_level_is_applied_once_and_logged) {
    struct service service = backend(work);
    struct service_levels wanted = service_levels_of("scoria.manager", LOG_DEBUG), levels;

    log_open(-1, LOG_INFO, LOG_TEXT);
    ck_assert_int_eq(service_levels_reported(work, &service, &levels, err), 0);
    OK(service_levels_request(work, &service, &wanted, err));
    wanted = service_levels_of("scoria.db", LOG_ERROR);
    OK(service_levels_request(work, &service, &wanted, err)); /* beside the first */
    wanted = service_levels_of("scoria.manager", LOG_WARNING);
    OK(service_levels_request(work, &service, &wanted, err)); /* instead of it */
    ck_assert_int_eq(service_levels_reported(work, &service, &levels, err), 0);

    OK(service_levels_take(work, SERVICE_VOLUME, "node@a", &levels, err));
    ck_assert_int_eq(levels.of[logger("scoria.manager")], LOG_WARNING);
    ck_assert_int_eq(levels.of[logger("scoria.db")], LOG_ERROR);
    ck_assert_int_eq(levels.of[logger("scoria.api")], SERVICE_LEVEL_UNNAMED);
    ck_assert_int_eq(log_level_of(logger("scoria.manager")), LOG_INFO); /* not before the commit */
    service_levels_apply(&levels);
    ck_assert_int_eq(log_level_of(logger("scoria.manager")), LOG_WARNING);
    ck_assert_int_eq(log_level_of(logger("scoria.api")), LOG_INFO);

    ck_assert_int_eq(service_levels_reported(work, &service, &levels, err), 1);
    ck_assert_int_eq(levels.of[logger("scoria.manager")], LOG_WARNING);
    ck_assert_int_eq(levels.of[logger("scoria.api")], LOG_INFO);
    OK(service_levels_take(work, SERVICE_VOLUME, "node@a", &levels, err));
    ck_assert_int_eq(levels.of[logger("scoria.manager")], SERVICE_LEVEL_UNNAMED);
    log_open(-1, LOG_ERROR, LOG_TEXT);
}

WORK_TEST(a_prefix_names_all_that_begin_so) {
    struct service_levels all = service_levels_of("", LOG_ERROR),
                          none = service_levels_of("cinder", LOG_ERROR),
                          two = service_levels_of("scoria.co", LOG_ERROR);
    unsigned named = 0;

    (void)work, (void)err;
    for (unsigned i = 0; i < log_loggers(); i++) {
        ck_assert_int_eq(all.of[i], LOG_ERROR);
        ck_assert_int_eq(none.of[i], SERVICE_LEVEL_UNNAMED);
        named += two.of[i] == LOG_ERROR;
    }
    ck_assert_uint_eq(named, 3); /* common, compute, config */
}

WORK_TEST(unknown_levels_are_ignored) {
    struct service service = backend(work);
    struct service_levels levels;

    ck_assert_int_eq(db_run(work->tx, err,
                            "UPDATE services SET log_levels = '{\"scoria.moon\": \"INFO\", "
                            "\"scoria.api\": \"LOUD\", \"scoria.db\": 3, "
                            "\"scoria.rpc\": \"ERROR\"}', log_wanted = '{'"),
                     1);
    ck_assert_int_eq(service_levels_reported(work, &service, &levels, err), 1);
    for (unsigned i = 0; i < log_loggers(); i++)
        ck_assert_int_eq(levels.of[i],
                         i == logger("scoria.rpc") ? (int)LOG_ERROR : SERVICE_LEVEL_UNNAMED);
    OK(service_levels_take(work, SERVICE_VOLUME, "node@a", &levels, err));
    ck_assert_int_eq(levels.of[0], SERVICE_LEVEL_UNNAMED);
}

WORK_TEST(a_failing_database_is_reported) {
    struct service service = backend(work);
    struct service_levels levels = service_levels_of("", LOG_INFO);

    if (postgresql_given())
        return; /* it ends a transaction with its first error */

    FAILS_WITHOUT("services", service_levels_reported(work, &service, &levels, err));
    FAILS_WITHOUT("services", service_levels_request(work, &service, &levels, err));
    FAILS_WITHOUT("services", service_levels_take(work, SERVICE_VOLUME, "node@a", &levels, err));
}

CHECK_MAIN("service_log", a_requested_level_is_applied_once_and_logged,
           a_prefix_names_all_that_begin_so, unknown_levels_are_ignored,
           a_failing_database_is_reported)
