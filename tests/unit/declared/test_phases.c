/*
 * The tables of phases are complete, and each of their rows is reached by actions of clients,
 * nodes and the controller.
 */
#include "declared/phases.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "declared/volume_health.h"
#include "declared/volume_recovery.h"
#include "tests/lib/declared.h"
#include "tests/lib/state_tables.h"

#include <sys/mman.h>
#include <unistd.h>

START_TEST(each_table_is_sound) {
    struct error err = { 0 };

    for (const struct state_table *const *table = phase_tables; *table; table++)
        ck_assert_msg(state_table_check(*table, &err) == 0, "%s", err.message);
}
END_TEST

static void assert_all_reached(struct work *work, const struct state_table *table) {
    const char *row = state_table_unreached(table, work->arena);

    ck_assert_msg(row == NULL, "%s", row);
}

static void change(struct work *work, const char *config, const char *patch) {
    struct error err = { 0 };

    ck_assert_msg(edit(work, config, patch, &err) == 0, "%s: %s", patch, err.message);
}

static void changed(struct work *work, const char *config, const char *patch) {
    change(work, config, patch);
    settle(work, config);
}

static void publish(struct work *work, const char *config, const char *node) {
    changed(work, config, arena_format(work->arena, "{\"publish\":{\"nodeId\":\"%s\"}}", node));
}

static void put_status(struct work *work, const char *id, const char *status) {
    sql(work, "%s",
        arena_format(work->arena, "UPDATE documents SET status = '%s' WHERE id = '%s'", status,
                     id));
}

/* Bound, on `replicas` pools of their own nodes. */
static const char *bound(struct work *work, const char *name, unsigned replicas) {
    const char *id = declare(
        work, &kind_volume_config,
        arena_format(work->arena,
                     "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
                     "\"provision\":{\"replicaCount\":%u}}}",
                     name, replicas));

    settle(work, id);
    report_made(work, id);
    settle(work, id);
    return id;
}

/* ---- configs ---- */

#define WORKERS(count) "{\"spec\":{\"policy\":{\"target\":{\"luWorkers\":" #count "}}}}"

WORK_TEST(each_phase_of_a_config_is_reached) {
    const char *id, *lost;

    (void)err;
    put_pools(work, 4);
    id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 3, ",\"policy\":{}"));
    settle(work, id);
    change(work, id, WORKERS(7));
    report_made(work, id);
    settle(work, id);
    change(work, id, WORKERS(8));
    changed(work, id, WORKERS(9));
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    publish(work, id, "host-a");
    report_served(work, id, -1, NULL);
    settle(work, id);
    changed(work, id, WORKERS(10)); /* and its node has not applied it */
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Reconciling\"");
    report_served(work, id, -1, NULL);
    settle(work, id);
    sql(work, "UPDATE replica_pools SET draining = 1 WHERE name = 'pool-c'");
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Reconciling\"");

    lost = declare(work, &kind_volume_config, DECLARED("lost", "1Gi", 1, ",\"policy\":{}"));
    sql(work, "%s",
        arena_format(work->arena,
                     "UPDATE documents SET body = replace(body, '\"spec\":{', "
                     "'\"spec\":{\"cstorVolumeSource\":\"no@no\",') WHERE id = '%s'",
                     lost));
    settle(work, lost);
    ck_assert_str_eq(config_at(work, lost, "status.phase"), "\"Failed\"");
    change(work, lost, WORKERS(9));
    assert_all_reached(work, &config_states);
}

/* ---- volumes ---- */

static void found(struct work *work, const char *config, const struct state_row *row) {
    struct document volume = volume_of(work, config), after;
    const char *before = volume_phase_names[row->state];
    const char *now = volume_phase_names[row->event - VOLUME_FOUND];
    struct error err = { 0 };

    put_status(work, volume.id, arena_format(work->arena, "{\"phase\":\"%s\"}", before));
    volume = volume_of(work, config);
    ck_assert_msg(
        document_status_put(work, &volume, volume.node,
                            tree(work, arena_format(work->arena,
                                                    "{\"phase\":\"%s\",\"target\":{\"nodeId\":"
                                                    "\"host-a\",\"state\":\"Serving\"}}",
                                                    now)),
                            &after, &err) == 0,
        "%s", err.message);
    ck_assert_str_eq(json_text_of(after.status, "phase"), volume_phase_names[row->next]);
}

