/*
 * Snapshots and clones: the steps of the controller with reporting nodes.
 */
#include "declared/changes.h"
#include "declared/document_store.h"
#include "tests/lib/declared.h"

#define SNAPSHOT(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"volumeName\":\"db\"}}"

/* "db", Bound on three pools of three nodes; `pools` of one node when `near`. */
static const char *bound(struct work *work, bool near) {
    const char *id;

    for (unsigned i = 0; i < 3; i++)
        put_pool(work, arena_format(work->arena, "pool-%c", 'a' + i),
                 near ? "host-a" : arena_format(work->arena, "host-%c", 'a' + i),
                 (900 - 10 * i) * GIB);
    id = declare(
        work, &kind_volume_config,
        DECLARED("db", "1Gi", 3, POOLS(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c"))));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    return id;
}

static const char *publish(struct work *work, const char *config, const char *node) {
    struct error err = { 0 };

    ck_assert_int_eq(edit(work, config,
                          arena_format(work->arena, "{\"publish\":{\"nodeId\":\"%s\"}}", node),
                          &err),
                     0);
    settle(work, config);
    return config;
}

static const char *shoot(struct work *work, const char *text) {
    return declare(work, &kind_volume_config_snapshot, text);
}

static const char *snapshot_at(struct work *work, const char *id, const char *path) {
    struct document snapshot = document_of(work, &kind_volume_config_snapshot, id);

    return at(work, &snapshot, path);
}

/* The volume's node reports the snapshot as taken, or why it is not. */
static void report_taken(struct work *work, const char *config, const char *id, const char *why) {
    struct document volume = volume_of(work, config);
    const char *how = why ? arena_format(work->arena, "\"Pending\",\"message\":\"%s\"", why)
                          : "\"Ready\",\"sizeBytes\":1073741824";

    report(work, &volume,
           arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"1Gi\",\"observedGeneration\":%jd,"
                        "\"target\":{\"nodeId\":\"%s\",\"state\":\"Serving\"},"
                        "\"snapshots\":[{\"uid\":\"%s\",\"phase\":%s}]}",
                        (intmax_t)volume.generation, volume.node, id, how));
}

/* The replica on that pool reports that it holds the snapshot, or does not; NULL: it reports no
 * snapshots. */
static void report_holds(struct work *work, const char *config, unsigned which, const char *id,
                         const char *phase) {
    struct document *replicas = NULL;
    const char *list = "";

    ck_assert_uint_gt(replicas_of(work, config, &replicas), which);
    if (phase)
        list = *phase
                   ? arena_format(work->arena, ",\"snapshots\":[{\"uid\":\"%s\",\"phase\":\"%s\"}]",
                                  id, phase)
                   : ",\"snapshots\":[]";
    report(work, &replicas[which],
           arena_format(work->arena, "{\"phase\":\"Healthy\",\"observedGeneration\":%jd%s}",
                        (intmax_t)replicas[which].generation, list));
}

static const char *replica_at(struct work *work, const char *config, unsigned which,
                              const char *path) {
    struct document *replicas = NULL;

    ck_assert_uint_gt(replicas_of(work, config, &replicas), which);
    return at(work, &replicas[which], path);
}

static const char *replica_id(struct work *work, const char *config, unsigned which) {
    struct document *replicas = NULL;

    ck_assert_uint_gt(replicas_of(work, config, &replicas), which);
    return replicas[which].id;
}

/* A snapshot of "db" that all three hold. */
static const char *ready(struct work *work, const char *config, const char *text) {
    const char *id = shoot(work, text);

    settle(work, config);
    report_taken(work, config, id, NULL);
    settle(work, config);
    for (unsigned i = 0; i < 3; i++)
        report_holds(work, config, i, id, "Ready");
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Ready\"");
    return id;
}

static void delete_snapshot(struct work *work, const struct document_kind *kind, const char *id) {
    struct document document = document_of(work, kind, id), after;
    struct error err = { 0 };

    ck_assert_msg(document_delete(work, &document, false, &after, &err) == 0, "%s", err.message);
}

static unsigned rows(struct work *work, const struct document_kind *kind) {
    const struct db_value values[] = { DB_TEXT(kind->name) };
    const struct query query = {
        .where = "d.kind = $1", .values = values, .value_count = 1, .limit = 100
    };
    struct document *found = NULL;
    struct error err = { 0 };

    return (unsigned)document_list(work, &query, &found, &err);
}

WORK_TEST(a_snapshot_is_taken_once_and_ready_when_most_hold_it) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = shoot(work, SNAPSHOT("s"));

    (void)err;
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.snapshots"),
                     arena_format(work->arena, "[{\"uid\":\"%s\",\"name\":\"s\"}]", id));
    ck_assert_str_eq(replica_at(work, config, 0, "spec.snapshots"), "null");
    report_taken(work, config, id, NULL);
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.snapshots"), "null");
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Pending\"");
    ck_assert_str_eq(snapshot_at(work, id, "status.capacity.storage"), "\"1Gi\"");
    ck_assert_str_ne(snapshot_at(work, id, "status.creationTime"), "null");
    report_holds(work, config, 0, id, "Ready");
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Pending\"");
    report_holds(work, config, 2, id, "Ready");
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Ready\"");
    ck_assert_str_eq(snapshot_at(work, id, "status.poolInfo"), "[\"pool-a\",\"pool-c\"]");
    ck_assert_str_eq(snapshot_at(work, id, "status.pendingPoolInfo"), "[\"pool-b\"]");
    ck_assert_str_eq(last_event(work, config), "Normal SnapshotReady 1: Snapshot s is ready.");
    report_taken(work, config, id, NULL); /* a late report of before */
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.snapshots"), "null");
}

