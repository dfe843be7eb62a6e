/*
 * Volumes that have lost the majority of their replicas: when an administrator's request for
 * forced recovery counts, and how long.
 */
#include "declared/volume_recovery.h"
#include "tests/lib/declared.h"

#define PUBLISH(node) "{\"publish\":{\"nodeId\":\"" node "\"}}"

static void change(struct work *work, const char *config, const char *patch) {
    struct error err = { 0 };

    ck_assert_msg(edit(work, config, patch, &err) == 0, "%s: %s", patch, err.message);
    settle(work, config);
}

static struct document replica_of(struct work *work, const char *config, unsigned i) {
    struct document *replicas = NULL;

    ck_assert_uint_lt(i, replicas_of(work, config, &replicas));
    return replicas[i];
}

/* A report of the volume's node: its state, that of its replicas, and more. */
static void report_state(struct work *work, const char *config, const char *phase,
                         const char *state, const char *first, const char *second,
                         const char *more) {
    struct document volume = volume_of(work, config);
    json_int_t epoch =
        json_integer_value(json_object_get(json_object_get(volume.body, "spec"), "epoch"));

    report(
        work, &volume,
        arena_format(work->arena,
                     "{\"phase\":\"%s\",\"capacity\":\"1Gi\",\"target\":{\"nodeId\":\"%s\","
                     "\"state\":\"%s\",\"epoch\":%jd},\"replicaStatuses\":[{\"replicaId\":\"%s\","
                     "\"mode\":\"%s\"},{\"replicaId\":\"%s\",\"mode\":\"%s\"}]%s}",
                     phase, volume.node, state, (intmax_t)epoch, replica_of(work, config, 0).id,
                     first, replica_of(work, config, 1).id, second, more));
    settle(work, config);
}

static void report_lost(struct work *work, const char *config) {
    report_state(work, config, "Offline", "Down", "Offline", "Degraded", "");
}

static void report_recovery(struct work *work, const char *config, int64_t number,
                            const char *phase, const char *more) {
    bool done = strcmp(phase, RECOVERY_PHASE_DONE) == 0;

    report_state(work, config, done ? "Degraded" : "Offline", done ? "Serving" : "Down", "Offline",
                 done ? "Healthy" : "Degraded",
                 arena_format(work->arena, ",\"salvage\":{\"number\":%jd,\"phase\":\"%s\"%s}",
                              (intmax_t)number, phase, more));
}

/* Its node finds the request possible, and a replica that was recovered by another. */
static void report_found(struct work *work, const char *config, int64_t number, int64_t found) {
    struct document volume = volume_of(work, config);

    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Offline\",\"capacity\":\"1Gi\",\"target\":{\"nodeId\":"
                        "\"%s\",\"state\":\"Down\",\"highestSalvage\":%jd},"
                        "\"salvage\":{\"number\":%jd,\"phase\":\"Able\"}}",
                        volume.node, (intmax_t)found, (intmax_t)number));
    settle(work, config);
}

static int64_t recovery_at(struct work *work, const char *config) {
    struct document volume = volume_of(work, config);

    return json_int_at(volume.body, "spec.salvage.number");
}

/* "db", on two pools of one node and published there. */
static const char *prepare(struct work *work) {
    const char *id;

    put_pool(work, "pool-a", "host-a", 900 * GIB);
    put_pool(work, "pool-b", "host-a", 800 * GIB);
    id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 2, ""));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    change(work, id, PUBLISH("host-a"));
    return id;
}

/* Its number. */
static int64_t recover(struct work *work, const char *config, unsigned i) {
    struct document replica = replica_of(work, config, i), volume;
    const struct recovery_request word = { 0 };
    struct error err = { 0 };

    ck_assert_msg(volume_recovery_request(work, &replica, &word, &volume, &err) == 0, "%s",
                  err.message);
    settle(work, config);
    return json_integer_value(json_object_get(
        json_object_get(json_object_get(volume.body, "spec"), "salvage"), "number"));
}

