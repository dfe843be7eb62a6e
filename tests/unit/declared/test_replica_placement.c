#include "declared/replica_placement.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <string.h>

#define GIB ((int64_t)1 << 30)

struct choice {
    struct arena *arena;
    const struct replica_pool *pools[16];
    struct error err;
};

static struct replica_pool pool(const char *name, const char *node, int64_t free_gib) {
    return (struct replica_pool){ .id = name,
                                  .node = node,
                                  .path = "/p",
                                  .state = REPLICA_POOL_ONLINE,
                                  .free_bytes = free_gib * GIB,
                                  .up = true };
}

static int choose(struct choice *choice, const struct replica_placement *wanted,
                  const struct replica_pool *pools, unsigned count) {
    return replica_placement_choose(choice->arena, wanted, pools, count, choice->pools,
                                    &choice->err);
}

/* "a b c" */
static const char *names(struct choice *choice, unsigned count) {
    const char *text = choice->pools[0]->id;

    for (unsigned i = 1; i < count; i++)
        text = arena_join(choice->arena, text, " ", choice->pools[i]->id, NULL);
    return text;
}

START_TEST(each_replica_has_its_own_pool_on_other_nodes_first_then_by_free_space) {
    autoarena struct arena *arena = arena_new();
    struct choice choice = { .arena = arena };
    const struct replica_pool pools[] = { pool("a1", "a", 900), pool("a2", "a", 800),
                                          pool("b1", "b", 300), pool("c1", "c", 200),
                                          pool("c2", "c", 400) };

    for (uint64_t seed = 0; seed < 50; seed++) {
        ck_assert_int_eq(
            choose(&choice, &(struct replica_placement){ .count = 5, .bytes = GIB, .seed = seed },
                   pools, LENGTH(pools)),
            0);
        ck_assert_str_eq(names(&choice, 5), "a1 c2 b1 a2 c1");
    }
}
END_TEST

START_TEST(the_pool_of_the_node_that_wants_it_comes_first) {
    autoarena struct arena *arena = arena_new();
    struct choice choice = { .arena = arena };
    const struct replica_pool pools[] = { pool("a1", "a", 900), pool("b1", "b", 10),
                                          pool("b2", "b", 20), pool("c1", "c", 500) };
    struct replica_placement wanted = { .count = 3, .bytes = GIB, .local_node = "b" };

    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), 0);
    ck_assert_str_eq(names(&choice, 3), "b2 a1 c1");
    wanted.local_node = "nowhere";
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), 0);
    ck_assert_str_eq(names(&choice, 3), "a1 c1 b2");
}
END_TEST

START_TEST(among_equals_a_seed_decides_and_always_the_same) {
    autoarena struct arena *arena = arena_new();
    struct choice choice = { .arena = arena };
    unsigned first[4] = { 0 };
    struct replica_pool pools[4];

    for (unsigned i = 0; i < 4; i++)
        pools[i] = pool(arena_format(arena, "%u", i), arena_format(arena, "n%u", i), 100);
    pools[2].free_bytes += GIB / 2; /* not worth a preference */
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct replica_placement wanted = { .count = 2, .bytes = GIB, .seed = seed };
        const char *once;

        ck_assert_int_eq(choose(&choice, &wanted, pools, 4), 0);
        once = names(&choice, 2);
        first[*once - '0']++;
        ck_assert_int_eq(choose(&choice, &wanted, pools, 4), 0);
        ck_assert_str_eq(names(&choice, 2), once);
    }
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_gt(first[i], 50);
}
END_TEST

