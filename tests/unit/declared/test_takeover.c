/*
 * The controller and nodes that become unresponsive while they serve a volume.
 */
#include "declared/volume_recovery.h"
#include "tests/lib/declared.h"

/* Of three replicas on pools a to c, served by host-a. */
static const char *served(struct work *work) {
    struct error err = { 0 };
    const char *id;

    put_pools(work, 4);
    id = declare(
        work, &kind_volume_config,
        DECLARED("db", "10Gi", 3, POOLS(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c"))));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", &err), 0);
    settle(work, id);
    report_served(work, id, -1, NULL);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    return id;
}

/* It is the one condition that there is. */
static void assert_waits(struct work *work, const char *id, const char *type, const char *reason,
                         const char *message) {
    const json_t *conditions = tree(work, conditions_at(work, id));
    const json_t *found = json_array_get(conditions, 0);

    ck_assert_msg(json_array_size(conditions) == 1, "%s", conditions_at(work, id));
    ck_assert_str_eq(json_text_of(found, "type"), type);
    ck_assert_str_eq(json_text_of(found, "status"), "False");
    ck_assert_str_eq(json_text_of(found, "reason"), reason);
    ck_assert_str_eq(json_text_of(found, "message"), message);
}

static void assert_moving(struct work *work, const char *id, const char *reason,
                          const char *message) {
    assert_waits(work, id, "Moving", reason, message);
}

static void assert_stopping(struct work *work, const char *id, const char *node) {
    assert_waits(
        work, id, "Stopping", "NodeSilent",
        arena_format(
            work->arena,
            "Node %s may still serve the volume, and does not respond. It must report that it has stopped, or an administrator must confirm it.",
            node));
}

/* Its data are to be removed, and its node does not respond. */
static void assert_away(struct work *work, const char *id, const char *pool) {
    const char *conditions = conditions_at(work, id), *replica = NULL;
    struct document *replicas;
    unsigned count = replicas_of(work, id, &replicas);

    for (unsigned i = 0; i < count; i++)
        if (strcmp(json_text_of(json_object_get(replicas[i].body, "spec"), "poolName"), pool) == 0)
            replica = replicas[i].id;
    ck_assert_ptr_nonnull(replica);

    ck_assert_msg(
        strstr(conditions, "\"ReplicaDeletionFailed\",\"status\":\"True\"") != NULL &&
            strstr(
                conditions,
                arena_format(
                    work->arena,
                    "The pool of replica %s is unresponsive. The replica's data are removed when it is back, or when an administrator declares them lost.",
                    replica)) != NULL &&
            strstr(conditions, "Stopping") == NULL,
        "%s", conditions);
}

static void put_addressed_pool(struct work *work, char letter, bool addressed) {
    struct error err = { 0 };
    const char *node = arena_format(work->arena, "host-%c", letter);
    struct replica_pool pool, said = { .id = arena_format(work->arena, "pool-%c", letter),
                                       .node = node,
                                       .path = "/pool",
                                       .labels = json_keep(work->arena, json_object()),
                                       .state = "Online" };

    if (addressed)
        said.address = arena_join(work->arena, node, ":10810", NULL);
    ck_assert_int_eq(replica_pool_report(work, &said, &pool, &err), 0);
}

/* Served by host-a, and wanted on host-b; host-a has not responded since. */
static const char *moving(struct work *work, bool addressed) {
    const char *id = served(work);
    struct error err = { 0 };

    for (char letter = 'a'; letter <= 'c'; letter++)
        put_addressed_pool(work, letter, addressed);
    settle(work, id);
    report_served(work, id, -1, NULL);
    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"nodeId\":\"host-b\"}}", &err), 0);
    settle(work, id);
    return id;
}

static void wait_s(struct work *work, int64_t seconds) {
    work->clock_us += seconds * SECOND_US;
    work->now_us += seconds * SECOND_US;
}

static void tell(struct work *work, const char *pools) {
    for (; *pools; pools++)
        put_addressed_pool(work, *pools, true);
}

/* These are reported all the time. */
static void pass(struct work *work, int64_t seconds, const char *reported) {
    for (int64_t step; seconds > 0; seconds -= step) {
        step = seconds > 10 ? 10 : seconds;
        wait_s(work, step);
        tell(work, reported);
    }
}