static void given(struct work *work, const char *config, const struct state_row *row) {
    put_status(work, volume_of(work, config).id, "{\"phase\":\"Init\"}"); /* not claimed */
    publish(work, config, "");
    put_status(work, volume_of(work, config).id,
               arena_format(work->arena, "{\"phase\":\"%s\"}", volume_phase_names[row->state]));
    publish(work, config, "host-a");
    ck_assert_str_eq(volume_at(work, config, "status.phase"), "\"Init\"");
}

/* For no other node, except at Init, where a volume published elsewhere is. */
static void taken(struct work *work, const struct state_row *row) {
    const char *next = row->state == VOLUME_IS_INIT ? "host-b" : "";
    const char *phase = volume_phase_names[row->state];
    const char *config = bound(work, arena_format(work->arena, "taken-%u", row->state), 3);
    struct document volume;

    publish(work, config, "host-a");
    report_served(work, config, -1, NULL);
    settle(work, config);
    volume = volume_of(work, config);
    json_object_set_new(volume.status, "phase", json_string(phase));
    put_status(work, volume.id, json_text(work->arena, volume.status));
    sql(work, "UPDATE replica_pools SET seen_at = seen_at - 100000000 WHERE node = 'host-a'");
    sql(work, "UPDATE replica_pools SET up_since = up_since - 200000000 WHERE node <> 'host-a'");
    sql(work, "UPDATE replica_pools SET address = node || ':1'");
    publish(work, config, next);
    ck_assert_pstr_eq(volume_of(work, config).node, *next ? next : NULL);
    ck_assert_str_eq(volume_at(work, config, "status.phase"), "\"Offline\"");
    put_pools(work, 3);
    publish(work, config, "");
}

WORK_TEST(each_phase_of_a_volume_is_reached) {
    const char *id;

    (void)err;
    put_pools(work, 3);
    id = bound(work, "db", 3);
    for (unsigned i = 0; i < volume_states.count; i++) {
        const struct state_row *row = &volume_states.rows[i];

        if (row->event == VOLUME_REVOKED) {
            taken(work, row);
            continue;
        }
        publish(work, id, "host-a");
        if (row->event == VOLUME_ASSIGNED)
            given(work, id, row);
        else
            found(work, id, row);
    }
    assert_all_reached(work, &volume_states);
}

/* ---- replicas ---- */

WORK_TEST(each_phase_of_a_replica_is_reached) {
    struct document *replicas = NULL, after;
    const char *id;

    put_pools(work, 3);
    id = bound(work, "db", 1);
    replicas_of(work, id, &replicas);
    /* Something else keeps the document. */
    sql(work, "%s",
        arena_format(work->arena,
                     "UPDATE documents SET deleted_at = 1, metadata = replace(metadata, "
                     "'\"finalizers\":[', '\"finalizers\":[\"other/one\",') WHERE id = '%s'",
                     replicas[0].id));
    for (unsigned i = 0; i < replica_states.count; i++) {
        const struct state_row *row = &replica_states.rows[i];
        const char *now = replica_phase_names[row->event];

        put_status(
            work, replicas[0].id,
            arena_format(work->arena, "{\"phase\":\"%s\"}", replica_phase_names[row->state]));
        replicas_of(work, id, &replicas);
        OK(document_status_put(work, &replicas[0], "host-a",
                               tree(work, arena_format(work->arena, "{\"phase\":\"%s\"}", now)),
                               &after, err));
        ck_assert_str_eq(json_text_of(after.status, "phase"), replica_phase_names[row->next]);
    }
    assert_all_reached(work, &replica_states);
}

/* ---- snapshots and reverts ---- */

#define TAKEN(phase)                                                                   \
    "{\"phase\":\"" phase "\",\"creationTime\":\"2026-01-01T00:00:00Z\",\"capacity\":" \
    "{\"storage\":\"1Gi\"}}"

/* So many replicas hold the snapshot, and the others do not. */
static void report_holders(struct work *work, const char *config, const char *uid,
                           unsigned holders) {
    struct document *replicas = NULL;
    unsigned count = replicas_of(work, config, &replicas);
    const char *row =
        arena_format(work->arena, "{\"uid\":\"%s\",\"phase\":\"Ready\",\"sizeBytes\":1}", uid);

    for (unsigned i = 0; i < count; i++)
        report(work, &replicas[i],
               arena_format(work->arena,
                            "{\"phase\":\"Healthy\",\"observedGeneration\":%jd,\"snapshots\":[%s]}",
                            (intmax_t)replicas[i].generation, i < holders ? row : ""));
    settle(work, config);
}

static const char *on_one_node(struct work *work) {
    put_pool(work, "pool-a", "host-a", 900 * GIB);
    put_pool(work, "pool-b", "host-a", 800 * GIB);
    put_pool(work, "pool-c", "host-a", 700 * GIB);
    return bound(work, "db", 3);
}

