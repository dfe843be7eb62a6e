#include "tests/lib/declared.h"

/* On pools a to c, served by host-a. */
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

/* Its node reports this of the third replica: ",\"reason\":…". */
static void report_third(struct work *work, const char *id, const char *mode, const char *more) {
    struct document volume = volume_of(work, id);
    const json_t *list = json_object_get(json_object_get(volume.body, "spec"), "replicas");
    const char *rows = "";

    for (size_t i = 0; i < json_array_size(list); i++)
        rows = arena_format(work->arena, "%s%s{\"replicaId\":\"%s\",\"mode\":\"%s\"%s}", rows,
                            *rows ? "," : "", json_text_of(json_array_get(list, i), "uid"),
                            i == 2 ? mode : "Healthy", i == 2 ? more : "");
    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Degraded\",\"capacity\":\"10Gi\",\"observedGeneration\":%jd,"
                        "\"target\":{\"nodeId\":\"host-a\",\"state\":\"Serving\"},"
                        "\"replicaStatuses\":[%s]}",
                        (intmax_t)volume.generation, rows));
}

static const char *third(struct work *work, const char *id) {
    struct document *replicas = NULL;

    ck_assert_uint_ge(replicas_of(work, id, &replicas), 3);
    return replicas[2].id;
}

WORK_TEST(a_rebuild_that_finds_no_space_is_a_condition_and_a_warning) {
    const char *id = served(work);

    (void)err;
    report_third(work, id, "Degraded",
                 ",\"reason\":\"NoSpace\",\"message\":\"/srv/c: No space left on device\"");
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(condition_at(work, id, CONDITION_REBUILDING), "False NoSpace");
    ck_assert_str_eq(last_event(work, id),
                     arena_format(work->arena,
                                  "Warning RebuildFailed 1: Replica %s cannot be rebuilt: no space "
                                  "is left on its pool. Its node retries.",
                                  third(work, id)));
}

WORK_TEST(a_rebuild_has_events_at_its_start_and_end) {
    const char *id = served(work);

    (void)err;
    report_third(work, id, "Rebuilding", "");
    settle(work, id);
    ck_assert_str_eq(condition_at(work, id, CONDITION_REBUILDING), "True Copying");
    ck_assert_str_eq(last_event(work, id),
                     arena_format(work->arena,
                                  "Normal RebuildStarted 1: Replica %s is being rebuilt.",
                                  third(work, id)));
    ck_assert_str_eq(config_at(work, id, "status.rebuiltReplicaId"),
                     arena_format(work->arena, "\"%s\"", third(work, id)));
    report_served(work, id, -1, NULL);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(condition_at(work, id, CONDITION_REBUILDING), "False NotRebuilding");
    ck_assert_str_eq(last_event(work, id), "Normal RebuildFinished 1: The replica is rebuilt.");
    ck_assert_str_eq(config_at(work, id, "status.rebuiltReplicaId"), "null");
}

WORK_TEST(a_rebuild_of_a_volume_that_stops_is_interrupted_and_not_finished) {
    const char *id = served(work);

    (void)err;
    report_third(work, id, "Rebuilding", "");
    settle(work, id);
    report_stopped(work, id);
    settle(work, id);
    ck_assert_str_eq(condition_at(work, id, CONDITION_REBUILDING), "False Interrupted");
    ck_assert_ptr_nonnull(strstr(last_event(work, id), "Warning RebuildInterrupted"));
}

/* Its node reports how many blocks write logs decided in the last start. */
static void report_decided(struct work *work, const char *id, int64_t blocks) {
    struct document volume = volume_of(work, id);
    json_t *status = json_keep(work->arena, json_deep_copy(volume.status));

    json_object_set_new(json_object_get(status, "target"), "decidedBlocks", json_integer(blocks));
    report(work, &volume, json_text(work->arena, status));
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
}

WORK_TEST(blocks_decided_by_write_logs_are_counted_and_reported_once) {
    const char *id = served(work);
    const char *reported =
        "Normal BlocksDecided 1: 3 blocks differed after an unclean stop, and were decided by write logs.";

    (void)err;
    report_decided(work, id, 0);
    ck_assert_str_ne(last_event(work, id), reported);
    for (int i = 0; i < 3; i++)
        report_decided(work, id, 3);
    ck_assert_str_eq(last_event(work, id), reported);
    ck_assert_str_eq(config_at(work, id, "status.decidedBlocks"), "3");
    report_served(work, id, -1, NULL);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.decidedBlocks"), "null");
}