WORK_TEST(a_failed_snapshot_is_reported_and_retried) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = shoot(work, SNAPSHOT("s"));

    (void)err;
    settle(work, config);
    report_taken(work, config, id, "/srv/pool-a: No space left on device");
    settle(work, config);
    ck_assert(has_event(
        work, config,
        "Warning SnapshotFailed 1: Node host-a could not take snapshot s: no space is left "
        "on its pools, and retries."));
    report_taken(work, config, id, "/srv/pool-a: Input/output error");
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.message"),
                     "\"Node host-a could not take snapshot s, and retries.\"");
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Pending\"");
    ck_assert_str_ne(volume_at(work, config, "spec.snapshots"), "null");
    report_taken(work, config, id, NULL);
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.message"), "null");
}

WORK_TEST(an_unpublished_volume_is_served_for_a_snapshot_and_released) {
    const char *config = bound(work, false), *id = shoot(work, SNAPSHOT("s"));

    (void)err;
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"host-a\"");
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "false");
    ck_assert_str_eq(config_at(work, config, "publish"), "{}");
    report_taken(work, config, id, NULL);
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"\"");
    ck_assert_ptr_nonnull(volume_of(work, config).node);
    report_stopped(work, config);
    settle(work, config);
    ck_assert_ptr_null(volume_of(work, config).node);
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "true");
}

WORK_TEST(a_publishing_node_gets_the_volume_and_takes_the_snapshot) {
    const char *config = bound(work, false), *id = shoot(work, SNAPSHOT("s"));

    (void)err;
    settle(work, config);
    report_served(work, config, -1, NULL);
    publish(work, config, "host-b");
    ck_assert_str_eq(volume_of(work, config).node, "host-a");
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"\"");
    report_stopped(work, config);
    settle(work, config);
    ck_assert_str_eq(volume_of(work, config).node, "host-b");
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "true");
    ck_assert_str_ne(volume_at(work, config, "spec.snapshots"), "null");
    report_taken(work, config, id, NULL);
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"host-b\"");
}

WORK_TEST(the_same_node_admits_clients_when_it_is_published_there) {
    const char *config = bound(work, false);

    (void)err;
    shoot(work, SNAPSHOT("s"));
    settle(work, config);
    publish(work, config, "host-a");
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "true");
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"host-a\"");
}

