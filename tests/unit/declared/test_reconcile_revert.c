/*
 * Configs that are reverted to a snapshot: permitted requests, and the steps of the controller
 * with a reporting node.
 */
#include "tests/lib/declared.h"

#define SNAPSHOT(name, volume) \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"volumeName\":\"" volume "\"}}"
#define REVERT(name, request) \
    "{\"spec\":{\"revert\":{\"snapshotName\":\"" name "\",\"request\":\"" request "\"}}}"
#define PUBLISH(node) "{\"publish\":{\"nodeId\":\"" node "\"}}"

static void change(struct work *work, const char *config, const char *patch) {
    struct error err = { 0 };

    ck_assert_msg(edit(work, config, patch, &err) == 0, "%s: %s", patch, err.message);
    settle(work, config);
}

static void expect_refused(struct work *work, const char *config, const char *patch,
                           enum error_kind as, const char *message) {
    struct error err = { 0 };
    int64_t before = last_version(work);

    ck_assert_msg(edit(work, config, patch, &err) < 0, "%s", patch);
    ck_assert_int_eq(last_version(work), before);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_int_eq(err.kind, as);
}

/* A report of the volume's node, with more members. */
static void report_more(struct work *work, const char *config, const char *more) {
    struct document volume = volume_of(work, config);

    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"1Gi\",\"observedGeneration\":%jd,"
                        "\"target\":{\"nodeId\":\"%s\",\"state\":\"Serving\"}%s}",
                        (intmax_t)volume.generation, volume.node, more));
    settle(work, config);
}

static void report_revert(struct work *work, const char *config, int number, int attempt,
                          const char *phase) {
    report_more(work, config,
                arena_format(work->arena,
                             ",\"revert\":{\"number\":%d,\"attempt\":%d,\"phase\":\"%s\"}", number,
                             attempt, phase));
}

/* Each replica reports that it holds those, or none. */
static void report_holds(struct work *work, const char *config, const char *list) {
    struct document *replicas = NULL;
    unsigned count = replicas_of(work, config, &replicas);

    for (unsigned i = 0; i < count; i++)
        report(work, &replicas[i],
               arena_format(work->arena,
                            "{\"phase\":\"Healthy\",\"observedGeneration\":%jd,\"snapshots\":[%s]}",
                            (intmax_t)replicas[i].generation, list));
    settle(work, config);
}

static const char *shoot(struct work *work, const char *config, const char *text) {
    const char *id = declare(work, &kind_volume_config_snapshot, text);

    settle(work, config);
    report_more(work, config,
                arena_format(work->arena,
                             ",\"snapshots\":[{\"uid\":\"%s\",\"phase\":\"Ready\",\"sizeBytes\":"
                             "1073741824}]",
                             id));
    return id;
}

/* "db", Bound on three pools of one node and published nowhere, with snapshots "one" and "two". */
static const char *prepare(struct work *work, const char **ret_one) {
    const char *id, *one, *two;

    for (unsigned i = 0; i < 3; i++)
        put_pool(work, arena_format(work->arena, "pool-%c", 'a' + i), "host-a", 900 * GIB);
    id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 3, ""));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    change(work, id, PUBLISH("host-a"));
    one = shoot(work, id, SNAPSHOT("one", "db"));
    two = shoot(work, id, SNAPSHOT("two", "db"));
    report_holds(work, id,
                 arena_format(work->arena,
                              "{\"uid\":\"%s\",\"phase\":\"Ready\"},{\"uid\":\"%s\",\"phase\":"
                              "\"Ready\"}",
                              one, two));
    change(work, id, PUBLISH(""));
    report_stopped(work, id);
    settle(work, id);
    ck_assert_ptr_null(volume_of(work, id).node);
    *ret_one = one;
    return id;
}

static void assert_pending(struct work *work, const char *config, int number) {
    ck_assert_str_eq(config_at(work, config, "status.revert.phase"), "\"Pending\"");
    ck_assert_str_eq(config_at(work, config, "status.revert.number"),
                     arena_format(work->arena, "%d", number));
    ck_assert_str_eq(volume_at(work, config, "spec.revert.number"),
                     arena_format(work->arena, "%d", number));
}

