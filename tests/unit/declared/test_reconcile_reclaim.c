/*
 * Space reclaim of configs: permitted requests, and the steps of the controller with reporting
 * nodes.
 */
#include "tests/lib/declared.h"

#define RECLAIM(request) "{\"spec\":{\"reclaim\":{\"request\":\"" request "\"}}}"
#define PUBLISH(node)    "{\"publish\":{\"nodeId\":\"" node "\"}}"

static void change(struct work *work, const char *config, const char *patch) {
    struct error err = { 0 };

    ck_assert_msg(edit(work, config, patch, &err) == 0, "%s: %s", patch, err.message);
    settle(work, config);
}

static void expect_refused(struct work *work, const char *config, const char *patch,
                           const char *message) {
    struct error err = { 0 };
    int64_t before = last_version(work);

    ck_assert_msg(edit(work, config, patch, &err) < 0, "%s", patch);
    ck_assert_int_eq(last_version(work), before);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
}

/* "db", Bound on three pools of three nodes and published nowhere. */
static const char *prepare(struct work *work) {
    const char *id;

    put_pools(work, 3);
    id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 3, ""));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    return id;
}

/* A report of one replica's node; `more` of status.reclaim. */
static void report_one(struct work *work, const char *config, unsigned which, int number,
                       const char *phase, const char *more) {
    struct document *replicas = NULL;

    ck_assert_uint_gt(replicas_of(work, config, &replicas), which);
    report(
        work, &replicas[which],
        arena_format(work->arena,
                     "{\"phase\":\"Healthy\",\"observedGeneration\":%jd,\"reclaim\":{\"number\":%d,"
                     "\"phase\":\"%s\"%s}}",
                     (intmax_t)replicas[which].generation, number, phase, more));
    settle(work, config);
}

static void report_done(struct work *work, const char *config, unsigned which, int number) {
    report_one(work, config, which, number, "Done", ",\"beforeBytes\":9000,\"afterBytes\":4096");
}

static const char *requested(struct work *work, const char *config, unsigned which) {
    struct document *replicas = NULL;

    ck_assert_uint_gt(replicas_of(work, config, &replicas), which);
    return at(work, &replicas[which], "spec.reclaim");
}

static void assert_phase(struct work *work, const char *config, int number, const char *phase) {
    const char *wanted = strcmp(phase, "Pending") == 0
                             ? arena_format(work->arena, "{\"number\":%d}", number)
                             : "null";

    ck_assert_str_eq(config_at(work, config, "status.reclaim.phase"),
                     arena_format(work->arena, "\"%s\"", phase));
    ck_assert_str_eq(config_at(work, config, "status.reclaim.number"),
                     arena_format(work->arena, "%d", number));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_str_eq(requested(work, config, i), wanted);
}

static void stop_reporting(struct work *work, unsigned but) {
    work->clock_us += 40 * SECOND_US;
    for (unsigned i = 0; i < 3; i++)
        if (i != but)
            put_pool(work, arena_format(work->arena, "pool-%c", 'a' + i),
                     arena_format(work->arena, "host-%c", 'a' + i), 900 * GIB);
}

/* Which of the replicas is on that pool. */
static unsigned replica_on(struct work *work, const char *config, const char *pool) {
    struct document *replicas = NULL;
    unsigned count = replicas_of(work, config, &replicas), i = 0;

    while (strcmp(json_text_of(json_object_get(replicas[i].body, "spec"), "poolName"), pool) != 0)
        ck_assert_uint_lt(++i, count);
    return i;
}

WORK_TEST(all_replicas_reclaim_space_and_their_sum_is_reported) {
    const char *config = prepare(work);

    (void)err;
    change(work, config, RECLAIM("a"));
    assert_phase(work, config, 1, "Pending");
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"\"");
    report_done(work, config, 0, 1);
    report_one(work, config, 1, 1, "Pending", ",\"doneBytes\":4096,\"totalBytes\":8192");
    report_done(work, config, 2, 1);
    assert_phase(work, config, 1, "Pending");
    report_done(work, config, 1, 1);
    assert_phase(work, config, 1, "Done");
    ck_assert_str_eq(config_at(work, config, "status.reclaim.beforeBytes"), "27000");
    ck_assert_str_eq(config_at(work, config, "status.reclaim.afterBytes"), "12288");
    ck_assert_str_eq(
        last_event(work, config),
        "Normal SpaceReclaimed 1: The replicas take 12288 bytes, and took 27000 before.");
    ck_assert_str_eq(config_at(work, config, "status.phase"), "\"Bound\"");
}

WORK_TEST(a_request_is_processed_once) {
    const char *config = prepare(work);
    int64_t version;

    (void)err;
    change(work, config, RECLAIM("a"));
    version = last_version(work);
    change(work, config, RECLAIM("a"));
    ck_assert_int_eq(last_version(work), version);
    change(work, config, "{\"spec\":{\"reclaim\":null}}"); /* it goes on all the same */
    assert_phase(work, config, 1, "Pending");
    for (unsigned i = 0; i < 3; i++)
        report_done(work, config, i, 1);
    change(work, config, RECLAIM("a")); /* the old document is put back */
    assert_phase(work, config, 1, "Done");
    change(work, config, RECLAIM("b"));
    assert_phase(work, config, 2, "Pending");
    for (unsigned i = 0; i < 3; i++)
        report_done(work, config, i, 1); /* late */
    assert_phase(work, config, 2, "Pending");
    change(work, config, RECLAIM("c")); /* another request instead */
    assert_phase(work, config, 3, "Pending");
    for (unsigned i = 0; i < 3; i++)
        report_done(work, config, i, 3);
    assert_phase(work, config, 3, "Done");
}