WORK_TEST(a_volume_moves_from_an_unresponsive_node_with_a_higher_epoch) {
    const char *id = moving(work, true);
    struct document old = volume_of(work, id), after;
    int64_t first = volume_epoch(work, id), second;

    ck_assert_str_eq(conditions_at(work, id), "null");
    pass(work, 60, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    assert_moving(
        work, id, "NodeSilent",
        "Node host-a does not respond: node host-b takes over the volume after 60 seconds.");
    pass(work, 1, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"host-b\"");
    second = volume_epoch(work, id);
    ck_assert_int_gt(second, first);
    ck_assert_str_eq(volume_at(work, id, "status.target"), "null");
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert(has_event(
        work, id,
        "Warning TakenOver 1: Node host-a does not respond; node host-b is to serve the volume."));
    /* It is back, and without effect on the volume. */
    REFUSED(document_status_put(work, &(struct document[]){ volume_of(work, id) }[0], old.node,
                                tree(work, "{\"phase\":\"Healthy\"}"), &after, err),
            CONFLICT);
    pass(work, 1, "abc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    ck_assert_int_eq(volume_epoch(work, id), second);
}

WORK_TEST(a_node_that_reports_again_has_time_to_stop) {
    const char *id = moving(work, true);
    int64_t first = volume_epoch(work, id);

    pass(work, 50, "bc");
    OK(settle(work, id));
    ck_assert_str_ne(conditions_at(work, id), "null");
    pass(work, 5, "abc");
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
    pass(work, 30, "abc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    ck_assert_int_gt(volume_epoch(work, id), first);
}

WORK_TEST(no_takeover_without_a_fencing_quorum) {
    const char *id = moving(work, true);

    pass(work, 61, "b"); /* one of two that are needed */
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    assert_moving(
        work, id, "CannotFence",
        "Node host-a does not respond and must be fenced: 1 of the 2 needed replicas are on nodes that respond. An administrator must confirm that it has stopped.");
    ck_assert_int_eq(reconcile_evaluate(work, id, NULL, err), RECONCILE_SETTLED);
    report_stopped(work, id); /* an administrator, instead of the node */
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    ck_assert_str_eq(conditions_at(work, id), "null");
}

WORK_TEST(replicas_without_an_address_count_for_no_fencing_quorum) {
    const char *id = moving(work, false);

    for (int i = 0; i < 7; i++) {
        pass(work, 10, "");
        put_addressed_pool(work, 'b', false);
        put_addressed_pool(work, 'c', false);
    }
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    put_addressed_pool(work, 'c', true); /* that of the new node's own pool needs none */
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    (void)err;
}

WORK_TEST(a_volume_of_two_replicas_is_never_taken_over) {
    const char *id;

    put_pools(work, 3);
    id = declare(work, &kind_volume_config,
                 DECLARED("db", "10Gi", 2, POOLS(POOL("pool-b") "," POOL("pool-c"))));
    settle(work, id);
    report_made(work, id);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    settle(work, id);
    report_served(work, id, -1, NULL);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-b\"}}", err));
    pass(work, 3600, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    ck_assert_ptr_nonnull(
        strstr(conditions_at(work, id), "fewer than 3 replicas are no fencing quorum."));
}

/* No node is reported while the API is down. */
WORK_TEST(a_takeover_waits_until_other_nodes_report_long_enough) {
    const char *id = moving(work, true);

    wait_s(work, 3600);
    tell(work, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    assert_moving(
        work, id, "NodeSilent",
        "Node host-a does not respond: node host-b takes over the volume after 60 seconds.");
    pass(work, 59, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    tell(work, "a");
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert_str_eq(volume_of(work, id).node, "host-a");

    wait_s(work, 3600);
    tell(work, "bc");
    pass(work, 40, "b"); /* one more pause, of a node that is needed */
    tell(work, "c");
    pass(work, 59, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    pass(work, 1, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
}

WORK_TEST(an_unpublished_volume_is_revoked_from_an_unresponsive_node_too) {
    const char *id = moving(work, true);
    int64_t first = volume_epoch(work, id), second;

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
    pass(work, 60, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    assert_waits(work, id, "Stopping", "NodeSilent",
                 "Node host-a does not respond: the volume is revoked from it after 60 seconds.");
    pass(work, 1, "bc");
    OK(settle(work, id));
    ck_assert_ptr_null(volume_of(work, id).node);
    second = volume_epoch(work, id);
    ck_assert_int_gt(second, first);
    ck_assert_int_eq(strtoll(volume_at(work, id, "status.claimedEpoch"), NULL, 10), first);
    ck_assert_str_eq(volume_at(work, id, "status.target"), "null");
    ck_assert_str_eq(conditions_at(work, id), "null");
    ck_assert(has_event(
        work, id,
        "Warning TakenOver 1: Node host-a does not respond; the volume is revoked from it."));
    OK(settle(work, id));
    ck_assert_int_eq(volume_epoch(work, id), second);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-b\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    ck_assert_int_gt(volume_epoch(work, id), second);
}

WORK_TEST(an_unresponsive_node_does_not_prevent_deletion) {
    const char *id = moving(work, true);
    struct document config, gone;

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    config = config_of(work, id);
    OK(document_delete(work, &config, false, &gone, err));
    pass(work, 60, "bc");
    OK(settle(work, id));
    ck_assert_int_eq(volume_of(work, id).deleted_at, 0);
    pass(work, 1, "bc");
    OK(settle(work, id));
    ck_assert_int_ne(volume_of(work, id).deleted_at, 0);
}

WORK_TEST(no_takeover_where_it_is_disabled_or_not_requested) {
    const char *id = moving(work, true);
    struct settings never = *work->settings;

    never.target_takeover_s = 0;
    work->settings = &never;
    pass(work, 3600, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    assert_stopping(work, id, "host-a");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    assert_stopping(work, id, "host-a");
    never.target_takeover_s = 60;
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-a");
    ck_assert_str_eq(conditions_at(work, id), "null");
}

WORK_TEST(a_deletion_reports_the_node_that_it_waits_for) {
    const char *id = served(work);
    struct document config, after, *replicas = NULL;

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null"); /* it has time to */
    config = config_of(work, id);
    OK(document_delete(work, &config, false, &after, err));
    pass(work, 31, "b"); /* one of two that are needed */
    OK(settle(work, id));
    assert_stopping(work, id, "host-a");
    ck_assert_int_eq(replicas_of(work, id, &replicas), 3);
    ck_assert_int_eq(replicas[0].deleted_at, 0);
    pass(work, 1, "abc"); /* it is reported again */
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
    pass(work, 31, "b");
    OK(settle(work, id));
    report_stopped(work, id); /* an administrator, instead of the node */
    OK(settle(work, id));
    replicas_of(work, id, &replicas);
    ck_assert_int_ne(replicas[0].deleted_at, 0);
    assert_away(work, id, "pool-a");
    pass(work, 1, "abc");
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
}

WORK_TEST(a_node_without_pools_is_unresponsive_when_its_volume_does_not_change) {
    const char *id = served(work);

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-x\"}}", err));
    settle(work, id);
    report_stopped(work, id);
    settle(work, id);
    report_served(work, id, -1, NULL);
    ck_assert_str_eq(volume_of(work, id).node, "host-x");
    pass(work, 3600, "abc");
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-b\"}}", err));
    OK(settle(work, id));
    ck_assert_str_eq(conditions_at(work, id), "null");
    pass(work, 31, "abc");
    OK(settle(work, id));
    assert_stopping(work, id, "host-x");
    ck_assert_str_eq(volume_of(work, id).node, "host-x"); /* it is never taken over */
    report_stopped(work, id);
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-b");
    ck_assert_str_eq(conditions_at(work, id), "null");
}

/* The node that has it now can open one of three: the one before may serve the two others yet. */
static void report_lost(struct work *work, const char *id, const char *state) {
    struct document volume = volume_of(work, id), *replicas = NULL;

    ck_assert_uint_eq(replicas_of(work, id, &replicas), 3);
    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Offline\",\"target\":{\"nodeId\":\"%s\",\"state\":\"%s\"},"
                        "\"replicaStatuses\":[{\"replicaId\":\"%s\",\"mode\":\"Degraded\"}]}",
                        volume.node, state, replicas[1].id));
    settle(work, id);
}

WORK_TEST(no_forced_recovery_while_an_earlier_node_may_serve) {
    const char *id = moving(work, true);
    struct document *replicas = NULL, volume;
    const struct recovery_request stopped = { .stopped = "host-a" };

    pass(work, 61, "bc");
    OK(settle(work, id));
    ck_assert_str_eq(volume_at(work, id, "status.silentNodes"), "\"host-a\"");
    report_lost(work, id, "Down");
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 3);
    REFUSED(
        volume_recovery_request(work, &replicas[1], &(struct recovery_request){ 0 }, &volume, err),
        CONFLICT);
    ck_assert_ptr_nonnull(strstr(err->message, "host-a lost volume"));
    OK(volume_recovery_request(work, &replicas[1], &stopped, &volume, err));
    ck_assert_str_eq(volume_at(work, id, "status.silentNodes"), "null");
}

WORK_TEST(a_node_with_a_quorum_clears_the_unresponsive_nodes) {
    const char *id = moving(work, true);
    struct document *replicas = NULL, volume;

    pass(work, 61, "bc");
    OK(settle(work, id));
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-c\"}}", err));
    pass(work, 61, "bc");
    report_lost(work, id, "Down"); /* claimed */
    put_addressed_pool(work, 'a', true);
    pass(work, 61, "ac");
    OK(settle(work, id));
    ck_assert_str_eq(volume_of(work, id).node, "host-c");
    ck_assert_str_eq(volume_at(work, id, "status.silentNodes"), "\"host-a,host-b\"");
    report_lost(work, id, "Levelling");
    ck_assert_str_eq(volume_at(work, id, "status.silentNodes"), "null");
    report_lost(work, id, "Down");
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 3);
    OK(volume_recovery_request(work, &replicas[1], &(struct recovery_request){ 0 }, &volume, err));
}

CHECK_MAIN("takeover", no_forced_recovery_while_an_earlier_node_may_serve,
           a_node_with_a_quorum_clears_the_unresponsive_nodes,
           a_volume_moves_from_an_unresponsive_node_with_a_higher_epoch,
           a_node_that_reports_again_has_time_to_stop, no_takeover_without_a_fencing_quorum,
           replicas_without_an_address_count_for_no_fencing_quorum,
           a_volume_of_two_replicas_is_never_taken_over,
           a_takeover_waits_until_other_nodes_report_long_enough,
           an_unpublished_volume_is_revoked_from_an_unresponsive_node_too,
           an_unresponsive_node_does_not_prevent_deletion,
           no_takeover_where_it_is_disabled_or_not_requested,
           a_deletion_reports_the_node_that_it_waits_for,
           a_node_without_pools_is_unresponsive_when_its_volume_does_not_change)