static void assert_done(struct work *work, const char *config, int number) {
    ck_assert_str_eq(config_at(work, config, "status.revert.phase"), "\"Done\"");
    ck_assert_str_eq(config_at(work, config, "status.revert.number"),
                     arena_format(work->arena, "%d", number));
    ck_assert_str_eq(volume_at(work, config, "spec.revert"), "null");
}

WORK_TEST(a_node_reverts_an_unpublished_volume) {
    const char *one, *config = prepare(work, &one);
    struct document snapshot = document_of(work, &kind_volume_config_snapshot, one), after;

    change(work, config, REVERT("one", "a"));
    assert_pending(work, config, 1);
    ck_assert_str_eq(volume_at(work, config, "spec.revert"),
                     arena_format(work->arena, "{\"uid\":\"%s\",\"number\":1}", one));
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"host-a\"");
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "false");
    ck_assert_ptr_nonnull(
        strstr(conditions_at(work, config), "The volume is being reverted to snapshot one."));
    expect_refused(work, config, PUBLISH("host-a"), ERROR_CONFLICT, "publish.nodeId");
    expect_refused(work, config, "{\"spec\":{\"capacity\":{\"storage\":\"2Gi\"}}}", ERROR_CONFLICT,
                   "spec.capacity.storage");
    REFUSED(document_delete(work, &snapshot, false, &after, err), CONFLICT);
    ck_assert_str_eq(err->message, "Volume config db is being reverted to snapshot one.");

    report_more(work, config, "");
    report_revert(work, config, 1, 1, "Pending");
    assert_pending(work, config, 1);
    report_revert(work, config, 1, 1, "Done");
    assert_done(work, config, 1);
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"\"");
    ck_assert_str_eq(conditions_at(work, config), "null");
    ck_assert_str_eq(last_event(work, config),
                     "Normal Reverted 1: The volume has been reverted to snapshot one.");
    report_revert(work, config, 1, 1, "Done"); /* a late report: requests nothing */
    ck_assert_str_eq(volume_at(work, config, "status.revert"), "null");
    change(work, config, PUBLISH("host-a"));
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "true");
    OK(document_delete(work, &snapshot, false, &after, err));
}

WORK_TEST(one_request_is_one_revert) {
    const char *one, *config = prepare(work, &one);
    int64_t version;

    (void)err;
    change(work, config, REVERT("one", "a"));
    report_revert(work, config, 1, 1, "Pending");
    version = last_version(work);
    change(work, config, REVERT("one", "a"));
    ck_assert_int_eq(last_version(work), version);
    change(work, config, "{\"spec\":{\"revert\":null}}"); /* it goes on all the same */
    assert_pending(work, config, 1);
    report_revert(work, config, 1, 1, "Done");
    change(work, config, REVERT("one", "a")); /* the old document is put back */
    assert_done(work, config, 1);
    change(work, config, REVERT("one", "b"));
    assert_pending(work, config, 2);
    change(work, config, REVERT("two", "b")); /* another request instead */
    assert_pending(work, config, 3);
    report_revert(work, config, 2, 3, "Done");
    assert_pending(work, config, 3);
    report_revert(work, config, 3, 3, "Done");
    assert_done(work, config, 3);
}

static void revert(struct work *work, const char *config, const char *patch, int number) {
    change(work, config, patch);
    assert_pending(work, config, number);
    report_revert(work, config, number, 1, "Pending");
    report_revert(work, config, number, 1, "Done");
    assert_done(work, config, number);
    report_stopped(work, config);
    settle(work, config);
}

