/*
 * Replicas whose pools stay offline, or are drained.
 */
#include "declared/pool_drain.h"
#include "declared/replica_replacement.h"
#include "tests/lib/declared.h"

#define POLICY_S 600

static void bind(struct work *work, const char *id) {
    settle(work, id);
    report_made(work, id);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
}

static const char *named(struct work *work, const char *more) {
    const char *id = declare(
        work, &kind_volume_config,
        arena_format(
            work->arena,
            "{\"metadata\":{\"name\":\"db%s\"},\"spec\":{\"capacity\":{\"storage\":\"10Gi\"},"
            "\"provision\":{\"replicaCount\":3}" POOLS(
                POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c")) "}}",
            more));

    bind(work, id);
    return id;
}

static void publish(struct work *work, const char *id) {
    struct error err = { 0 };

    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", &err), 0);
    settle(work, id);
    report_served(work, id, -1, NULL);
    settle(work, id);
}

/* Five pools, online for long; a config on a to c, served by host-a. */
static const char *served(struct work *work) {
    const char *id;

    put_pools(work, 5);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    id = named(work, "");
    publish(work, id);
    return id;
}

/* It was last reported online `seconds` ago. */
static void go_away(struct work *work, const char *pools, int64_t seconds) {
    const int64_t then_us = work->clock_us - seconds * SECOND_US;

    for (; *pools; pools++)
        sql(work, "%s",
            arena_format(work->arena,
                         "UPDATE replica_pools SET seen_at = %jd, online_at = %jd WHERE "
                         "name = 'pool-%c'",
                         (intmax_t)then_us, (intmax_t)then_us, *pools));
}

static struct document at_index(struct work *work, const char *id, unsigned i) {
    struct document *replicas = NULL;

    ck_assert_uint_lt(i, replicas_of(work, id, &replicas));
    return replicas[i];
}

static unsigned count_of(struct work *work, const char *id) {
    return replicas_of(work, id, &(struct document *){ NULL });
}

static const char *pool_at(struct work *work, const char *id, unsigned i) {
    const struct document replica = at_index(work, id, i);

    return json_text_of(json_object_get(replica.body, "spec"), "poolName");
}

/* The fourth is filled, and the third is `mode`. */
static void rebuild_fourth(struct work *work, const char *id, const char *mode) {
    const struct document made = at_index(work, id, 3);

    report(work, &made, "{\"phase\":\"Healthy\"}");
    report_served(work, id, 2, mode);
    settle(work, id);
}

/* The node has evicted the third. */
static void leave(struct work *work, const char *id) {
    report_served(work, id, 2, NULL);
    settle(work, id);
    report_served(work, id, -1, NULL);
    settle(work, id);
}

WORK_TEST(a_lost_replica_is_replaced_and_removed_when_the_new_one_is_healthy) {
    const char *id = served(work);
    struct document old = at_index(work, id, 2);

    (void)err;
    go_away(work, "c", POLICY_S + 1);
    report_served(work, id, 2, "Offline");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 4);
    ck_assert_str_eq(pool_at(work, id, 3), "pool-d");
    ck_assert_str_eq(config_at(work, id, "status.replacement.replicaId"),
                     arena_format(work->arena, "\"%s\"", old.id));
    ck_assert_str_eq(config_at(work, id, "status.replacedPools"), "{\"pool-c\":\"pool-d\"}");
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Reconciling\"");
    ck_assert(has_event(work, id, "Warning ReplacementStarted 1: "));
    ck_assert_str_eq(volume_at(work, id, "spec.removing"), "null");
    rebuild_fourth(work, id, "Offline");
    ck_assert_str_eq(volume_at(work, id, "spec.removing"),
                     arena_format(work->arena, "\"%s\"", old.id));
    leave(work, id);
    ck_assert_str_eq(config_at(work, id, "status.replacement"), "null");
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    ck_assert_ptr_nonnull(strstr(last_event(work, id), "PolicySync"));
    ck_assert_int_gt(at_index(work, id, 2).deleted_at, 0);
    /* The spec is as it was declared, and may be declared again. */
    ck_assert_ptr_nonnull(strstr(config_at(work, id, "spec.policy.replicaPoolInfo"), "pool-c"));
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
}

