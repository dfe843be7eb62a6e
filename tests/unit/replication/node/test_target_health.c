#include "replication/node/target_health.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <string.h>

static bool is(const char *text, const char *other) {
    return strcmp(text, other) == 0;
}

/* ---- every combination ---- */

enum { REPLICA_BITS = 10, HEALTHS = REPLICA_FAILING + 1 };

static struct replica_facts replica_of(unsigned bits, enum replica_health health) {
    return (struct replica_facts){
        .uid = "r",
        .votes = bits & 1,
        .unresponsive = bits & 2,
        .rebuilding = bits & 4,
        .empty = bits & 8,
        .failure = bits & 16 ? "a write failed" : NULL,
        .flaw = bits & 32 ? "no such file" : NULL,
        .rebuild_failure = bits & 64 ? "the copy failed" : NULL,
        .has_retries = bits & 128,
        .lacks_space = bits & 256,
        .resumed = bits & 512,
        .health = health,
    };
}

static void assert_replica(const struct replica_facts *facts, const struct health *health) {
    bool in_sync = facts->votes && !facts->failure && !facts->unresponsive && !facts->resumed;

    ck_assert_str_ne(health->message, "");
    ck_assert_int_eq(is(health->phase, "Healthy"), in_sync);
    ck_assert(!in_sync || is(health->message, "The replica is in sync."));
    ck_assert(!is(health->phase, "Rebuilding") || facts->rebuilding);
    ck_assert_int_eq(health->reason != NULL,
                     (!facts->votes || facts->failure) && facts->has_retries);
}

START_TEST(no_replica_is_healthy_that_is_not_in_sync_and_none_is_without_a_message) {
    autoarena struct arena *arena = arena_new();

    for (unsigned bits = 0; bits < 1U << REPLICA_BITS; bits++)
        for (unsigned health = 0; health < HEALTHS; health++) {
            struct target_facts facts = { .serves = true, .needed = 1, .count = 1 };
            struct target_health got;

            facts.replicas[0] = replica_of(bits, health);
            got = target_health_of(arena, &facts);
            assert_replica(&facts.replicas[0], &got.replicas[0]);
        }
}
END_TEST

START_TEST(each_replica_has_its_health_while_one_of_the_most_is_replaced) {
    autoarena struct arena *arena = arena_new();
    struct target_status status = { .state = TARGET_SERVING,
                                    .needed = REPLICAS_MOST / 2 + 1,
                                    .count = MEMBERS_MOST,
                                    .job = TARGET_REBUILD,
                                    .job_replica = "new" };
    struct target_facts facts;
    struct target_health got;

    for (unsigned i = 0; i < MEMBERS_MOST; i++)
        status.replicas[i] =
            (struct target_replica){ .replica.uid = i < REPLICAS_MOST ? "old" : "new",
                                     .votes = i < REPLICAS_MOST };
    target_facts_read(&status, &facts);
    got = target_health_of(arena, &facts);
    for (unsigned i = 0; i < REPLICAS_MOST; i++)
        ck_assert_str_eq(got.replicas[i].phase, "Healthy");
    ck_assert_str_eq(got.replicas[REPLICAS_MOST].phase, "Rebuilding");
    ck_assert_str_eq(got.volume.phase, "Degraded");
}
END_TEST

/* In sync, failed, not voting, in an unresponsive pool, rebuilding. */
static const unsigned kinds[] = { 1, 1 + 16, 0, 1 + 2, 4 };

static struct target_facts volume_of(unsigned number) {
    struct target_facts facts = { .count = 1 + number % 3 };

    number /= 3;
    for (unsigned i = 0; i < 3; i++, number /= LENGTH(kinds))
        facts.replicas[i] = replica_of(kinds[number % LENGTH(kinds)], REPLICA_GOOD);
    facts.needed = facts.count / 2 + 1;
    facts.serves = number & 1;
    facts.was_served = number & 2;
    facts.undecided = number & 4 ? 3 : 0;
    facts.resynchronizing = number & 8;
    facts.reverting = number & 16;
    facts.trouble = number & 32 ? "no listener" : NULL;
    return facts;
}

static unsigned count_in_sync(const struct target_facts *facts,
                              const struct target_health *health) {
    unsigned count = 0;

    for (unsigned i = 0; i < facts->count; i++)
        count += is(health->replicas[i].phase, "Healthy");
    return count;
}

static unsigned count_answering(const struct target_facts *facts) {
    unsigned count = 0;

    for (unsigned i = 0; i < facts->count; i++)
        count += facts->replicas[i].votes && !facts->replicas[i].unresponsive;
    return count;
}