/* An old document is applied again: later writes would be lost. */
WORK_TEST(a_request_of_before_the_last_begins_no_more) {
    const char *one, *config = prepare(work, &one), *earlier;

    (void)err;
    revert(work, config, REVERT("one", "a"), 1);
    revert(work, config, REVERT("two", "b"), 2);
    expect_refused(work, config, REVERT("one", "a"), ERROR_CONFLICT, "another request");
    change(work, config, "{\"spec\":{\"revert\":null}}");
    expect_refused(work, config, REVERT("one", "a"), ERROR_CONFLICT, "another request");
    change(work, config, REVERT("two", "b")); /* the last one is nothing new */
    assert_done(work, config, 2);
    revert(work, config, REVERT("two", "a"), 3); /* of another snapshot it is another one */
    revert(work, config, "{\"spec\":{\"revert\":{\"snapshotName\":\"one\",\"request\":null}}}", 4);
    for (int i = 5; i < 75; i++)
        revert(work, config,
               arena_format(work->arena,
                            "{\"spec\":{\"revert\":{\"snapshotName\":\"one\",\"request\":"
                            "\"%d\"}}}",
                            i),
               i);
    earlier = config_at(work, config, "status.revert.earlier");
    ck_assert_uint_eq(json_array_size(tree(work, earlier)), 64);
    expect_refused(work, config, REVERT("one", "73"), ERROR_CONFLICT, "another request");
    expect_refused(work, config, REVERT("one", "11"), ERROR_CONFLICT, "another request");
}

/* It would hold the reverted data, and not those of the time of its request. */
WORK_TEST(a_pending_snapshot_is_taken_before_a_revert) {
    const char *one, *config = prepare(work, &one), *three;

    (void)err;
    three = declare(work, &kind_volume_config_snapshot, SNAPSHOT("three", "db"));
    settle(work, config);
    expect_refused(work, config, REVERT("one", "a"), ERROR_CONFLICT,
                   "before its snapshot three is taken");
    report_more(work, config,
                arena_format(work->arena,
                             ",\"snapshots\":[{\"uid\":\"%s\",\"phase\":\"Ready\",\"sizeBytes\":"
                             "1073741824}]",
                             three));
    change(work, config, REVERT("one", "a"));
    assert_pending(work, config, 1);
    declare(work, &kind_volume_config_snapshot, SNAPSHOT("four", "db"));
    change(work, config, REVERT("two", "a")); /* of an unknown revert */
    assert_pending(work, config, 2);
}

/* A second completion would undo writes of clients since the first. */
WORK_TEST(reports_of_earlier_attempts_are_ignored) {
    const char *one, *config = prepare(work, &one);

    (void)err;
    change(work, config, REVERT("one", "a"));
    report_revert(work, config, 1, 1, "Pending");
    report_revert(work, config, 1, 2, "Pending");
    report_revert(work, config, 1, 1, "Done");
    assert_pending(work, config, 1);
    ck_assert_str_eq(volume_at(work, config, "status.revert.attempt"), "2");
    report_more(work, config, "");
    report_revert(work, config, 1, 1, "Done");
    assert_pending(work, config, 1);
    report_revert(work, config, 1, 2, "Done");
    assert_done(work, config, 1);
}

/* Later reports of its own attempt would be ignored, and it would never complete. */
WORK_TEST(reports_of_earlier_reverts_are_ignored) {
    const char *one, *config = prepare(work, &one);

    (void)err;
    revert(work, config, REVERT("one", "a"), 1);
    change(work, config, REVERT("one", "b"));
    report_revert(work, config, 1, 5, "Done");
    ck_assert_str_eq(volume_at(work, config, "status.revert"), "null");
    report_revert(work, config, 2, 1, "Pending");
    report_revert(work, config, 1, 5, "Done");
    assert_pending(work, config, 2);
    ck_assert_str_eq(volume_at(work, config, "status.revert.attempt"), "1");
    report_revert(work, config, 2, 1, "Done");
    assert_done(work, config, 2);
}