/* Reports of pools a, b and c with their addresses; `nodes`: the node of each, '-': no report. */
static void put_reached(struct work *work, const char *nodes) {
    struct error err = { 0 };
    struct replica_pool pool;

    for (unsigned i = 0; i < 3; i++) {
        const char *node = arena_format(work->arena, "host-%c", nodes[i]);
        struct replica_pool said = { .id = arena_format(work->arena, "pool-%c", 'a' + i),
                                     .node = node,
                                     .path = "/pool",
                                     .address = arena_join(work->arena, node, ":1", NULL),
                                     .labels = json_keep(work->arena, json_object()),
                                     .total_bytes = 1000 * GIB,
                                     .free_bytes = 900 * GIB,
                                     .state = "Online" };

        if (nodes[i] != '-')
            ck_assert_int_eq(replica_pool_report(work, &said, &pool, &err), 0);
    }
}

/* "db", Bound on three pools of these nodes. */
static const char *bound_at(struct work *work, const char *nodes) {
    const char *id;

    put_reached(work, nodes);
    id = declare(
        work, &kind_volume_config,
        DECLARED("db", "1Gi", 3, POOLS(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c"))));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    return id;
}

WORK_TEST(an_unresponsive_node_delays_no_snapshot) {
    const char *config = publish(work, bound_at(work, "abb"), "host-a"), *id;

    (void)err;
    report_served(work, config, -1, NULL);
    publish(work, config, "");
    id = shoot(work, SNAPSHOT("s"));
    for (int i = 0; i < 7; i++) {
        work->clock_us += 10 * SECOND_US;
        put_reached(work, "-bb");
    }
    settle(work, config);
    ck_assert_str_eq(volume_of(work, config).node, "host-b");
    ck_assert_str_eq(volume_at(work, config, "spec.serve"), "false");
    report_taken(work, config, id, NULL);
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.nodeId"), "\"\"");
}

static void expect_refused(struct work *work, const char *why) {
    struct error err = { 0 };
    struct document document;
    int64_t before = last_version(work);

    ck_assert_int_lt(document_create(work, &kind_volume_config_snapshot, tree(work, SNAPSHOT("no")),
                                     false, &document, &err),
                     0);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(err.message, why);
    ck_assert_int_eq(last_version(work), before);
}

WORK_TEST(where_no_node_has_most_replicas_a_snapshot_is_refused) {
    const char *config = bound_at(work, "abc");

    (void)err;
    expect_refused(work, "spec.volumeName: Volume config db: no node has 2 of the volume's "
                         "replicas, as one that takes a snapshot needs.");
    publish(work, config, "host-b");
    expect_refused(work, "spec.volumeName: Volume config db: node host-b, where the volume is "
                         "published, has 1 of its replicas, and a snapshot is taken by a node "
                         "that has 2.");
    ck_assert_uint_eq(rows(work, &kind_volume_config_snapshot), 0);
}

WORK_TEST(a_snapshot_is_refused_where_it_is_published_alone) {
    const char *config = publish(work, bound_at(work, "abb"), "host-a"), *id;

    (void)err;
    expect_refused(work, "spec.volumeName: Volume config db: node host-a, where the volume is "
                         "published, has 1 of its replicas, and a snapshot is taken by a node "
                         "that has 2.");
    report_served(work, config, -1, NULL);
    publish(work, config, "");
    id = shoot(work, SNAPSHOT("s"));
    settle(work, config);
    ck_assert_str_eq(volume_of(work, config).node, "host-a");
    report_stopped(work, config);
    settle(work, config);
    ck_assert_str_eq(volume_of(work, config).node, "host-b"); /* not the previous node */
    ck_assert_str_eq(snapshot_at(work, id, "status.message"), "null");
}

static bool was_requested(struct work *work, const char *config, const char *message) {
    struct document_event *events;
    struct error err = { 0 };
    int count = document_events(work, config, &events, &err);

    for (int i = 0; i < count; i++)
        if (strcmp(events[i].message, message) == 0)
            return events[i].times == 1 && strcmp(events[i].reason, "SnapshotFailed") == 0;
    return false;
}

WORK_TEST(the_obstacle_of_a_waiting_snapshot_is_reported) {
    const char *config = publish(work, bound_at(work, "abb"), "host-b");
    const char *id = shoot(work, SNAPSHOT("s"));
    const char *why = "Snapshot s is not taken yet: node host-a, where the volume is published, "
                      "has 1 of its replicas, and a snapshot is taken by a node that has 2.";

    (void)err;
    publish(work, config, "host-a");
    ck_assert_str_eq(snapshot_at(work, id, "status.message"),
                     arena_format(work->arena, "\"%s\"", why));
    ck_assert(was_requested(work, config, why));
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Pending\"");
    publish(work, config, "host-b");
    ck_assert_str_eq(snapshot_at(work, id, "status.message"), "null");
    ck_assert_str_ne(volume_at(work, config, "spec.snapshots"), "null");
    report_taken(work, config, id, NULL);
    settle(work, config);
    ck_assert_str_ne(snapshot_at(work, id, "status.creationTime"), "null");
}

WORK_TEST(a_replica_that_missed_a_snapshot_copies_it_from_one_of_its_node) {
    const char *config = publish(work, bound(work, true), "host-a");
    const char *id = shoot(work, SNAPSHOT("s")), *copying;

    (void)err;
    settle(work, config);
    report_taken(work, config, id, NULL);
    settle(work, config);
    report_holds(work, config, 0, id, "Ready");
    report_holds(work, config, 1, id, "Ready");
    report_holds(work, config, 2, id, "Pending");
    settle(work, config);
    copying = arena_format(work->arena,
                           "[{\"uid\":\"%s\",\"source\":\"%s\",\"sourcePath\":\"/pool\",\"remove\":"
                           "false}]",
                           id, replica_id(work, config, 0));
    ck_assert_str_eq(replica_at(work, config, 2, "spec.snapshots"), copying);
    ck_assert_str_eq(snapshot_at(work, id, "status.pendingPoolInfo"), "[\"pool-c\"]");
    report_holds(work, config, 2, id, "Pending");
    settle(work, config);
    ck_assert_str_eq(replica_at(work, config, 2, "spec.snapshots"), copying);
    report_holds(work, config, 2, id, "Ready");
    settle(work, config);
    ck_assert_str_eq(replica_at(work, config, 2, "spec.snapshots"),
                     arena_format(work->arena, "[{\"uid\":\"%s\",\"remove\":false}]", id));
    ck_assert_str_eq(snapshot_at(work, id, "status.pendingPoolInfo"), "null");
}

WORK_TEST(a_snapshot_on_too_few_replicas_without_a_source_fails) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = shoot(work, SNAPSHOT("s"));

    (void)err;
    settle(work, config);
    report_taken(work, config, id, NULL);
    settle(work, config);
    report_holds(work, config, 0, id, "Ready");
    report_holds(work, config, 1, id, "");
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Pending\"");
    report_holds(work, config, 2, id, "");
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Failed\"");
    ck_assert_str_eq(last_event(work, config),
                     "Warning SnapshotFailed 1: Snapshot s is on 1 of 3 pools, which is too few.");
}

