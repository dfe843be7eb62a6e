#include "common/cleanup.h"
#include "declared/volume_health.h"
#include "tests/lib/check_main.h"

#include <check.h>
#include <string.h>

#define REPLICAS 3

struct tally {
    unsigned cases, available[2];
};

static bool is(const struct condition *condition, const char *status) {
    return strcmp(condition->status, status) == 0;
}

/* Invariants for any facts. */
static void check_health(const struct volume_facts *facts, const struct volume_health *health) {
    const struct condition *const all[] = { &health->available, &health->redundant,
                                            &health->rebuilding, &health->near_full };

    for (size_t i = 0; i < LENGTH(all); i++) {
        ck_assert_str_ne(all[i]->reason, "");
        ck_assert_str_ne(all[i]->message, "");
        ck_assert(is(all[i], "True") || is(all[i], "False") || is(all[i], "Unknown"));
    }
    if (facts->has_node && facts->is_unresponsive) {
        ck_assert(is(&health->available, "Unknown") && is(&health->redundant, "Unknown"));
        return;
    }
    if (health->phase == VOLUME_IS_HEALTHY) {
        unsigned good = facts->has_node && facts->is_serving ? facts->in_sync : facts->present;

        ck_assert_msg(!(facts->has_node && facts->is_assigned) || facts->is_serving,
                      "Healthy before it is served");
        ck_assert_msg(facts->has_node || good == REPLICAS, "Healthy with a pool that is offline");
        ck_assert_msg(!(facts->has_node && facts->is_serving && facts->is_listed) ||
                          (good == REPLICAS && facts->undecided == 0),
                      "Healthy with a replica that is out of sync");
    }
    if (facts->is_wanted && health->phase >= VOLUME_IS_OFFLINE)
        ck_assert(!is(&health->available, "True"));
    if (facts->is_wanted && !(facts->has_node && facts->is_serving))
        ck_assert(is(&health->available, "False"));
    if (!facts->has_node && facts->present < facts->needed) {
        ck_assert_int_ge(health->phase, VOLUME_IS_OFFLINE);
        ck_assert(is(&health->available, "False"));
    }
    ck_assert(!is(&health->redundant, "True") || health->phase != VOLUME_IS_DEGRADED ||
              facts->reached == VOLUME_IS_DEGRADED);
}

static void check_facts(struct arena *arena, const struct volume_facts *facts,
                        struct tally *tally) {
    struct volume_health health = volume_health_of(arena, facts);

    check_health(facts, &health);
    tally->cases++;
    tally->available[is(&health.available, "True")]++;
}

/* Each combination of reports of a node and of pools. */
START_TEST(no_phase_and_no_condition_contradicts_the_facts) {
    autoarena struct arena *arena = arena_new();
    struct tally tally = { 0 };

    for (unsigned bits = 0; bits < 1u << 8; bits++)
        for (unsigned reached = 0; reached < VOLUME_PHASES; reached++)
            for (unsigned in_sync = 0; in_sync <= REPLICAS; in_sync++)
                for (unsigned present = 0; present <= REPLICAS; present++) {
                    struct volume_facts facts = {
                        .needed = 2,
                        .reached = reached,
                        .is_wanted = bits & 1,
                        .has_node = bits & 2,
                        .is_unresponsive = bits & 4,
                        .is_serving = bits & 8,
                        .is_assigned = bits & 128,
                        .is_listed = bits & 16,
                        .undecided = bits & 32 ? 7 : 0,
                        .listed = REPLICAS,
                        .in_sync = in_sync,
                        .replicas = REPLICAS,
                        .present = present,
                        .counted = REPLICAS,
                        .counted_in_sync = in_sync,
                        .rebuilt = bits & 64 ? "r" : NULL,
                    };

                    check_facts(arena, &facts, &tally);
                    arena_reset(arena);
                }
    ck_assert_uint_gt(tally.available[0], 0);
    ck_assert_uint_gt(tally.available[1], 0);
}
END_TEST

START_TEST(a_volume_of_one_replica_is_not_redundant_and_that_is_no_warning) {
    autoarena struct arena *arena = arena_new();
    const struct volume_facts facts = { .needed = 1, .replicas = 1, .present = 1 };
    struct volume_health health = volume_health_of(arena, &facts);

    ck_assert_str_eq(health.redundant.reason, "SingleReplica");
    ck_assert(volume_condition_is_good(&health.redundant));
    ck_assert_int_eq(health.phase, VOLUME_IS_INIT);
}
END_TEST

START_TEST(a_volume_last_offline_is_not_reported_as_available) {
    autoarena struct arena *arena = arena_new();
    const struct volume_facts facts = {
        .needed = 2, .replicas = 3, .present = 3, .reached = VOLUME_IS_OFFLINE
    };
    struct volume_health health = volume_health_of(arena, &facts);

    ck_assert_str_eq(health.available.status, "Unknown");
    ck_assert_int_eq(health.phase, VOLUME_IS_OFFLINE);
}
END_TEST

CHECK_MAIN("volume_health", no_phase_and_no_condition_contradicts_the_facts,
           a_volume_of_one_replica_is_not_redundant_and_that_is_no_warning,
           a_volume_last_offline_is_not_reported_as_available)