WORK_TEST(a_replica_is_not_replaced_before_its_time_or_while_it_is_healthy) {
    const char *id = served(work);

    go_away(work, "c", POLICY_S - 1);
    report_served(work, id, 2, "Offline");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    go_away(work, "c", POLICY_S + 1);
    report_served(work, id, -1, NULL); /* its agent alone is down */
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    OK(edit(work, id, "{\"spec\":{\"policy\":{\"replica\":{\"autoReplaceSeconds\":0}}}}", err));
    settle(work, id);
    report_served(work, id, 2, "Offline");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    OK(edit(work, id, "{\"spec\":{\"policy\":{\"replica\":{\"autoReplaceSeconds\":60}}}}", err));
    settle(work, id);
    report_served(work, id, 2, "Offline");
    settle(work, id);
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 4);
}

/* Its node reports that the disk is gone, for as long: the config does not wait for that. */
WORK_TEST(a_pool_reported_offline_is_lost_like_an_unreported_one) {
    struct replica_pool pool, said = {
        .id = "pool-c", .node = "host-c", .path = "/pool", .state = "Gone", .read_only = true
    };
    const char *id = served(work);

    said.labels = json_keep(work->arena, json_object());
    go_away(work, "c", POLICY_S + 1);
    OK(replica_pool_report(work, &said, &pool, err));
    report_served(work, id, 2, "Offline");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 4);
    rebuild_fourth(work, id, "Offline");
    leave(work, id);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    ck_assert_ptr_nonnull(strstr(conditions_at(work, id), "PoolOffline"));
}

/* A policy shorter than the pause between two reports. */
WORK_TEST(a_pool_that_is_online_is_not_lost_between_two_reports) {
    const char *id;

    put_pools(work, 5);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    id = named(work, "");
    OK(edit(work, id, "{\"spec\":{\"policy\":{\"replica\":{\"autoReplaceSeconds\":1}}}}", err));
    settle(work, id);
    go_away(work, "c", 10);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_uint_eq(count_of(work, id), 3);
}

WORK_TEST(nothing_is_replaced_while_half_of_the_pools_are_offline) {
    const char *id = served(work);

    (void)err;
    put_pool(work, "pool-f", "host-f", 100 * GIB);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    go_away(work, "cde", POLICY_S + 1);
    report_served(work, id, 2, "Offline");
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_uint_eq(count_of(work, id), 3);
    /* Back a moment ago, as behind an outage of the API: the others have the same time. */
    put_pool(work, "pool-d", "host-d", 100 * GIB);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_uint_eq(count_of(work, id), 3);
    sql(work, "UPDATE replica_pools SET up_since = 1 WHERE name = 'pool-d'");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 4);
}

WORK_TEST(a_pool_that_comes_back_cancels_the_replacement) {
    const char *id = served(work);

    (void)err;
    go_away(work, "c", POLICY_S + 1);
    report_served(work, id, 2, "Offline");
    settle(work, id);
    put_pool(work, "pool-c", "host-c", 100 * GIB);
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.replacement.cancelled"), "true");
    report_served(work, id, 3, "Rebuilding");
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "spec.removing"),
                     arena_format(work->arena, "\"%s\"", at_index(work, id, 3).id));
    report_served(work, id, 3, NULL);
    settle(work, id);
    ck_assert_int_gt(at_index(work, id, 3).deleted_at, 0);
    ck_assert_int_eq(at_index(work, id, 2).deleted_at, 0);
    ck_assert_str_eq(config_at(work, id, "status.replacement"), "null");
    ck_assert_str_eq(config_at(work, id, "status.replacedPools"), "null");
}

static void drain(struct work *work, const char *name, bool draining) {
    struct error err = { 0 };
    struct replica_pool pool;

    ck_assert_int_eq(replica_pool_find(work, name, &pool, &err), 1);
    ck_assert_int_eq(pool_drain_set(work, &pool, draining, &err), 0);
}

WORK_TEST(a_drained_pool_is_emptied_and_takes_no_replica) {
    const char *id = served(work);
    int64_t left = 0;

    drain(work, "pool-c", true);
    drain(work, "pool-d", true);
    settle(work, id);
    ck_assert_str_eq(pool_at(work, id, 3), "pool-e");
    rebuild_fourth(work, id, "Healthy");
    leave(work, id);
    report(work, &(struct document[]){ at_index(work, id, 2) }[0], "{\"phase\":\"Deleted\"}");
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    ck_assert_str_eq(config_at(work, id, "status.poolInfo"), "[\"pool-a\",\"pool-b\",\"pool-e\"]");
    OK(replica_pool_replicas(work, "pool-c", &left, err));
    ck_assert_int_eq(left, 0);
}

/* The data of the i-th are removed. */
static void remove_data(struct work *work, const char *id, unsigned i) {
    const struct document replica = at_index(work, id, i);

    report(work, &replica, "{\"phase\":\"Deleted\"}");
    settle(work, id);
}