START_TEST(too_few_usable_pools_are_reported_with_both_counts) {
    autoarena struct arena *arena = arena_new();
    struct choice choice = { .arena = arena };
    struct replica_pool pools[] = { pool("a", "a", 9), pool("b", "b", 9), pool("c", "c", 9),
                                    pool("d", "d", 9), pool("e", "e", 9) };
    struct replica_placement wanted = { .count = 3, .bytes = 10 * GIB };

    pools[0].free_bytes = 10 * GIB;
    pools[1].up = false;
    pools[2].read_only = true;
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), -1);
    ck_assert_int_eq(choice.err.kind, ERROR_UNAVAILABLE);
    ck_assert_str_eq(
        choice.err.message,
        "3 replicas need 3 pools, and 1 of 5 can be used: 1 are offline, 1 take no writes, 2 have too little space for 10Gi.");
    ck_assert_int_eq(choose(&choice, &wanted, NULL, 0), -1);
    wanted.count = 1;
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), 0);
    ck_assert_str_eq(names(&choice, 1), "a");
}
END_TEST

START_TEST(a_pool_that_its_agent_reports_offline_takes_no_replica) {
    autoarena struct arena *arena = arena_new();
    struct choice choice = { .arena = arena };
    struct replica_pool pools[] = { pool("a", "a", 900), pool("b", "b", 9) };
    struct replica_placement wanted = { .count = 1, .bytes = GIB };

    pools[0].state = "Offline";
    ck_assert_int_eq(choose(&choice, &wanted, pools, 2), 0);
    ck_assert_str_eq(names(&choice, 1), "b");
    ck_assert_str_eq(replica_placement_fault(&pools[0], GIB), "is offline");
}
END_TEST

START_TEST(pools_that_are_named_are_taken_and_no_others) {
    autoarena struct arena *arena = arena_new();
    struct choice choice = { .arena = arena };
    struct replica_pool pools[] = { pool("a", "n", 9), pool("b", "n", 900), pool("c", "n", 9) };
    const char *named[] = { "c", "a" };
    struct replica_placement wanted = {
        .count = 2, .bytes = GIB, .named = named, .named_count = 2
    };

    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), 0);
    ck_assert_str_eq(names(&choice, 2), "c a");
    wanted.count = 3;
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), -1);
    ck_assert_str_eq(choice.err.message, "2 pools are named for 3 replicas.");
    wanted.count = 2;
    pools[0].up = false;
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), -1);
    ck_assert_str_eq(choice.err.message,
                     "Pool a, which is named for a replica of 1Gi, is offline.");
    named[1] = "x";
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), -1);
    ck_assert_str_eq(choice.err.message,
                     "Pool x, which is named for a replica of 1Gi, does not exist.");
    named[1] = "c";
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), -1);
    ck_assert_str_eq(choice.err.message, "Pool c is named twice.");
}
END_TEST

START_TEST(a_clone_is_placed_on_pools_of_its_source) {
    autoarena struct arena *arena = arena_new();
    struct choice choice = { .arena = arena };
    const struct replica_pool pools[] = { pool("a", "a", 900), pool("b", "b", 9),
                                          pool("c", "c", 8) };
    const char *const source[] = { "b", "c" };
    const char *const named[] = { "a", "b" };
    struct replica_placement wanted = {
        .count = 2, .bytes = GIB, .of_source = source, .source_count = 2
    };

    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), 0);
    ck_assert_str_eq(names(&choice, 2), "b c");
    wanted.count = 3;
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), -1);
    ck_assert_str_eq(
        choice.err.message,
        "3 replicas need 3 pools, and 2 of 2 can be used: 0 are offline, 0 take no writes, 0 have too little space for 1Gi.");
    wanted.count = wanted.named_count = 2;
    wanted.named = named;
    ck_assert_int_eq(choose(&choice, &wanted, pools, LENGTH(pools)), -1);
    ck_assert_str_eq(choice.err.message,
                     "Pool a, which is named for a replica, has no replica of the source.");
}
END_TEST

CHECK_MAIN("replica_placement",
           each_replica_has_its_own_pool_on_other_nodes_first_then_by_free_space,
           the_pool_of_the_node_that_wants_it_comes_first,
           among_equals_a_seed_decides_and_always_the_same,
           too_few_usable_pools_are_reported_with_both_counts,
           a_pool_that_its_agent_reports_offline_takes_no_replica,
           pools_that_are_named_are_taken_and_no_others, a_clone_is_placed_on_pools_of_its_source)