WORK_TEST(invalid_reverts_are_refused) {
    const char *one, *config = prepare(work, &one), *waits;
    struct document document, after;

    REFUSED(document_create(
                work, &kind_volume_config,
                tree(work, DECLARED("new", "1Gi", 3, ",\"revert\":{\"snapshotName\":\"one\"}")),
                false, &document, err),
            CONFLICT);
    expect_refused(work, config, "{\"spec\":{\"revert\":{\"request\":\"a\"}}}", ERROR_BAD_REQUEST,
                   "spec.revert.snapshotName");
    expect_refused(work, config, REVERT("none", "a"), ERROR_NOT_FOUND, "could not be found");
    waits = declare(work, &kind_volume_config_snapshot, SNAPSHOT("waits", "db"));
    expect_refused(work, config, REVERT("waits", "a"), ERROR_CONFLICT, "is not ready");
    document = document_of(work, &kind_volume_config_snapshot, waits);
    OK(document_delete(work, &document, false, &after, err));
    expect_refused(work, config, REVERT("waits", "a"), ERROR_CONFLICT, "is being deleted");
    declare(work, &kind_volume_config, DECLARED("other", "1Gi", 3, ""));
    document = document_of(work, &kind_volume_config, "other");
    expect_refused(work, document.id, REVERT("one", "a"), ERROR_CONFLICT, "is not Bound");
    change(work, config, PUBLISH("host-a"));
    expect_refused(work, config, REVERT("one", "a"), ERROR_CONFLICT, "publish.nodeId");
    change(work, config, "{\"spec\":{\"capacity\":{\"storage\":\"2Gi\"}}}");
    report_served(work, config, -1, NULL);
    settle(work, config);
    change(work, config, PUBLISH(""));
    expect_refused(work, config, REVERT("one", "a"), ERROR_CONFLICT, "differs in size");
    ck_assert_str_eq(config_at(work, config, "status.revert"), "null");
    ck_assert_str_eq(volume_at(work, config, "spec.revert"), "null");
}

WORK_TEST(a_lost_snapshot_of_a_revert_is_reported_and_another_may_be_named) {
    const char *one, *config = prepare(work, &one);
    struct document snapshot, after;

    change(work, config, REVERT("one", "a"));
    report_revert(work, config, 1, 1, "Pending");
    report_holds(work, config,
                 arena_format(work->arena, "{\"uid\":\"%s\",\"phase\":\"Ready\"}",
                              document_of(work, &kind_volume_config_snapshot, "two").id));
    ck_assert_str_eq(
        last_event(work, config),
        "Warning SnapshotLost 1: Snapshot one no longer exists. The volume must be reverted to another one.");
    assert_pending(work, config, 1); /* and it is not served */
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"\"");
    expect_refused(work, config, PUBLISH("host-a"), ERROR_CONFLICT, "publish.nodeId");
    snapshot = document_of(work, &kind_volume_config_snapshot, one);
    OK(document_delete(work, &snapshot, false, &after, err));
    report_stopped(work, config);
    settle(work, config);
    change(work, config, REVERT("two", "a"));
    assert_pending(work, config, 2);
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"host-a\"");
    report_revert(work, config, 2, 2, "Done");
    assert_done(work, config, 2);
}

/* Until it is reverted nothing else settles. */
WORK_TEST(another_may_be_named_while_pools_change) {
    const char *one, *config = prepare(work, &one);

    (void)err;
    put_pool(work, "pool-d", "host-a", 900 * GIB);
    change(work, config, REVERT("one", "a"));
    change(work, config,
           "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[" POOL("pool-a") "," POOL(
               "pool-b") "," POOL("pool-c") "," POOL("pool-d") "]}}}");
    ck_assert_str_eq(config_at(work, config, "status.phase"), "\"Reconciling\"");
    change(work, config, REVERT("two", "a"));
    assert_pending(work, config, 2);
    report_revert(work, config, 2, 1, "Done");
    assert_done(work, config, 2);
    expect_refused(work, config, REVERT("one", "b"), ERROR_CONFLICT, "is not Bound");
}

CHECK_MAIN("reconcile reverts", a_node_reverts_an_unpublished_volume, one_request_is_one_revert,
           a_request_of_before_the_last_begins_no_more, a_pending_snapshot_is_taken_before_a_revert,
           reports_of_earlier_attempts_are_ignored, reports_of_earlier_reverts_are_ignored,
           invalid_reverts_are_refused,
           a_lost_snapshot_of_a_revert_is_reported_and_another_may_be_named,
           another_may_be_named_while_pools_change)