WORK_TEST(a_snapshot_is_deleted_when_each_replica_reports_it) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = ready(work, config, SNAPSHOT("s"));
    const char *removing = arena_format(work->arena, "[{\"uid\":\"%s\",\"remove\":true}]", id);

    (void)err;
    report_served(work, config, -1, NULL);
    settle(work, config);
    delete_snapshot(work, &kind_volume_config_snapshot, id);
    settle(work, config);
    ck_assert_str_eq(replica_at(work, config, 1, "spec.snapshots"), removing);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(rows(work, &kind_volume_config_snapshot), 1);
        report_holds(work, config, i, id, i == 0 ? "Ready" : "");
        settle(work, config);
    }
    ck_assert_uint_eq(rows(work, &kind_volume_config_snapshot), 1);
    report_holds(work, config, 0, id, NULL); /* its pool is offline */
    settle(work, config);
    ck_assert_uint_eq(rows(work, &kind_volume_config_snapshot), 1);
    report_holds(work, config, 0, id, "");
    settle(work, config);
    ck_assert_uint_eq(rows(work, &kind_volume_config_snapshot), 0);
    ck_assert_str_eq(last_event(work, config), "Normal SnapshotDeleted 1: Snapshot s is deleted.");
    settle(work, config);
    ck_assert_str_eq(replica_at(work, config, 1, "spec.snapshots"), "null");
}