static const char *declare_snapshot(struct work *work) {
    return declare(work, &kind_volume_config_snapshot,
                   "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"volumeName\":\"db\"}}");
}

WORK_TEST(each_phase_of_a_snapshot_is_reached) {
    const char *id = on_one_node(work), *snapshot = declare_snapshot(work);

    (void)err;
    settle(work, id);
    put_status(work, snapshot, TAKEN("Pending"));
    settle(work, id); /* no replica has reported it */
    report_holders(work, id, snapshot, 3);
    settle(work, id);
    report_holders(work, id, snapshot, 1);
    report_holders(work, id, snapshot, 1); /* and have been requested to copy it */
    report_holders(work, id, snapshot, 0);
    report_holders(work, id, snapshot, 0);
    put_status(work, snapshot, TAKEN("Pending"));
    settle(work, id);
    report_holders(work, id, snapshot, 0);
    assert_all_reached(work, &snapshot_states);
}

#define REVERT(request) \
    "{\"spec\":{\"revert\":{\"snapshotName\":\"s\",\"request\":\"" request "\"}}}"

WORK_TEST(each_step_of_a_revert_is_reached) {
    const char *id = on_one_node(work), *snapshot = declare_snapshot(work);
    struct document volume;

    (void)err;
    settle(work, id);
    put_status(work, snapshot, TAKEN("Ready"));
    report_holders(work, id, snapshot, 3);
    changed(work, id, REVERT("1"));
    changed(work, id, REVERT("2"));
    put_status(work, snapshot, TAKEN("Failed"));
    settle(work, id);
    put_status(work, snapshot, TAKEN("Ready"));
    settle(work, id);
    volume = volume_of(work, id);
    report(work, &volume,
           "{\"phase\":\"Healthy\",\"revert\":{\"number\":2,\"attempt\":1,\"phase\":\"Done\"}}");
    settle(work, id);
    changed(work, id, REVERT("3"));
    assert_all_reached(work, &revert_states);
}

/* ---- forced recovery ---- */

struct recovery {
    struct work *work;
    const char *config;
    uint64_t seed;
    int64_t able;      /* the last number that its node has reported Able */
    int64_t confirmed; /* the last one that is confirmed */
};

static unsigned draw(struct recovery *walk, unsigned below) {
    uint64_t value = walk->seed += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((value ^ (value >> 31)) % below);
}

static int64_t number_at(struct recovery *walk, const char *path) {
    return strtoll(volume_at(walk->work, walk->config, path), NULL, 10);
}

/* Its node reports that too few replicas are left, and perhaps the state of the request. */
static void node_reports(struct recovery *walk) {
    static const char *const phases[] = { "", "Able", "Refused", "Done" };
    const char *phase = phases[draw(walk, LENGTH(phases))], *reported = "";
    struct document volume = volume_of(walk->work, walk->config), *replicas = NULL;
    struct arena *arena = walk->work->arena;
    int64_t number = number_at(walk, "spec.salvage.number") - (draw(walk, 4) == 0);

    if (!volume.node)
        return;
    replicas_of(walk->work, walk->config, &replicas);
    if (*phase && number > 0) {
        reported = arena_format(arena, ",\"salvage\":{\"number\":%jd,\"phase\":\"%s\"%s}",
                                (intmax_t)number, phase,
                                strcmp(phase, "Refused") == 0 ? ",\"reason\":\"HasVotes\"" : "");
        if (strcmp(phase, "Able") == 0)
            walk->able = number;
    }
    report(walk->work, &volume,
           arena_format(arena,
                        "{\"phase\":\"Offline\",\"capacity\":\"1Gi\",\"observedGeneration\":%jd,"
                        "\"target\":{\"nodeId\":\"%s\",\"state\":\"Down\"},\"replicaStatuses\":["
                        "{\"replicaId\":\"%s\",\"mode\":\"Degraded\"},"
                        "{\"replicaId\":\"%s\",\"mode\":\"Degraded\"}]%s}",
                        (intmax_t)volume.generation, volume.node, replicas[0].id, replicas[1].id,
                        reported));
}

static void node_stops(struct recovery *walk) {
    if (volume_of(walk->work, walk->config).node)
        report_stopped(walk->work, walk->config);
}

static void administrator_requests(struct recovery *walk) {
    const struct recovery_request word = { .stopped = "host-a" };
    struct document *replicas = NULL, volume;
    struct error err = { 0 };

    replicas_of(walk->work, walk->config, &replicas);
    (void)volume_recovery_request(walk->work, &replicas[draw(walk, 2)], &word, &volume, &err);
}