WORK_TEST(a_replaced_pool_may_replace_another) {
    const char *id = served(work);
    static const char *const drained[] = { "pool-c", "pool-a", "pool-d" };
    static const char *const expected[] = { "[\"pool-a\",\"pool-b\",\"pool-d\"]",
                                            "[\"pool-b\",\"pool-d\",\"pool-c\"]",
                                            "[\"pool-b\",\"pool-c\",\"pool-a\"]" };

    (void)err;
    sql(work, "DELETE FROM replica_pools WHERE name = 'pool-e'");
    for (unsigned i = 0; i < LENGTH(drained); i++) {
        const struct document *old = NULL;
        struct document *replicas = NULL;
        unsigned k = 0;

        drain(work, drained[i], true);
        settle(work, id);
        ck_assert_uint_eq(replicas_of(work, id, &replicas), 4);
        for (; strcmp(pool_at(work, id, k), drained[i]) != 0; k++)
            ck_assert_uint_lt(k, 3);
        old = &replicas[k];
        report(work, &replicas[3], "{\"phase\":\"Healthy\"}");
        report_served(work, id, -1, NULL);
        settle(work, id);
        ck_assert_str_eq(volume_at(work, id, "spec.removing"),
                         arena_format(work->arena, "\"%s\"", old->id));
        report_served(work, id, k, NULL);
        settle(work, id);
        remove_data(work, id, k);
        report_served(work, id, -1, NULL);
        settle(work, id);
        ck_assert_str_eq(config_at(work, id, "status.poolInfo"), expected[i]);
        ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
        drain(work, drained[i], false);
        ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    }
}

WORK_TEST(an_interrupted_drain_cancels_its_replacements) {
    const char *id = served(work);

    (void)err;
    drain(work, "pool-c", true);
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 4);
    drain(work, "pool-c", false);
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.replacement.cancelled"), "true");
}

WORK_TEST(a_drained_pool_of_an_unpublished_volume_is_emptied_without_clients) {
    const char *id;

    (void)err;
    put_pools(work, 4);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    id = named(work, "");
    drain(work, "pool-c", true);
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 4);
    ck_assert_ptr_nonnull(volume_of(work, id).node);
    ck_assert_str_eq(volume_at(work, id, "spec.serve"), "false");
    report_served(work, id, 3, "Rebuilding");
    settle(work, id);
    rebuild_fourth(work, id, "Healthy");
    leave(work, id);
    ck_assert_str_eq(volume_at(work, id, "spec.nodeId"), "\"\"");
}

WORK_TEST(no_more_replicas_are_copied_at_once_than_the_limit) {
    const char *ids[3];
    int64_t copied;

    put_pools(work, 5);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    for (unsigned i = 0; i < LENGTH(ids); i++) {
        ids[i] = named(work, arena_format(work->arena, "%u", i));
        publish(work, ids[i]);
    }
    drain(work, "pool-c", true);
    for (unsigned i = 0; i < LENGTH(ids); i++)
        settle(work, ids[i]);
    OK(replica_replacement_count(work, &copied, err));
    ck_assert_int_eq(copied, 2);
    ck_assert_uint_eq(count_of(work, ids[2]), 3);
    rebuild_fourth(work, ids[0], "Healthy"); /* it is copied, and frees a slot */
    settle(work, ids[2]);
    ck_assert_uint_eq(count_of(work, ids[2]), 4);
}

/* Each replica has a node of its own, and so it stays. */
WORK_TEST(a_replacement_is_not_put_beside_another_replica) {
    const char *id;

    put_pools(work, 3);
    put_pool(work, "pool-z", "host-a", 900 * GIB);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    id = named(work, "");
    publish(work, id);
    drain(work, "pool-c", true);
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_AGAIN);
    ck_assert_uint_eq(count_of(work, id), 3);
    ck_assert_ptr_nonnull(strstr(last_event(work, id), "Warning ReplacementWaits"));
    put_pool(work, "pool-d", "host-d", 900 * GIB);
    settle(work, id);
    ck_assert_str_eq(pool_at(work, id, 3), "pool-d");
}

/* The fourth replica, on pool-d, is given up with its pool, and a fifth made. */
static void lose_fourth(struct work *work, const char *id, unsigned absent) {
    ck_assert_str_eq(pool_at(work, id, 3), "pool-d");
    go_away(work, "d", POLICY_S - 1);
    report_served(work, id, 3, "Offline");
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.replacement.cancelled"), "null");
    go_away(work, "d", POLICY_S + 1);
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.replacement.cancelled"), "true");
    report_served(work, id, 3, NULL); /* it is evicted, and its data wait for the pool */
    settle(work, id);
    report_served(work, id, (int)absent, "Offline");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 5);
    ck_assert_str_eq(pool_at(work, id, 4), "pool-e");
    ck_assert_int_eq(at_index(work, id, 2).deleted_at, 0);
}