static void expect_refused(struct work *work, const char *config, unsigned i,
                           struct recovery_request word, const char *message) {
    struct document replica = replica_of(work, config, i), volume;
    int64_t before = last_version(work);
    struct error err = { 0 };

    ck_assert_int_eq(volume_recovery_request(work, &replica, &word, &volume, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_int_eq(last_version(work), before);
}

static void assert_nothing_pends(struct work *work, const char *config) {
    ck_assert_str_eq(volume_at(work, config, "spec.salvage"), "null");
    ck_assert_str_eq(conditions_at(work, config), "null");
}

WORK_TEST(forced_recovery_is_confirmed_when_the_node_finds_no_quorum) {
    const char *config = prepare(work);
    int64_t number;

    (void)err;
    report_lost(work, config);
    number = recover(work, config, 1);
    ck_assert_str_eq(volume_at(work, config, "spec.salvage"),
                     arena_format(work->arena, "{\"number\":%jd,\"replicaId\":\"%s\"}",
                                  (intmax_t)number, replica_of(work, config, 1).id));
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    ck_assert_ptr_nonnull(strstr(conditions_at(work, config), "recovery from replica db-pool-b"));
    ck_assert_int_eq(recover(work, config, 1), number); /* the same once more is nothing new */

    report_recovery(work, config, number, "Able", "");
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"),
                     arena_format(work->arena, "%jd", (intmax_t)number));
    report_lost(work, config);
    ck_assert_str_ne(volume_at(work, config, "spec.salvage"), "null");
    report_recovery(work, config, number, "Refused", ",\"reason\":\"Away\""); /* it stands */
    ck_assert_str_ne(volume_at(work, config, "spec.salvage"), "null");
    report_recovery(work, config, number, "Done", "");
    assert_nothing_pends(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"),
                     arena_format(work->arena, "%jd", (intmax_t)number));
    ck_assert(has_event(work, config, "Normal Salvaged 1"));

    report_lost(work, config); /* the next loss: the report about the last one is ignored */
    report_recovery(work, config, number, "Able", "");
    ck_assert_str_eq(volume_at(work, config, "status.salvage"), "null");
    assert_nothing_pends(work, config);
    report_lost(work, config);
    ck_assert_int_gt(recover(work, config, 1), number);
}

WORK_TEST(a_volume_with_a_quorum_refuses_forced_recovery) {
    const char *config = prepare(work);
    int64_t number;

    (void)err;
    expect_refused(work, config, 1, (struct recovery_request){ 0 },
                   "has not reported the replicas");
    report_state(work, config, "Healthy", "Serving", "Healthy", "Healthy", "");
    expect_refused(work, config, 1, (struct recovery_request){ 0 }, "is Healthy: nothing is lost");
    report_state(work, config, "Offline", "Levelling", "Offline", "Degraded", "");
    expect_refused(work, config, 1, (struct recovery_request){ 0 }, "are being resynchronized");

    report_state(work, config, "Degraded", "Serving", "Healthy", "Healthy",
                 ",\"scrub\":{\"damagedBlocks\":0,\"undecidedBlocks\":3}");
    ck_assert_int_gt(recover(work, config, 1), 0); /* reads of these fail, and none is chosen */
    change(work, config, PUBLISH(""));             /* and back: the request goes with the node */
    settle(work, config);
    report_stopped(work, config);
    settle(work, config);
    assert_nothing_pends(work, config);
    change(work, config, PUBLISH("host-a"));
    report_lost(work, config); /* and it has a quorum by the time its node reads the request */
    number = recover(work, config, 1);
    report_recovery(work, config, number - 1, "Able", "");
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    report_recovery(work, config, number, "Refused", ",\"reason\":\"HasVotes\"");
    assert_nothing_pends(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    ck_assert_str_eq(last_event(work, config),
                     "Warning SalvageRefused 1: No forced recovery from replica db-pool-b: the "
                     "volume can be served without that.");
    report_recovery(work, config, number, "Able", ""); /* a late report */
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    assert_nothing_pends(work, config);
}

/* A disk that a volume of two needs has failed: writes are not acknowledged. */
WORK_TEST(a_served_volume_may_have_lost_its_quorum) {
    const char *config = prepare(work);

    (void)err;
    report_state(work, config, "Degraded", "Serving", "Offline", "Healthy", "");
    expect_refused(work, config, 0, (struct recovery_request){ 0 }, "it is offline");
    ck_assert_int_gt(recover(work, config, 1), 0);
}

WORK_TEST(an_incomplete_replica_is_refused_at_once) {
    const char *config = prepare(work);

    (void)err;
    report_state(work, config, "Offline", "Down", "Offline", "NewReplicaDegraded", "");
    expect_refused(work, config, 0, (struct recovery_request){ 0 },
                   "No forced recovery from volume replica db-pool-a: it is offline");
    expect_refused(work, config, 1, (struct recovery_request){ 0 }, "was not rebuilt to its end");
    report_state(work, config, "Offline", "Down", "Offline", "Error", "");
    expect_refused(work, config, 1, (struct recovery_request){ 0 }, "damaged, or too short");
    report_lost(work, config);
    expect_refused(work, config, 1, (struct recovery_request){ .version = "1" },
                   "changed meanwhile");
}

WORK_TEST(forced_recovery_needs_the_volumes_own_node) {
    const char *config = prepare(work);
    int64_t number;

    (void)err;
    report_lost(work, config);
    number = recover(work, config, 1);
    change(work, config, PUBLISH("")); /* it goes with its node */
    assert_nothing_pends(work, config);
    report_recovery(work, config, number, "Able", "");
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    expect_refused(work, config, 1, (struct recovery_request){ 0 }, "publish its config first");
    report_stopped(work, config);
    settle(work, config);
    expect_refused(work, config, 1, (struct recovery_request){ 0 }, "publish its config first");

    change(work, config, PUBLISH("host-a")); /* the report of an earlier epoch does not count */
    expect_refused(work, config, 1, (struct recovery_request){ 0 },
                   "has not reported the replicas");
    report_lost(work, config);
    number = recover(work, config, 1);
    report_recovery(work, config, number, "Able", "");
    change(work, config, PUBLISH("")); /* a confirmed request holds on the next node, too */
    report_stopped(work, config);
    settle(work, config);
    ck_assert_str_ne(volume_at(work, config, "spec.salvage"), "null");
    change(work, config, PUBLISH("host-a"));
    report_recovery(work, config, number, "Done", "");
    assert_nothing_pends(work, config);
}

/* It may have its quorum again by now, and acknowledge writes: the request is not kept for a later
 * loss. */
WORK_TEST(no_forced_recovery_at_an_unresponsive_node) {
    const char *config = prepare(work);
    const int64_t long_us = (work->settings->replica_pool_down_s + 1) * SECOND_US;
    int64_t number;

    (void)err;
    report_lost(work, config);
    work->clock_us += long_us;
    expect_refused(work, config, 1, (struct recovery_request){ 0 }, "Node host-a does not respond");
    put_pool(work, "pool-a", "host-a", 900 * GIB);
    number = recover(work, config, 1);
    work->clock_us += long_us;
    settle(work, config);
    assert_nothing_pends(work, config);
    ck_assert(has_event(work, config,
                        "Warning SalvageRefused 1: No forced recovery from replica db-pool-b: the "
                        "volume's node does not report"));
    put_pool(work, "pool-a", "host-a", 900 * GIB);
    report_recovery(work, config, number, "Able", "");
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
}

WORK_TEST(another_replica_may_be_requested_instead) {
    const char *config = prepare(work);
    int64_t first, second;

    (void)err;
    report_state(work, config, "Offline", "Down", "Degraded", "Degraded", "");
    first = recover(work, config, 1);
    second = recover(work, config, 0);
    ck_assert_int_gt(second, first);
    report_state(work, config, "Offline", "Down", "Degraded", "Degraded",
                 arena_format(work->arena, ",\"salvage\":{\"number\":%jd,\"phase\":\"Able\"}",
                              (intmax_t)first));
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    report_recovery(work, config, second, "Able", "");
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"),
                     arena_format(work->arena, "%jd", (intmax_t)second));
}

/* The completion at its node was not reported, and the replica has lost its quorum again. */
WORK_TEST(a_confirmed_request_may_be_repeated) {
    const char *config = prepare(work);
    int64_t first, second;

    (void)err;
    report_lost(work, config);
    first = recover(work, config, 1);
    report_recovery(work, config, first, "Able", "");
    expect_refused(work, config, 1, (struct recovery_request){ .version = "1" },
                   "changed meanwhile");
    report_lost(work, config);
    second = recover(work, config, 1);
    ck_assert_int_gt(second, first);
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"),
                     arena_format(work->arena, "%jd", (intmax_t)first));
    report_recovery(work, config, second, "Able", "");
    report_recovery(work, config, second, "Done", "");
    assert_nothing_pends(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"),
                     arena_format(work->arena, "%jd", (intmax_t)second));
}

