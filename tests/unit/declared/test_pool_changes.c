#include "declared/pool_changes.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

static struct replica_pool pool_called(const char *name) {
    return (struct replica_pool){ .id = name,
                                  .node = "node",
                                  .path = "/pool",
                                  .state = REPLICA_POOL_ONLINE,
                                  .up = true,
                                  .total_bytes = 1000,
                                  .free_bytes = 900 };
}

/* How many are due. */
static unsigned take_all(struct pool_changes *changes, int64_t now_us, bool all) {
    struct pool_change change;
    unsigned count = 0;

    while (pool_changes_take(changes, now_us, all, &change))
        count++;
    return count;
}

static struct pool_changes *known(const struct replica_pool *pools, unsigned count) {
    struct pool_changes *changes = pool_changes_new();

    pool_changes_note(changes, pools, count);
    ck_assert_uint_eq(take_all(changes, 0, true), count);
    ck_assert(!pool_changes_take_accepting(changes, 0, false));
    return changes;
}

START_TEST(each_fact_that_settled_configs_depend_on_is_a_change) {
    struct replica_pool first = pool_called("a");
    struct pool_changes *changes = known(&first, 1);
    struct replica_pool now[] = { first, first, first, first, first, first, first, first };

    now[0].up = false;
    now[1].state = "Offline";
    now[2].draining = true;
    now[3].address = "10.0.0.1:1";
    now[4].path = "/other";
    now[5].node = "other";
    now[6].free_bytes = 65;
    now[7].free_bytes = 45;
    for (size_t i = 0; i < LENGTH(now); i++) {
        pool_changes_note(changes, &now[i], 1);
        ck_assert_uint_eq(take_all(changes, (int64_t)i * POOL_CHANGES_US, true), 1);
        pool_changes_note(changes, &first, 1);
        ck_assert_uint_eq(take_all(changes, (int64_t)i * POOL_CHANGES_US, true), 1);
    }
    pool_changes_free(changes);
}
END_TEST

START_TEST(properties_irrelevant_to_settled_configs_are_no_change) {
    struct replica_pool pools[] = { pool_called("a"), pool_called("b") };
    struct pool_changes *changes = known(pools, 2);

    pools[0].free_bytes = 500;
    pools[0].seen_at = 5;
    pools[0].unseen_us = 7;
    pools[0].up_us = 7;
    pool_changes_note(changes, pools, 2);
    ck_assert_uint_eq(take_all(changes, 0, true), 0);
    pool_changes_free(changes);
}
END_TEST

START_TEST(pools_that_come_and_go_are_changes_of_their_own_alone) {
    struct replica_pool pools[] = { pool_called("a"), pool_called("b"), pool_called("c") };
    struct pool_changes *changes = known(&pools[1], 1);
    struct pool_change change;

    pool_changes_note(changes, pools, 3);
    ck_assert_uint_eq(take_all(changes, 0, false), 2);
    pool_changes_note(changes, pools, 2);
    ck_assert(pool_changes_take(changes, 0, false, &change));
    ck_assert_str_eq(change.pool, "c");
    ck_assert_uint_eq(take_all(changes, 0, false), 0);
    pool_changes_note(changes, pools, 2);
    ck_assert_uint_eq(take_all(changes, 0, false), 0);
    pool_changes_free(changes);
}
END_TEST

/* As PostgreSQL has them in most languages, where '-' counts little. */
START_TEST(pools_may_be_in_any_order) {
    struct replica_pool pools[] = { pool_called("pool-1"), pool_called("pool2"),
                                    pool_called("pool-3") };
    struct replica_pool before[] = { pools[0], pools[2] };
    struct pool_changes *changes = known(before, 2);
    struct pool_change change;

    pool_changes_note(changes, pools, 3);
    ck_assert(pool_changes_take(changes, 0, false, &change));
    ck_assert_str_eq(change.pool, "pool2");
    ck_assert_uint_eq(take_all(changes, 0, false), 0);
    ck_assert(pool_changes_know(changes, pools, 3));
    pool_changes_free(changes);
}
END_TEST