WORK_TEST(an_unreachable_pool_is_not_awaited_and_is_named) {
    const char *config = prepare(work);
    unsigned away = replica_on(work, config, "pool-b");

    (void)err;
    change(work, config, RECLAIM("a"));
    for (unsigned i = 0; i < 3; i++)
        if (i != away)
            report_done(work, config, i, 1);
    assert_phase(work, config, 1, "Pending");
    stop_reporting(work, 1);
    settle(work, config);
    assert_phase(work, config, 1, "Done");
    ck_assert(has_event(
        work, config,
        "Warning SpaceNotReclaimed 1: The replicas take 8192 bytes, and took 18000 before. Not reclaimed on: pool-b (unreachable)."));
    report_done(work, config, away, 1); /* late: it changes nothing */
    ck_assert_str_eq(config_at(work, config, "status.reclaim.afterBytes"), "8192");
}

WORK_TEST(where_none_can_that_has_failed) {
    static const char cannot[] = ",\"reason\":\"unsupported\"";
    const char *config = prepare(work);

    (void)err;
    change(work, config, RECLAIM("a"));
    for (unsigned i = 0; i < 3; i++)
        report_one(work, config, i, 1, "Failed", cannot);
    assert_phase(work, config, 1, "Failed");
    ck_assert_str_eq(config_at(work, config, "status.reclaim.reason"), "\"unsupported\"");
    ck_assert_str_eq(config_at(work, config, "status.reclaim.afterBytes"), "null");
    ck_assert_ptr_nonnull(
        strstr(last_event(work, config), "No replica has reclaimed space: pool-"));

    change(work, config, RECLAIM("b"));
    report_one(work, config, 0, 2, "Failed", cannot);
    report_one(work, config, 1, 2, "Failed", ",\"reason\":\"failed\",\"message\":\"secret\"");
    report_one(work, config, 2, 2, "Failed", cannot);
    assert_phase(work, config, 2, "Failed");
    ck_assert_str_eq(config_at(work, config, "status.reclaim.reason"), "\"failed\"");
    ck_assert_ptr_null(strstr(config_at(work, config, "status"), "secret"));

    change(work, config, RECLAIM("c"));
    report_one(work, config, 0, 3, "Failed", cannot);
    report_done(work, config, 1, 3);
    report_one(work, config, 2, 3, "Failed", cannot);
    assert_phase(work, config, 3, "Done");
    ck_assert_str_eq(config_at(work, config, "status.reclaim.afterBytes"), "4096");
}

WORK_TEST(sizes_that_overflow_sums_are_refused) {
    static const char *const figures[] = { "beforeBytes", "afterBytes", "doneBytes", "totalBytes" };
    const char *config = prepare(work);
    struct document *replicas = NULL, after;

    replicas_of(work, config, &replicas);
    for (size_t i = 0; i < LENGTH(figures); i++) {
        const char *status =
            arena_format(work->arena,
                         "{\"phase\":\"Healthy\",\"reclaim\":{\"number\":1,\"phase\":\"Done\","
                         "\"%s\":4611686018427387904}}",
                         figures[i]);

        REFUSED(document_status_put(work, &replicas[0], replicas[0].node, tree(work, status),
                                    &after, err),
                BAD_REQUEST);
    }
}

WORK_TEST(a_publishing_node_gets_the_volume_and_ends_the_reclaim) {
    const char *config = prepare(work);

    (void)err;
    change(work, config, RECLAIM("a"));
    report_done(work, config, 0, 1);
    change(work, config, PUBLISH("host-a"));
    assert_phase(work, config, 1, "Stopped");
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"host-a\"");
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "true");
    expect_refused(work, config, RECLAIM("b"), "is published on node host-a");
    change(work, config, PUBLISH(""));
    assert_phase(work, config, 1, "Stopped");
    expect_refused(
        work, config,
        "{\"spec\":{\"reclaim\":{\"request\":\"b\"}},\"publish\":{\"nodeId\":\"host-a\"}}",
        "is published on node host-a");
    change(work, config, RECLAIM("b"));
    assert_phase(work, config, 2, "Pending");
}

WORK_TEST(invalid_reclaims_are_refused) {
    struct document document;
    const char *config;

    put_pools(work, 3);
    REFUSED(
        document_create(work, &kind_volume_config,
                        tree(work, DECLARED("db", "1Gi", 3, ",\"reclaim\":{\"request\":\"a\"}")),
                        false, &document, err),
        CONFLICT);
    ck_assert_str_eq(err->message, "spec.reclaim: Volume config db is not Bound.");
    config = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 3, ""));
    settle(work, config);
    expect_refused(work, config, RECLAIM("a"), "is not Bound");
    report_made(work, config);
    settle(work, config);
    REFUSED(edit(work, config, "{\"spec\":{\"reclaim\":{}}}", err), BAD_REQUEST);
    REFUSED(edit(work, config, RECLAIM(""), err), BAD_REQUEST);
    ck_assert_str_eq(config_at(work, config, "status.reclaim"), "null");
}

CHECK_MAIN("reconcile reclaims", all_replicas_reclaim_space_and_their_sum_is_reported,
           a_request_is_processed_once, an_unreachable_pool_is_not_awaited_and_is_named,
           where_none_can_that_has_failed, sizes_that_overflow_sums_are_refused,
           a_publishing_node_gets_the_volume_and_ends_the_reclaim, invalid_reclaims_are_refused)
