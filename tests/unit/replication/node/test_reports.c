#include "tests/unit/replication/node/storage_test.h"

#define STATUS_PATH "/v3/replicated_volumes/" VOLUME "/status"

static unsigned sent(void) {
    return script_server_count(server, "PUT", STATUS_PATH);
}

static void put(const char *status, const char *summary) {
    reports_put(reports, ASSIGNMENT_VOLUME, VOLUME, status, summary, false);
}

static void await_all(void) {
    while (reports_open(reports) > 0)
        poll(NULL, 0, 2);
}

START_TEST(a_changed_status_is_sent) {
    const struct script_request *request;

    begin_reports(0);
    answer("PUT", NULL, 200, "{}");
    put("{\"phase\":\"Init\"}", "a");
    await_all();
    put("{\"phase\":\"Init\"}", "a");
    put("{\"phase\":\"Healthy\"}", "b");
    await_all();
    ck_assert_uint_eq(sent(), 2);
    request = script_server_request(server, "PUT", STATUS_PATH, 1);
    ck_assert_str_eq(request->body, "{\"nodeId\":\"host-a\",\"status\":{\"phase\":\"Healthy\"}}");
}
END_TEST

START_TEST(changes_of_counters_alone_wait) {
    begin_reports(3600 * 1000);
    answer("PUT", NULL, 200, "{}");
    put("{\"n\":1}", "a");
    await_all();
    put("{\"n\":2}", "a");
    poll(NULL, 0, 50);
    ck_assert_uint_eq(sent(), 1);
    ck_assert_uint_eq(reports_open(reports), 1);
    put("{\"n\":3}", "b"); /* with the last counters */
    await_all();
    ck_assert_uint_eq(sent(), 2);
    reports_free(reports);

    begin_reports(1);
    put("{\"n\":1}", "a");
    await_all();
    put("{\"n\":2}", "a");
    await_all();
    ck_assert_uint_eq(sent(), 4);
}
END_TEST

START_TEST(counters_of_running_work_wait_less) {
    begin_reports(3600 * 1000);
    answer("PUT", NULL, 200, "{}");
    put("{\"n\":1}", "a");
    await_all();
    reports_put(reports, ASSIGNMENT_VOLUME, VOLUME, "{\"n\":2}", "a", true);
    await_all();
    ck_assert_uint_eq(sent(), 2);
    put("{\"n\":3}", "a"); /* the work has ended, without another change */
    poll(NULL, 0, 50);
    ck_assert_uint_eq(sent(), 2);
}
END_TEST

START_TEST(a_failed_report_is_sent_again) {
    begin_reports(0);
    script_server_add(server, &(struct script_rule){ .method = "PUT", .status = 503, .times = 2 });
    script_server_add(server,
                      &(struct script_rule){ .method = "PUT", .manner = SCRIPT_CLOSE, .times = 1 });
    answer("PUT", NULL, 200, "{}");
    put("{}", "a");
    await_all();
    ck_assert_uint_eq(sent(), 4);
}
END_TEST

/* A report that timed out may be applied late. */
START_TEST(an_accepted_report_is_sent_again_after_a_while) {
    const struct reports_settings settings = { .api = api, .node = NODE, .again_ms = 10 };

    reports = reports_new(&settings, &err);
    ck_assert_ptr_nonnull(reports);
    answer("PUT", NULL, 200, "{}");
    put("{\"phase\":\"Healthy\"}", "a");
    ck_assert(script_server_await(server, "PUT", STATUS_PATH, 3));
    ck_assert_uint_eq(reports_open(reports), 0);
    ck_assert_str_eq(script_server_request(server, "PUT", STATUS_PATH, 2)->body,
                     "{\"nodeId\":\"host-a\",\"status\":{\"phase\":\"Healthy\"}}");
}
END_TEST

/* As by another agent with the same node name. */
START_TEST(a_status_that_was_replaced_in_the_document_is_sent_again) {
    const struct reports_settings settings = { .api = api, .node = NODE, .differs_ms = 10 };

    reports = reports_new(&settings, &err);
    ck_assert_ptr_nonnull(reports);
    answer("PUT", NULL, 200, "{}");
    put("{\"phase\":\"Healthy\"}", "a");
    await_all();
    reports_differs(reports, ASSIGNMENT_VOLUME, VOLUME, true);
    ck_assert(script_server_await(server, "PUT", STATUS_PATH, 2));
    while (sent() < 3) { /* once for each time that it is noticed */
        reports_differs(reports, ASSIGNMENT_VOLUME, VOLUME, true);
        poll(NULL, 0, 2);
    }
    ck_assert_str_eq(script_server_request(server, "PUT", STATUS_PATH, 2)->body,
                     "{\"nodeId\":\"host-a\",\"status\":{\"phase\":\"Healthy\"}}");
}
END_TEST

START_TEST(a_refused_report_is_not_repeated_until_it_changes) {
    static const int refusals[] = { 400, 404, 409 };

    begin_reports(0);
    for (unsigned i = 0; i < LENGTH(refusals); i++) {
        script_server_clear(server);
        answer("PUT", NULL, refusals[i], NULL);
        put(arena_format(arena, "{\"n\":%u}", i), arena_format(arena, "%u", i));
        await_all();
        poll(NULL, 0, 30);
        ck_assert_uint_eq(sent(), i + 1);
    }
}
END_TEST

START_TEST(a_report_refused_by_a_gateway_is_sent_again) {
    static const int refusals[] = { 400, 404, 409 };

    begin_reports(0);
    for (unsigned i = 0; i < LENGTH(refusals); i++)
        script_server_add(
            server, &(struct script_rule){
                        .method = "PUT", .status = refusals[i], .body = "<html>", .times = 1 });
    answer("PUT", NULL, 200, "{}");
    put("{}", "a");
    await_all();
    ck_assert_uint_eq(sent(), LENGTH(refusals) + 1);
}
END_TEST

START_TEST(the_last_report_is_forgotten_once_accepted) {
    begin_reports(0);
    answer("PUT", NULL, 200, "{}");
    put("{\"n\":1}", "a");
    reports_put_last(reports, ASSIGNMENT_VOLUME, VOLUME, "{}");
    await_all();
    reports_put_last(reports, ASSIGNMENT_VOLUME, VOLUME, "{}"); /* a new status of it */
    await_all();
    ck_assert_uint_ge(sent(), 2);
    ck_assert_str_eq(script_server_request(server, "PUT", STATUS_PATH, sent() - 1)->body,
                     "{\"nodeId\":\"host-a\",\"status\":{}}");
}
END_TEST

START_TEST(an_unresponsive_api_does_not_delay_the_end) {
    static int64_t until_us;

    api.until_us = &until_us;
    begin_reports(0);
    script_server_add(server, &(struct script_rule){ .manner = SCRIPT_SILENT });
    put("{}", "a");
    ck_assert(script_server_await(server, "PUT", NULL, 1));
    __atomic_store_n(&until_us, clock_monotonic_us(), __ATOMIC_RELEASE);
    reports_free(reports);
    reports = NULL;
}
END_TEST

CHECK_MAIN_WITH("reports", true, begin_storage, end_storage, a_changed_status_is_sent,
                changes_of_counters_alone_wait, counters_of_running_work_wait_less,
                a_failed_report_is_sent_again, an_accepted_report_is_sent_again_after_a_while,
                a_status_that_was_replaced_in_the_document_is_sent_again,
                a_refused_report_is_not_repeated_until_it_changes,
                the_last_report_is_forgotten_once_accepted,
                an_unresponsive_api_does_not_delay_the_end,
                a_report_refused_by_a_gateway_is_sent_again)