static void client_publishes(struct recovery *walk) {
    struct error err = { 0 };

    (void)edit(walk->work, walk->config,
               draw(walk, 3) == 0 ? "{\"publish\":{\"nodeId\":\"\"}}"
                                  : "{\"publish\":{\"nodeId\":\"host-a\"}}",
               &err);
}

static void pools_are_seen(struct recovery *walk) {
    if (draw(walk, 4) == 0)
        sql(walk->work, "UPDATE replica_pools SET seen_at = seen_at - 40000000");
    else {
        put_pool(walk->work, "pool-a", "host-a", 900 * GIB);
        put_pool(walk->work, "pool-b", "host-a", 800 * GIB);
    }
}

/* A confirmed request was reported Able under that number, and is never withdrawn. */
static void check_recovery(struct recovery *walk) {
    int64_t confirmed = number_at(walk, "spec.salvaged");
    bool is_open = strcmp(volume_at(walk->work, walk->config, "spec.salvage"), "null") != 0;
    const char *conditions = conditions_at(walk->work, walk->config);

    ck_assert_int_ge(confirmed, walk->confirmed);
    if (confirmed > walk->confirmed)
        ck_assert_int_eq(confirmed, walk->able);
    walk->confirmed = confirmed;
    ck_assert_msg(is_open == (strstr(conditions, "\"Salvaging\"") != NULL), "%s", conditions);
}

WORK_TEST(whatever_happens_a_forced_recovery_is_confirmed_by_its_node_alone) {
    static void (*const acts[])(struct recovery *) = { node_reports,     node_reports,
                                                       node_reports,     administrator_requests,
                                                       client_publishes, pools_are_seen,
                                                       node_stops };
    struct recovery walk = { .work = work, .seed = 1 };

    (void)err;
    put_pool(work, "pool-a", "host-a", 900 * GIB);
    put_pool(work, "pool-b", "host-a", 800 * GIB);
    walk.config = bound(work, "db", 2);
    publish(work, walk.config, "host-a");
    for (unsigned i = 0; i < 3000; i++) {
        acts[draw(&walk, LENGTH(acts))](&walk);
        if (draw(&walk, 3) > 0) {
            settle(work, walk.config);
            check_recovery(&walk);
        }
    }
    ck_assert_int_gt(walk.confirmed, 0);
    assert_all_reached(work, &recovery_states);
}

static unsigned lines_with(int log, const char *text) {
    char lines[16384] = { 0 };
    unsigned count = 0;

    ck_assert_int_ge(pread(log, lines, sizeof lines - 1, 0), 0);
    for (const char *at = lines; (at = strstr(at, text)); at++)
        count++;
    return count;
}

/* A storage agent may report anything, at any rate. */
WORK_TEST(a_reported_phase_without_a_row_is_refused_and_logged_once_a_minute) {
    autoclose int log = memfd_create("log", MFD_CLOEXEC);
    const char *config;
    struct document *replicas = NULL;

    (void)err;
    put_pools(work, 1);
    config = bound(work, "db", 1);
    ck_assert_uint_eq(replicas_of(work, config, &replicas), 1);
    sql(work, "UPDATE documents SET status = '{\"phase\":\"DeletionFailed\"}' "
              "WHERE kind = 'CStorVolumeReplica'");
    log_open(log, LOG_INFO, LOG_TEXT);
    for (unsigned i = 0; i < 100; i++) {
        replicas_of(work, config, &replicas);
        report(work, &replicas[0], i % 2 ? "{\"phase\":\"Healthy\"}" : "{\"phase\":\"Init\"}");
    }
    log_open(-1, LOG_ERROR, LOG_TEXT);
    replicas_of(work, config, &replicas);
    ck_assert_str_eq(json_text_of(replicas[0].status, "phase"), "DeletionFailed");
    ck_assert_uint_eq(lines_with(log, "reported phase refused"), 1);
    ck_assert_uint_eq(lines_with(log, replicas[0].id), 1);
}

CHECK_MAIN("phases", each_table_is_sound,
           a_reported_phase_without_a_row_is_refused_and_logged_once_a_minute,
           each_phase_of_a_config_is_reached, each_phase_of_a_volume_is_reached,
           each_phase_of_a_replica_is_reached, each_phase_of_a_snapshot_is_reached,
           each_step_of_a_revert_is_reached,
           whatever_happens_a_forced_recovery_is_confirmed_by_its_node_alone)