WORK_TEST(no_file_is_removed_while_it_may_still_be_made) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = shoot(work, SNAPSHOT("s"));

    (void)err;
    settle(work, config);
    delete_snapshot(work, &kind_volume_config_snapshot, id);
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.snapshots"), "null");
    ck_assert_str_eq(replica_at(work, config, 0, "spec.snapshots"), "null");
    report_served(work, config, -1, NULL);
    settle(work, config);
    ck_assert_str_ne(replica_at(work, config, 0, "spec.snapshots"), "null");
}

/* The node has read what it is to take, but not yet that it is no longer wanted. */
WORK_TEST(no_file_is_removed_before_its_node_reads_that_it_is_not_wanted) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = shoot(work, SNAPSHOT("s"));

    settle(work, config);
    report_taken(work, config, id, "a guest is busy");
    settle(work, config);
    delete_snapshot(work, &kind_volume_config_snapshot, id);
    ck_assert_int_ge(reconcile_config(work, config, err), 0); /* one round: the next amends it */
    ck_assert_str_eq(volume_at(work, config, "spec.snapshots"), "null");
    ck_assert_str_eq(replica_at(work, config, 0, "spec.snapshots"), "null");
    report_served(work, config, -1, NULL);
    settle(work, config);
    ck_assert_str_ne(replica_at(work, config, 0, "spec.snapshots"), "null");
}

WORK_TEST(a_clone_is_put_where_its_snapshot_is_and_made_of_it) {
    const char *config = publish(work, bound(work, false), "host-a"), *clone;
    const char *id = ready(work, config, SNAPSHOT("s"));

    (void)err;
    put_pool(work, "pool-z", "host-z", 1000 * GIB);
    clone = declare(work, &kind_volume_config,
                    DECLARED("c", "2Gi", 2, ",\"cstorVolumeSource\":\"db@s\""));
    settle(work, clone);
    for (unsigned i = 0; i < 2; i++) {
        const char *pool = replica_at(work, clone, i, "spec.poolName");
        unsigned of = strcmp(pool, "\"pool-a\"") == 0 ? 0 : strcmp(pool, "\"pool-b\"") == 0 ? 1 : 2;

        ck_assert_str_eq(pool, replica_at(work, config, of, "spec.poolName"));
        ck_assert_str_eq(replica_at(work, clone, i, "spec.source"),
                         arena_format(work->arena, "{\"replicaId\":\"%s\",\"snapshotId\":\"%s\"}",
                                      replica_id(work, config, of), id));
    }
    ck_assert_str_eq(volume_at(work, clone, "spec.capacity"), "\"2Gi\"");
    report_made(work, clone);
    settle(work, clone);
    ck_assert_str_eq(config_at(work, clone, "status.phase"), "\"Bound\"");
}

/* Also when the config is already Bound. */
WORK_TEST(a_clone_keeps_its_label_while_a_replica_is_made_of_its_source) {
    const char *config = publish(work, bound(work, false), "host-a"), *clone;
    static const char none[] = "{\"metadata\":{\"labels\":{\"openebs.io/source-volume\":null}}}";
    struct document *replicas = NULL;

    ready(work, config, SNAPSHOT("s"));
    clone = declare(work, &kind_volume_config,
                    DECLARED("c", "2Gi", 2, ",\"cstorVolumeSource\":\"db@s\""));
    settle(work, clone);
    report_made(work, clone);
    settle(work, clone);
    replicas_of(work, clone, &replicas);
    report(work, &replicas[0], "{\"phase\":\"Init\"}");
    OK(edit(work, clone, none, err));
    ck_assert_str_eq(config_at(work, clone, "metadata.labels"),
                     "{\"openebs.io/source-volume\":\"db\"}");
    replicas_of(work, clone, &replicas);
    report(work, &replicas[0], "{\"phase\":\"Healthy\"}");
    OK(edit(work, clone, none, err));
    ck_assert_str_eq(config_at(work, clone, "metadata.labels"), "{}");
}

static bool is_among(const char *const *ids, unsigned count, const char *id) {
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(ids[i], id) == 0)
            return true;
    }
    return false;
}

