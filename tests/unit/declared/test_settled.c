#include "declared/settled.h"

#include "tests/lib/check_main.h"

START_TEST(only_evaluated_configs_are_settled) {
    struct settled *settled = settled_new();

    settled_put(settled, 5, false);
    ck_assert(!settled_meet(settled, 5, 1));
    settled_put(settled, 5, true);
    settled_put(settled, 9, true);
    settled_put(settled, 7, true);
    ck_assert(settled_meet(settled, 5, 1));
    ck_assert(settled_meet(settled, 7, 1));
    ck_assert(settled_meet(settled, 9, 1));
    ck_assert(!settled_meet(settled, 6, 1));
    settled_put(settled, 7, false);
    ck_assert(!settled_meet(settled, 7, 1));
    ck_assert(settled_meet(settled, 9, 1));
    settled_clear(settled);
    ck_assert(!settled_meet(settled, 9, 1));
    settled_free(settled);
}
END_TEST

START_TEST(a_version_that_a_walk_has_not_met_is_forgotten) {
    struct settled *settled = settled_new();

    for (int64_t version = 1; version <= 1000; version++)
        settled_put(settled, version, true);
    for (int64_t version = 1; version <= 900; version += 2)
        settled_meet(settled, version, 1);
    settled_prune(settled, 900, 1);
    for (int64_t version = 1; version <= 1000; version++)
        ck_assert_int_eq(settled_meet(settled, version, 2), version > 900 || version % 2 == 1);
    settled_free(settled);
}
END_TEST

/* One that is found settled while a walk runs is not taken for one that the walk has missed. */
START_TEST(a_version_that_comes_during_a_walk_stays) {
    struct settled *settled = settled_new();

    settled_put(settled, 3, true);
    settled_meet(settled, 3, 7);
    settled_put(settled, 1, true);
    settled_prune(settled, 3, 7);
    ck_assert(settled_meet(settled, 1, 8));
    settled_free(settled);
}
END_TEST

START_TEST(no_more_are_remembered_than_memory_is_for) {
    struct settled *settled = settled_new();

    for (int64_t version = 1; version <= SETTLED_KEPT + 10; version++)
        settled_put(settled, version, true);
    ck_assert(settled_meet(settled, SETTLED_KEPT, 1));
    ck_assert(!settled_meet(settled, SETTLED_KEPT + 1, 1));
    settled_free(settled);
}
END_TEST

CHECK_MAIN("settled", only_evaluated_configs_are_settled,
           a_version_that_a_walk_has_not_met_is_forgotten, a_version_that_comes_during_a_walk_stays,
           no_more_are_remembered_than_memory_is_for)