WORK_TEST(a_replica_goes_elsewhere_when_its_new_pool_is_lost_too) {
    const char *id = served(work);

    (void)err;
    put_pool(work, "pool-f", "host-f", 100 * GIB);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    go_away(work, "c", POLICY_S + 1);
    report_served(work, id, 2, "Offline");
    settle(work, id);
    lose_fourth(work, id, 2);
}

/* The volume's lost replicas are not replaced, yet it has to leave the drained pool. */
WORK_TEST(a_drained_replica_goes_elsewhere_when_its_new_pool_is_lost) {
    const char *id = served(work);

    OK(edit(work, id, "{\"spec\":{\"policy\":{\"replica\":{\"autoReplaceSeconds\":0}}}}", err));
    settle(work, id);
    report_served(work, id, -1, NULL);
    settle(work, id);
    drain(work, "pool-c", true);
    settle(work, id);
    lose_fourth(work, id, 3);
}

/* As when a machine is replaced by another one with the disk, or with a new one. */
WORK_TEST(a_replica_is_lost_when_another_node_has_its_pool) {
    const char *id = served(work);

    (void)err;
    go_away(work, "c", POLICY_S + 1);
    put_pool(work, "pool-c", "host-x", 100 * GIB);
    report_served(work, id, 2, "Offline");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    sql(work, "UPDATE replica_pools SET up_since = %jd WHERE name = 'pool-c'",
        (intmax_t)(work->clock_us - (POLICY_S - 1) * SECOND_US));
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    sql(work, "UPDATE replica_pools SET up_since = 1 WHERE name = 'pool-c'");
    settle(work, id);
    ck_assert_uint_eq(count_of(work, id), 4);
    ck_assert_str_eq(pool_at(work, id, 3), "pool-d");
}

/* The clock of a server that was set before the service has started again. */
WORK_TEST(a_step_of_the_clock_neither_replaces_at_once_nor_prevents_it) {
    static const int64_t day_us = 24 * 3600 * SECOND_US;
    const char *id = served(work);
    struct work later = *work;

    (void)err;
    go_away(work, "c", 100);
    report_served(work, id, 2, "Offline");
    later.now_us -= day_us; /* the wall's */
    settle(&later, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    later.now_us += 2 * day_us;
    settle(&later, id);
    ck_assert_uint_eq(count_of(work, id), 3);

    later.clock_us += day_us;
    settle(&later, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    for (unsigned i = 0; i < 5; i++) {
        if (i != 2)
            put_pool(&later, arena_format(work->arena, "pool-%c", 'a' + i),
                     arena_format(work->arena, "host-%c", 'a' + i), 100 * GIB);
    }
    settle(&later, id);
    ck_assert_uint_eq(count_of(work, id), 3);
    later.clock_us += (POLICY_S + 1) * SECOND_US;
    for (unsigned i = 0; i < 5; i++) {
        if (i != 2)
            sql(work,
                "UPDATE replica_pools SET seen_at = %jd, online_at = %jd WHERE name = 'pool-%c'",
                (intmax_t)later.clock_us, (intmax_t)later.clock_us, 'a' + i);
    }
    settle(&later, id);
    ck_assert_uint_eq(count_of(work, id), 4);
}

CHECK_MAIN("reconcile_replacement",
           a_lost_replica_is_replaced_and_removed_when_the_new_one_is_healthy,
           a_replica_is_not_replaced_before_its_time_or_while_it_is_healthy,
           a_pool_reported_offline_is_lost_like_an_unreported_one,
           a_pool_that_is_online_is_not_lost_between_two_reports,
           nothing_is_replaced_while_half_of_the_pools_are_offline,
           a_pool_that_comes_back_cancels_the_replacement,
           a_drained_pool_is_emptied_and_takes_no_replica, a_replaced_pool_may_replace_another,
           an_interrupted_drain_cancels_its_replacements,
           a_drained_pool_of_an_unpublished_volume_is_emptied_without_clients,
           no_more_replicas_are_copied_at_once_than_the_limit,
           a_replacement_is_not_put_beside_another_replica,
           a_replica_goes_elsewhere_when_its_new_pool_is_lost_too,
           a_drained_replica_goes_elsewhere_when_its_new_pool_is_lost,
           a_replica_is_lost_when_another_node_has_its_pool,
           a_step_of_the_clock_neither_replaces_at_once_nor_prevents_it)