START_TEST(pools_are_known_as_they_were_noted_last) {
    struct replica_pool pools[] = { pool_called("a"), pool_called("b"), pool_called("c") };
    struct pool_changes *changes = known(pools, 2);

    ck_assert(pool_changes_know(changes, pools, 0));
    ck_assert(pool_changes_know(changes, pools, 2));
    ck_assert(!pool_changes_know(changes, pools, 3));
    pools[1].state = "Offline";
    ck_assert(!pool_changes_know(changes, pools, 2));
    pool_changes_note(changes, pools, 2);
    ck_assert(pool_changes_know(changes, pools, 2));
    pool_changes_note(changes, pools, 1);
    ck_assert(!pool_changes_know(changes, pools, 2));
    pool_changes_free(changes);
}
END_TEST

START_TEST(a_pool_that_moves_names_both_nodes) {
    struct replica_pool pool = pool_called("a");
    struct pool_changes *changes = known(&pool, 1);
    struct pool_change change;

    pool.node = "second";
    pool_changes_note(changes, &pool, 1);
    pool.up = false;
    pool_changes_note(changes, &pool, 1);
    ck_assert(pool_changes_take(changes, 0, false, &change));
    ck_assert_str_eq(change.old_node, "node");
    ck_assert_str_eq(change.node, "second");
    pool_changes_free(changes);
}
END_TEST

/* Volumes at its node depend on whether that reports at all. */
START_TEST(an_offline_pool_that_stops_to_report_is_a_change) {
    struct replica_pool pool = pool_called("a");
    struct pool_changes *changes;

    pool.state = "Offline";
    changes = known(&pool, 1);
    pool.up = false;
    pool_changes_note(changes, &pool, 1);
    ck_assert_uint_eq(take_all(changes, 0, true), 1);
    pool_changes_free(changes);
}
END_TEST

/* And one that is not dealt with yet is not lost. */
START_TEST(a_pool_that_flips_is_dealt_with_a_few_times_and_no_other_waits) {
    struct replica_pool pools[] = { pool_called("a"), pool_called("b") };
    struct pool_changes *changes = known(pools, 2);
    unsigned count = 0;

    for (int64_t i = 0; i < 10; i++) {
        pools[0].up = !pools[0].up;
        pool_changes_note(changes, pools, 2);
        count += take_all(changes, i * SECOND_US, false);
    }
    ck_assert_uint_eq(count, POOL_CHANGES_MOST);
    pools[1].up = false;
    pool_changes_note(changes, pools, 2);
    ck_assert_uint_eq(take_all(changes, 10 * SECOND_US, false), 1);
    ck_assert_uint_eq(take_all(changes, POOL_CHANGES_US - 1, false), 0);
    ck_assert_uint_eq(take_all(changes, POOL_CHANGES_US, false), 1);
    pools[0].up = !pools[0].up;
    pool_changes_note(changes, pools, 2);
    ck_assert_uint_eq(take_all(changes, POOL_CHANGES_US, true), 1);
    pool_changes_free(changes);
}
END_TEST

START_TEST(new_accepting_pools_requeue_waiting_configs_at_a_limited_rate) {
    struct replica_pool pool = pool_called("a");
    struct pool_changes *changes = known(&pool, 1);
    unsigned count = 0;

    pool.read_only = true;
    pool_changes_note(changes, &pool, 1);
    ck_assert(!pool_changes_take_accepting(changes, 0, false));
    ck_assert(!pool_changes_take_accepting(changes, 0, true));
    for (int i = 0; i < 10; i++) {
        pool.read_only = !pool.read_only;
        pool_changes_note(changes, &pool, 1);
        count += pool_changes_take_accepting(changes, 0, true);
    }
    ck_assert_uint_eq(count, POOL_CHANGES_MOST);
    ck_assert(pool_changes_take_accepting(changes, POOL_CHANGES_US, true));
    ck_assert(!pool_changes_take_accepting(changes, POOL_CHANGES_US, true));
    pool_changes_free(changes);
}
END_TEST

CHECK_MAIN("pool changes", each_fact_that_settled_configs_depend_on_is_a_change,
           properties_irrelevant_to_settled_configs_are_no_change,
           pools_that_come_and_go_are_changes_of_their_own_alone, pools_may_be_in_any_order,
           pools_are_known_as_they_were_noted_last,
           an_offline_pool_that_stops_to_report_is_a_change, a_pool_that_moves_names_both_nodes,
           a_pool_that_flips_is_dealt_with_a_few_times_and_no_other_waits,
           new_accepting_pools_requeue_waiting_configs_at_a_limited_rate)