/* Another pool may hold it now, or it is Ready. */
WORK_TEST(a_clone_need_not_wait_when_its_snapshot_changes) {
    const char *config = publish(work, bound(work, false), "host-a"), *clone, *other;
    struct changes changes;
    int64_t before, behind;

    ck_assert_int_eq(document_last_version(work, &before, err), 0);
    ready(work, config, SNAPSHOT("t"));
    ready(work, config, SNAPSHOT("s"));
    ck_assert_int_eq(document_last_version(work, &behind, err), 0);
    other = declare(work, &kind_volume_config, DECLARED("other", "1Gi", 1, ""));
    clone = declare(work, &kind_volume_config,
                    DECLARED("c", "2Gi", 2, ",\"cstorVolumeSource\":\"db@s\""));
    ck_assert_int_eq(changes_read(work, before, &changes, err), 0);
    ck_assert(is_among(changes.waiting, changes.waiting_count, clone));
    ck_assert(!is_among(changes.waiting, changes.waiting_count, other));
    ck_assert_uint_eq(changes.waiting_count, 1); /* not as many as there are snapshots */
    ck_assert_int_eq(changes_read(work, behind, &changes, err), 0);
    ck_assert_uint_eq(changes.waiting_count, 0);
}

WORK_TEST(a_clone_of_a_lost_snapshot_waits_and_is_never_empty) {
    const char *config = publish(work, bound(work, false), "host-a"), *clone;

    ready(work, config, SNAPSHOT("s"));
    clone = declare(work, &kind_volume_config,
                    DECLARED("c", "2Gi", 2, ",\"cstorVolumeSource\":\"db@s\""));
    ck_assert_int_ge(db_run(work->tx, err,
                            "UPDATE documents SET status = '{\"phase\":\"Healthy\"}' "
                            "WHERE kind = 'CStorVolumeReplica'"),
                     3);
    ck_assert_int_eq(reconcile_config(work, clone, err), RECONCILE_AGAIN);
    ck_assert_uint_eq(rows(work, &kind_replicated_volume), 1);
    ck_assert_uint_eq(rows(work, &kind_volume_replica), 3);
}

/* P19: it is made of nothing, and later neither. */
static void assert_failed(struct work *work, const char *clone, const char *why) {
    unsigned volumes = rows(work, &kind_replicated_volume);

    ck_assert_int_eq(settle(work, clone), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, clone, "status.phase"), "\"Failed\"");
    ck_assert_str_eq(config_at(work, clone, "status.message"),
                     arena_format(work->arena, "\"%s\"", why));
    ck_assert_str_eq(last_event(work, clone),
                     arena_format(work->arena, "Warning ProvisioningFailed 1: %s", why));
    ck_assert_uint_eq(rows(work, &kind_replicated_volume), volumes);
}

WORK_TEST(a_clone_of_a_snapshot_that_failed_never_comes) {
    const char *config = publish(work, bound(work, false), "host-a"), *clone;
    const char *id = ready(work, config, SNAPSHOT("s"));
    struct document document, after;

    clone = declare(work, &kind_volume_config,
                    DECLARED("c", "2Gi", 2, ",\"cstorVolumeSource\":\"db@s\""));
    for (unsigned i = 0; i < 3; i++)
        report_holds(work, config, i, id, "");
    settle(work, config);
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Failed\"");
    assert_failed(work, clone, "spec.cstorVolumeSource: too few copies of snapshot s are left.");
    for (unsigned i = 0; i < 3; i++) /* too late */
        report_holds(work, config, i, id, "Ready");
    assert_failed(work, clone, "spec.cstorVolumeSource: too few copies of snapshot s are left.");
    delete_snapshot(work, &kind_volume_config_snapshot, id); /* which nothing holds any more */
    document = config_of(work, clone);
    OK(document_delete(work, &document, false, &after, err));
    settle(work, clone);
    ck_assert_uint_eq(rows(work, &kind_volume_config), 1);
}