WORK_TEST(a_pool_with_little_space_is_a_condition_and_a_warning_until_it_has_more) {
    const char *id = served(work);

    (void)err;
    put_pool(work, "pool-c", "host-c", 49 * GIB); /* of 1000 */
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    ck_assert_str_eq(last_event(work, id),
                     arena_format(work->arena,
                                  "Warning NearFull 1: The pool of replica %s has little space "
                                  "left.",
                                  third(work, id)));
    put_pool(work, "pool-c", "host-c", 60 * GIB);
    settle(work, id);
    ck_assert_str_eq(condition_at(work, id, CONDITION_NEAR_FULL), "True PoolNearFull");
    put_pool(work, "pool-c", "host-c", 71 * GIB);
    settle(work, id);
    ck_assert_str_eq(condition_at(work, id, CONDITION_NEAR_FULL), "False SpaceLeft");
}

/* ---- facts ---- */

static void stop_reporting(struct work *work, const char *pool) {
    sql(work, "%s",
        arena_format(work->arena,
                     "UPDATE replica_pools SET seen_at = seen_at - 1000000000 WHERE name = '%s'",
                     pool));
}

WORK_TEST(the_phase_of_an_unpublished_volume_follows_from_its_pools) {
    const char *id = served(work);

    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    settle(work, id);
    report_stopped(work, id);
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Healthy\"");
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "True NotPublished");
    stop_reporting(work, "pool-a");
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Degraded\"");
    ck_assert_str_eq(condition_at(work, id, CONDITION_REDUNDANT), "False PoolOffline");
    ck_assert(has_event(work, id, "Warning PoolOffline 1: 2 of 3 replicas can be used."));
    stop_reporting(work, "pool-b");
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Offline\"");
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "False TooFewReplicas");
    ck_assert(has_event(work, volume_of(work, id).id, "Warning TooFewReplicas 1: "));
    put_pools(work, 3);
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Healthy\"");
    ck_assert_str_eq(volume_at(work, id, "status.servedPhase"), "null");
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "True NotPublished");
    ck_assert_str_eq(condition_at(work, id, CONDITION_REDUNDANT), "True AllReplicas");
}

WORK_TEST(the_state_at_an_unresponsive_node_is_unknown) {
    const char *id = served(work);

    (void)err;
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "True Served");
    stop_reporting(work, "pool-a"); /* host-a serves it */
    settle(work, id);
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "Unknown NodeSilent");
    ck_assert_str_eq(condition_at(work, id, CONDITION_REDUNDANT), "Unknown NodeSilent");
    ck_assert(has_event(work, id, "Warning NodeSilent 1: "));
    put_pool(work, "pool-a", "host-a", 900 * GIB);
    settle(work, id);
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "True Served");
    ck_assert(has_event(work, volume_of(work, id).id, "Normal Served"));
}

WORK_TEST(a_phase_agrees_with_the_replicas_that_are_reported_with_it) {
    const char *id = served(work);

    (void)err;
    report_served(work, id, 2, "Degraded"); /* with the phase Healthy */
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "status.phase"), "\"Degraded\"");
    ck_assert_str_eq(condition_at(work, id, CONDITION_AVAILABLE), "True Served");
    ck_assert_str_eq(condition_at(work, id, CONDITION_REDUNDANT), "False OutOfSync");
}

/* ---- a pool is exchanged ---- */

#define EXCHANGED(list) "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[" list "]}}}"

WORK_TEST(a_pool_whose_replica_is_not_healthy_may_go_while_another_comes) {
    const char *id = served(work);

    OK(edit(work, id,
            EXCHANGED(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c") "," POOL("pool-d")),
            err));
    settle(work, id);
    report_third(work, id, "Degraded", ",\"reason\":\"NoSpace\"");
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Reconciling\"");
    /* A healthy one stays until all is settled, and so do two. */
    REFUSED(edit(work, id, EXCHANGED(POOL("pool-b") "," POOL("pool-c") "," POOL("pool-d")), err),
            CONFLICT);
    REFUSED(edit(work, id, EXCHANGED(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-e")), err),
            CONFLICT);
    OK(edit(work, id, EXCHANGED(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-d")), err));
}

CHECK_MAIN("reconcile_health", a_rebuild_that_finds_no_space_is_a_condition_and_a_warning,
           a_rebuild_has_events_at_its_start_and_end,
           a_rebuild_of_a_volume_that_stops_is_interrupted_and_not_finished,
           blocks_decided_by_write_logs_are_counted_and_reported_once,
           a_pool_with_little_space_is_a_condition_and_a_warning_until_it_has_more,
           the_phase_of_an_unpublished_volume_follows_from_its_pools,
           the_state_at_an_unresponsive_node_is_unknown,
           a_phase_agrees_with_the_replicas_that_are_reported_with_it,
           a_pool_whose_replica_is_not_healthy_may_go_while_another_comes)