/* A database restored from a backup does not know the last recoveries, but replicas have their
 * numbers: the node would count those as recovered by this request. */
WORK_TEST(a_number_that_a_replica_has_is_not_given_again) {
    const char *config = prepare(work);
    int64_t number, next;

    (void)err;
    report_lost(work, config);
    number = recover(work, config, 1);
    report_found(work, config, number, number + 70);
    next = recovery_at(work, config);
    ck_assert_int_gt(next, number + 70);
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    ck_assert(has_event(work, config, "Warning SalvageRenumbered 1: "));
    report_found(work, config, number, number + 70); /* late */
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"), "null");
    ck_assert_int_eq(recovery_at(work, config), next);
    report_found(work, config, next, number + 70);
    ck_assert_str_eq(volume_at(work, config, "spec.salvaged"),
                     arena_format(work->arena, "%jd", (intmax_t)next));
}

/* Also of a replica that no node reports at that time. */
WORK_TEST(a_restored_database_gives_higher_numbers) {
    const char *config = prepare(work);
    struct document volume;
    int64_t number;

    (void)err;
    report_lost(work, config);
    volume = volume_of(work, config); /* as the backup has it */
    number = recover(work, config, 1);
    work->now_us += 3600 * SECOND_US;
    ck_assert_int_gt(volume_recovery_next(work, &volume), number);
}

CHECK_MAIN("reconcile recovery", forced_recovery_is_confirmed_when_the_node_finds_no_quorum,
           a_volume_with_a_quorum_refuses_forced_recovery, a_served_volume_may_have_lost_its_quorum,
           an_incomplete_replica_is_refused_at_once, forced_recovery_needs_the_volumes_own_node,
           no_forced_recovery_at_an_unresponsive_node, another_replica_may_be_requested_instead,
           a_confirmed_request_may_be_repeated, a_number_that_a_replica_has_is_not_given_again,
           a_restored_database_gives_higher_numbers)