static void assert_volume(const struct target_facts *facts, const struct target_health *health) {
    const char *phase = health->volume.phase;
    unsigned in_sync = count_in_sync(facts, health);
    bool whole = facts->serves && in_sync == facts->count && facts->undecided == 0;

    ck_assert_str_ne(health->volume.message, "");
    ck_assert_int_eq(is(phase, "Healthy"), whole);
    ck_assert_int_eq(is(phase, "Init"), !facts->serves && !facts->was_served && !facts->trouble);
    ck_assert(!is(phase, "Degraded") || in_sync < facts->count || facts->undecided > 0);
    ck_assert(!is(phase, "Degraded") || facts->serves);
    ck_assert(facts->serves || is(phase, "Init") || is(phase, "Offline"));
    if (is(phase, "Offline") && facts->serves)
        ck_assert_uint_lt(count_answering(facts), facts->needed);
    ck_assert(!facts->trouble || is(health->volume.message, facts->trouble));
}

START_TEST(the_phase_of_a_volume_never_contradicts_its_replicas) {
    autoarena struct arena *arena = arena_new();

    for (unsigned number = 0; number < 3 * 5 * 5 * 5 * 64; number++) {
        const struct target_facts facts = volume_of(number);
        const struct target_health health = target_health_of(arena, &facts);

        assert_volume(&facts, &health);
    }
}
END_TEST

/* ---- messages ---- */

START_TEST(a_degraded_volume_names_its_replica_and_why) {
    autoarena struct arena *arena = arena_new();
    struct target_facts facts = { .serves = true, .needed = 2, .count = 3 };
    struct target_health health;

    for (unsigned i = 0; i < 3; i++)
        facts.replicas[i] = replica_of(1, REPLICA_GOOD);
    health = target_health_of(arena, &facts);
    ck_assert_str_eq(health.volume.message, "All 3 replicas are in sync.");
    facts.replicas[1] = replica_of(1 + 16, REPLICA_GOOD);
    health = target_health_of(arena, &facts);
    ck_assert_str_eq(health.volume.phase, "Degraded");
    ck_assert_str_eq(health.volume.message,
                     "2 of 3 replicas are in sync. Replica r: a write failed");
    facts.replicas[1] = replica_of(32, REPLICA_GONE);
    health = target_health_of(arena, &facts);
    ck_assert_str_eq(health.replicas[1].phase, "Offline");
    ck_assert_str_eq(health.replicas[1].message, "no such file");
}
END_TEST

START_TEST(a_volume_that_waits_for_its_pools_is_offline_and_its_replicas_too) {
    autoarena struct arena *arena = arena_new();
    struct target_facts facts = { .serves = true, .needed = 2, .count = 3 };
    struct target_health health;

    facts.replicas[0] = replica_of(1, REPLICA_GOOD);
    facts.replicas[1] = facts.replicas[2] = replica_of(1 + 2, REPLICA_GOOD);
    health = target_health_of(arena, &facts);
    ck_assert_str_eq(health.volume.phase, "Offline");
    ck_assert_str_eq(health.replicas[0].phase, "Healthy");
    ck_assert_str_eq(health.replicas[1].phase, "Offline");
    ck_assert_str_eq(health.volume.message,
                     "1 of 3 replicas are in sync. Replica r: The replica's pool does not answer.");
}
END_TEST

START_TEST(a_rebuild_that_failed_has_a_reason) {
    autoarena struct arena *arena = arena_new();
    struct target_facts facts = { .serves = true, .needed = 1, .count = 2 };
    struct target_health health;

    facts.replicas[0] = replica_of(1, REPLICA_GOOD);
    facts.replicas[1] = replica_of(8 + 64 + 128 + 256, REPLICA_GOOD);
    health = target_health_of(arena, &facts);
    ck_assert_str_eq(health.replicas[1].phase, "NewReplicaDegraded");
    ck_assert_str_eq(health.replicas[1].reason, "NoSpace");
    ck_assert_str_eq(health.replicas[1].message, "the copy failed");
}
END_TEST

CHECK_MAIN("target health", no_replica_is_healthy_that_is_not_in_sync_and_none_is_without_a_message,
           each_replica_has_its_health_while_one_of_the_most_is_replaced,
           the_phase_of_a_volume_never_contradicts_its_replicas,
           a_degraded_volume_names_its_replica_and_why,
           a_volume_that_waits_for_its_pools_is_offline_and_its_replicas_too,
           a_rebuild_that_failed_has_a_reason)