WORK_TEST(a_clone_of_a_snapshot_that_has_gone_never_comes) {
    const char *config = publish(work, bound(work, false), "host-a"), *clone;

    ready(work, config, SNAPSHOT("s"));
    clone = declare(work, &kind_volume_config,
                    DECLARED("c", "2Gi", 2, ",\"cstorVolumeSource\":\"db@s\""));
    ck_assert_int_eq(db_run(work->tx, err, "DELETE FROM documents WHERE name = 's'"), 1);
    assert_failed(work, clone, "spec.cstorVolumeSource: Snapshot db@s could not be found.");
    ready(work, config, SNAPSHOT("s")); /* of another moment */
    assert_failed(work, clone, "spec.cstorVolumeSource: Snapshot db@s could not be found.");
}

static void evict_first(struct work *work, const char *config, struct error *err) {
    OK(edit(work, config,
            "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[{\"poolName\":\"pool-b\"},{\"poolName\":"
            "\"pool-c\"}]}}}",
            err));
    settle(work, config);
}

WORK_TEST(no_replica_leaves_with_the_only_copy_of_a_snapshot) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = ready(work, config, SNAPSHOT("s"));

    report_holds(work, config, 1, id, "");
    report_holds(work, config, 2, id, "");
    report_served(work, config, -1, NULL);
    settle(work, config);
    evict_first(work, config, err);
    ck_assert_str_eq(volume_at(work, config, "spec.removing"), "null");
    report_holds(work, config, 1, id, "Ready");
    settle(work, config);
    ck_assert_str_ne(volume_at(work, config, "spec.removing"), "null");
}

/* The others lose it while the target evicts the replica. */
WORK_TEST(an_eviction_ends_when_the_replica_has_the_only_copy_of_a_snapshot_by_then) {
    const char *config = publish(work, bound(work, false), "host-a");
    const char *id = ready(work, config, SNAPSHOT("s"));
    struct document *replicas = NULL;

    report_served(work, config, -1, NULL);
    settle(work, config);
    evict_first(work, config, err);
    ck_assert_str_ne(volume_at(work, config, "spec.removing"), "null");
    report_holds(work, config, 1, id, "");
    report_holds(work, config, 2, id, "");
    report_served(work, config, 0, NULL);
    settle(work, config);
    ck_assert_str_eq(volume_at(work, config, "spec.removing"), "null");
    ck_assert_uint_eq(replicas_of(work, config, &replicas), 3);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(replicas[i].deleted_at, 0);
    ck_assert_str_eq(snapshot_at(work, id, "status.phase"), "\"Ready\"");
    report_holds(work, config, 1, id, "Ready");
    report_served(work, config, -1, NULL);
    settle(work, config);
    ck_assert_str_ne(volume_at(work, config, "spec.removing"), "null");
}

CHECK_MAIN("reconcile_snapshots", a_snapshot_is_taken_once_and_ready_when_most_hold_it,
           a_failed_snapshot_is_reported_and_retried,
           an_unpublished_volume_is_served_for_a_snapshot_and_released,
           a_publishing_node_gets_the_volume_and_takes_the_snapshot,
           the_same_node_admits_clients_when_it_is_published_there,
           an_unresponsive_node_delays_no_snapshot,
           where_no_node_has_most_replicas_a_snapshot_is_refused,
           a_snapshot_is_refused_where_it_is_published_alone,
           the_obstacle_of_a_waiting_snapshot_is_reported,
           a_replica_that_missed_a_snapshot_copies_it_from_one_of_its_node,
           a_snapshot_on_too_few_replicas_without_a_source_fails,
           a_snapshot_is_deleted_when_each_replica_reports_it,
           no_file_is_removed_while_it_may_still_be_made,
           no_file_is_removed_before_its_node_reads_that_it_is_not_wanted,
           a_clone_is_put_where_its_snapshot_is_and_made_of_it,
           a_clone_keeps_its_label_while_a_replica_is_made_of_its_source,
           a_clone_need_not_wait_when_its_snapshot_changes,
           a_clone_of_a_lost_snapshot_waits_and_is_never_empty,
           a_clone_of_a_snapshot_that_failed_never_comes,
           a_clone_of_a_snapshot_that_has_gone_never_comes,
           no_replica_leaves_with_the_only_copy_of_a_snapshot,
           an_eviction_ends_when_the_replica_has_the_only_copy_of_a_snapshot_by_then)
