#include "replication/node/targets.h"

#include "common/image_lock.h"
#include "common/loop.h"
#include "replication/engine/daemon.h"
#include "replication/engine/qmp.h"
#include "replication/engine/replica_epoch.h"
#include "replication/engine/replica_snapshot.h"
#include "replication/node/device_export.h"
#include "replication/node/health_probes.h"
#include "replication/node/pool_status.h"
#include "replication/node/rebuild_slots.h"
#include "tests/lib/checker.h"
#include "tests/lib/daemons.h"
#include "tests/lib/frozen_disk.h"
#include "tests/lib/held_calls.h"
#include "tests/lib/hung_disk.h"
#include "tests/unit/replication/node/storage_test.h"

#include <dirent.h>
#include <sys/ioctl.h>

#define OTHER  "00000000-0000-4000-8000-00000000f001"
#define BLOCKS 64
#define STRIDE (INT64_C(512) << 10)

static struct targets *targets;
static struct volume_controller_settings settings;
static char run_directory[96], run[160];
static struct checker checker;
static int version;

static struct replica place(unsigned i) {
    return (struct replica){ .pool = paths[i], .uid = uids[i] };
}

static void make_replica(unsigned i) {
    const struct replica replica = place(i);
    struct generation first;

    generation_first(VOLUME, SIZE, uids, POOLS, &first);
    ck_assert_int_eq(replica_create(&replica, VOLUME, INT64_C(1) << 30, &first, &err), 0);
}

static void begin(void) {
    begin_storage();
    begin_reports(1);
    answer("PUT", NULL, 200, "{}");
    snprintf(run_directory, sizeof(run_directory), "%s/run", top);
    snprintf(run, sizeof(run), "%s/" VOLUME, run_directory);
    ck_assert_int_eq(mkdir(run_directory, 0700), 0);
    settings =
        (struct volume_controller_settings){ .node = NODE,
                                             .run_directory = run_directory,
                                             .reports = reports,
                                             .rebuilds = rebuild_slots_new(1),
                                             .scrubs = rebuild_slots_new(1),
                                             .scrub_speed = INT64_C(64) << 20,
                                             .watch_ms = 20,
                                             .retry_ms = 20,
                                             .hang_ms = 30000 }; /* the machine may be busy */
    for (unsigned i = 0; i < POOLS; i++) {
        ck_assert_int_eq(pool_mark(paths[i], names[i], &err), 0);
        make_replica(i);
    }
    checker_init(&checker, BLOCKS, STRIDE, 1);
    targets = targets_new(&settings);
    version = 1;
}

static void end(void) {
    ck_assert(targets_stop(targets, 60000));
    ck_assert(health_probes_stop(settings.health_probes, 60000));
    daemon_kill(run, 10000, &err);
    checker_free(&checker);
    rebuild_slots_free(settings.rebuilds);
    rebuild_slots_free(settings.scrubs);
    end_storage();
}

static void set(const json_t *document) {
    struct assignment *assignment = assignment_of(ASSIGNMENT_VOLUME, document);

    targets_set(targets, &assignment, 1);
    assignment_release(assignment);
}

static void assign(const char *node, const char *capacity) {
    set(volume_document(node, capacity, version++));
}

static const char *reported_state(void) {
    const char *state = json_text_of(json_object_get(reported(VOLUME), "target"), "state");

    return state ? state : "";
}

static const char *text_at(const json_t *object, const char *key, const char *member) {
    const char *text = json_text_of(json_object_get(object, key), member);

    return text ? text : "";
}

static const char *reported_mode(unsigned i) {
    const json_t *list = json_object_get(reported(VOLUME), "replicaStatuses");
    const char *mode = json_text_of(json_array_get(list, i), "mode");

    return mode ? mode : "";
}

static void connect_checker(void) {
    char path[170];

    snprintf(path, sizeof(path), "%s/nbd", run);
    while (!checker_connect(&checker, path))
        poll(NULL, 0, 5);
}

static void serve(void) {
    assign(NODE, "64Mi");
    await_phase(VOLUME, "Healthy");
    connect_checker();
    ck_assert(checker_write(&checker, 100));
}

/* Every acknowledged write is present, and all replicas are equal. */
static void assert_healthy(void) {
    await_phase(VOLUME, "Healthy");
    connect_checker();
    ck_assert(checker_write(&checker, 30));
    ck_assert(checker_read(&checker));
}

static void await_end(void) {
    while (volume_controller_finds(&settings, VOLUME))
        poll(NULL, 0, 5);
}

/* A starting daemon has not written its pid yet. */
static pid_t daemon_pid_of(const char *directory) {
    char path[180], text[32] = "";
    autoclose int fd = -1;

    snprintf(path, sizeof(path), "%s/daemon", directory);
    fd = open(path, O_RDONLY);
    while (pread(fd, text, sizeof(text) - 1, 0) <= 0)
        poll(NULL, 0, 5);
    return (pid_t)strtol(text, NULL, 10);
}

static pid_t daemon_pid(void) {
    return daemon_pid_of(run);
}

/* The daemon has a file open until it ends. */
START_TEST(a_new_address_of_a_replica_disturbs_no_client) {
    json_t *document = volume_document(NODE, "64Mi", 1);
    json_t *spec = json_object_get(document, "spec");
    json_t *place = json_array_get(json_object_get(spec, "replicas"), 1);
    const struct replica_access *remote = (const void *)&settings; /* is never called */
    pid_t pid;

    ck_assert(targets_stop(targets, 60000));
    settings.remote = remote;
    targets = targets_new(&settings);
    json_object_set_new(spec, "epoch", json_integer(1));
    json_object_set_new(place, "nodeId", json_string("host-x"));
    json_object_set_new(document, "status", json_pack("{s:i}", "claimedEpoch", 1));
    set(document);
    await_phase(VOLUME, "Healthy");
    connect_checker();
    pid = daemon_pid();
    document = json_keep(arena, json_deep_copy(document));
    json_object_set_new(json_object_get(document, "metadata"), "resourceVersion", json_string("2"));
    json_object_set_new(json_object_get(document, "metadata"), "generation", json_integer(2));
    spec = json_object_get(document, "spec");
    json_object_set_new(json_array_get(json_object_get(spec, "replicas"), 1), "address",
                        json_string("192.0.2.1:1"));
    set(document);
    while (json_integer_value(json_object_get(reported(VOLUME), "observedGeneration")) < 2)
        poll(NULL, 0, 5);
    ck_assert(checker_write(&checker, 10));
    ck_assert_int_eq(daemon_pid(), pid);
    await_phase(VOLUME, "Healthy");
}
END_TEST

START_TEST(a_volume_is_served_while_assigned_and_nothing_is_left_afterwards) {
    const json_t *target;

    serve();
    target = json_object_get(reported(VOLUME), "target");
    ck_assert_str_eq(json_text_of(target, "nodeId"), NODE);
    ck_assert_str_eq(json_text_of(target, "state"), "Serving");
    ck_assert_str_eq(json_text_of(target, "address"),
                     arena_format(arena, "nbd+unix:///volume?socket=%s/nbd", run));
    ck_assert_str_eq(json_text_of(reported(VOLUME), "capacity"), "64Mi");
    ck_assert_str_eq(reported_mode(2), "Healthy");
    checker_disconnect(&checker);

    assign("", "64Mi");
    await_end();
    await_phase(VOLUME, "Init"); /* as in its document */
    ck_assert_ptr_null(json_object_get(reported(VOLUME), "target"));
    assign("", "64Mi");
    ck_assert(!volume_controller_finds(&settings, VOLUME));

    assign(NODE, "64Mi"); /* a clean stop: nothing is resynchronized */
    await_phase(VOLUME, "Healthy");
    connect_checker();
    ck_assert(checker_read(&checker));
    checker_disconnect(&checker);
    assign("another", "64Mi");
    await_end();
}
END_TEST

/* The API waits for a report of this node. */
START_TEST(an_assignment_withdrawn_before_its_start_is_reported) {
    assign("", "64Mi");
    await_phase(VOLUME, "Init");
    ck_assert_ptr_null(json_object_get(reported(VOLUME), "target"));
    ck_assert_int_eq(json_integer_value(json_object_get(reported(VOLUME), "observedGeneration")),
                     version - 1);
    ck_assert(!volume_controller_finds(&settings, VOLUME));
}
END_TEST

/* A document with this epoch, and the last one that the API knows as claimed. */
static json_t *of_epoch(int epoch, int claimed) {
    json_t *document = volume_document(NODE, "64Mi", version++);

    json_object_set_new(json_object_get(document, "spec"), "epoch", json_integer(epoch));
    json_object_set_new(document, "status",
                        json_pack("{s:s, s:i}", "phase", "Init", "claimedEpoch", claimed));
    return document;
}

static void await_claim(int epoch) {
    const json_t *target = NULL;

    while (json_integer_value(json_object_get(target, "epoch")) != epoch) {
        poll(NULL, 0, 5);
        target = json_object_get(reported(VOLUME), "target");
    }
    ck_assert_str_eq(json_text_of(target, "state"), "Down");
}

START_TEST(no_target_starts_before_the_document_has_its_claim) {
    set(of_epoch(2, 1));
    await_claim(2);
    poll(NULL, 0, 100);
    ck_assert(!volume_controller_finds(&settings, VOLUME));
    set(of_epoch(2, 2));
    assert_healthy();
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(reported(VOLUME), "target"), "epoch")),
        2);
}
END_TEST

/* Another node had it meanwhile. */
START_TEST(a_reassigned_volume_is_served_after_its_new_claim) {
    set(of_epoch(1, 1));
    assert_healthy();
    set(of_epoch(3, 2));
    await_claim(3);
    ck_assert_ptr_null(json_object_get(json_object_get(reported(VOLUME), "target"), "address"));
    ck_assert_str_eq(json_text_of(reported(VOLUME), "phase"), "Offline");
    set(of_epoch(3, 3));
    assert_healthy();
}
END_TEST

/* It is not in this node's list any more. */
START_TEST(an_unlisted_volume_that_was_never_served_is_forgotten) {
    set(of_epoch(1, 0));
    await_claim(1);
    targets_set(targets, NULL, 0);
    while (targets_count(targets) > 0) {
        poll(NULL, 0, 5);
        targets_set(targets, NULL, 0);
    }
    set(of_epoch(3, 0));
    await_claim(3);
    set(of_epoch(3, 3));
    assert_healthy();
    targets_set(targets, NULL, 0); /* a served volume goes on */
    poll(NULL, 0, 100);
    ck_assert_uint_eq(targets_count(targets), 1);
    assert_healthy();
}
END_TEST

START_TEST(a_daemon_outlives_the_agent_and_is_adopted_without_the_api) {
    pid_t pid;

    serve();
    pid = daemon_pid();
    ck_assert(targets_stop(targets, 60000));
    ck_assert(checker_write(&checker, 30));

    settings.rebuild_speed = 8 * STRIDE; /* slow enough to be reported */
    targets = targets_new(&settings);
    targets_adopt(targets);
    ck_assert_int_eq(unlink(arena_join(arena, paths[1], "/", uids[1], "/data", NULL)), 0);
    while (strcmp(reported_mode(1), "Rebuilding") != 0) /* so it is watched */
        poll(NULL, 0, 5);
    assert_healthy();
    ck_assert_int_eq(daemon_pid(), pid);
}
END_TEST

/* The last agent could not write the manifest. */
START_TEST(an_adopted_daemon_takes_no_epoch_of_another_node) {
    json_t *document = volume_document("other", "64Mi", 9);

    set(of_epoch(1, 1));
    assert_healthy();
    ck_assert(targets_stop(targets, 60000));
    ck_assert_int_eq(unlink(arena_join(arena, run, "/document", NULL)), 0);
    targets = targets_new(&settings);
    targets_adopt(targets);
    json_object_set_new(json_object_get(document, "spec"), "epoch", json_integer(2));
    set(document);
    await_end();
    for (unsigned i = 0; i < POOLS; i++) {
        const struct replica local = place(i);

        ck_assert_int_eq(replica_epoch(&local, &err), 1);
    }
    version = 10;
    set(of_epoch(3, 3));
    assert_healthy();
}
END_TEST

START_TEST(a_dead_daemon_is_restarted) {
    serve();
    for (int i = 0; i < 3; i++) {
        pid_t pid = daemon_pid();

        checker_send(&checker, 10);
        kill(pid, SIGKILL);
        checker_wait(&checker);
        checker_disconnect(&checker);
        while (!daemon_runs(run) || daemon_pid() == pid)
            poll(NULL, 0, 5);
        assert_healthy();
    }
}
END_TEST

START_TEST(a_lost_replica_is_rebuilt) {
    serve();
    ck_assert_int_eq(rename(paths[2], arena_join(arena, top, "/away", NULL)),
                     0); /* its pool is missing */
    await_phase(VOLUME, "Degraded");
    ck_assert_str_eq(reported_mode(2), "Offline");
    ck_assert(checker_write(&checker, 30));
    ck_assert_int_eq(mkdir(paths[2], 0700), 0); /* the mount point is not a pool */
    poll(NULL, 0, 100);
    ck_assert_int_eq(rmdir(paths[2]), 0);
    ck_assert_int_eq(rename(arena_join(arena, top, "/away", NULL), paths[2]), 0);
    assert_healthy();
}
END_TEST

/* A replica that cannot be excluded, as it is needed, does not prevent the rebuild of others. */
START_TEST(a_failed_needed_replica_does_not_prevent_the_rebuild_of_others) {
    const char *away = arena_join(arena, top, "/away", NULL);

    serve();
    ck_assert_int_eq(rename(paths[2], away), 0);
    await_phase(VOLUME, "Degraded");
    ck_assert_int_eq(unlink(arena_join(arena, paths[1], "/", uids[1], "/state", NULL)), 0);
    while (!strstr(json_text_of(reported(VOLUME), "message"), uids[1]))
        poll(NULL, 0, 5);
    ck_assert(checker_write(&checker, 30));
    ck_assert_int_eq(rename(away, paths[2]), 0);
    assert_healthy();
}
END_TEST

START_TEST(a_served_volume_is_resized) {
    serve();
    checker_disconnect(&checker);
    assign(NODE, "128Mi");
    while (strcmp(json_text_of(reported(VOLUME), "capacity"), "128Mi") != 0)
        poll(NULL, 0, 5);
    assert_healthy();
    while (json_integer_value(json_object_get(reported(VOLUME), "observedGeneration")) != 2)
        poll(NULL, 0, 5);
}
END_TEST

static void assign_qos(int iops, int bytes_per_second) {
    json_t *document = volume_document(NODE, "64Mi", version);

    json_object_set_new(json_object_get(document, "spec"), "qos",
                        json_pack("{s:i, s:i}", "iops", iops, "bytesPerSecond", bytes_per_second));
    set(document);
    while (json_integer_value(json_object_get(reported(VOLUME), "observedGeneration")) != version)
        poll(NULL, 0, 5);
    version++;
}

/* The monitor has one client: the controller is stopped and started again. */
static void assert_limits(int iops, int bytes_per_second) {
    const char *path = arena_join(arena, run, "/qmp", NULL);
    json_t *limits = NULL;
    struct qmp *qmp;

    ck_assert(targets_stop(targets, 60000));
    ck_assert_int_eq(qmp_connect(path, 60000, &qmp, &err), 0);
    ck_assert_int_eq(
        qmp_execute(qmp, arena, "qom-get",
                    json_pack("{s:s, s:s}", "path", "/objects/throttle", "property", "limits"),
                    60000, &limits, &err),
        0);
    ck_assert_int_eq(json_integer_value(json_object_get(limits, "iops-total")), iops);
    ck_assert_int_eq(json_integer_value(json_object_get(limits, "bps-total")), bytes_per_second);
    qmp_close(qmp);
    targets = targets_new(&settings);
}

START_TEST(limits_of_clients_follow_the_document) {
    serve();
    assert_limits(0, 0);
    assign_qos(100000, 0);
    ck_assert(checker_write(&checker, 10));
    assert_limits(100000, 0);
    assign_qos(0, 1 << 30); /* also after adoption */
    ck_assert(checker_write(&checker, 10));
    assert_limits(0, 1 << 30);
    assign_qos(0, 0);
    assert_limits(0, 0);
    assign(NODE, "64Mi");
    assert_healthy();
}
END_TEST

static void read_block(unsigned i, int64_t at, char *ret, size_t size) {
    autoclose int fd = open(arena_join(arena, paths[i], "/", uids[i], "/data", NULL), O_RDONLY);

    ck_assert_int_eq(pread(fd, ret, size, at), (ssize_t)size);
}

START_TEST(a_damaged_replica_is_repaired) {
    char junk[700], right[700], now[700];
    autoclose int fd = -1;
    const int64_t at = 5 * STRIDE + 100;

    serve();
    for (unsigned i = 0; i < 6; i++)
        ck_assert(checker_write(&checker, 100));
    read_block(0, at, right, sizeof(right));
    memset(junk, 'X', sizeof(junk));
    fd = open(arena_join(arena, paths[1], "/", uids[1], "/data", NULL), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
    ck_assert(checker_read(&checker)); /* it is outvoted */
    do {
        poll(NULL, 0, 5);
        read_block(1, at, now, sizeof(now));
    } while (memcmp(now, right, sizeof(now)) != 0);
    assert_healthy();
}
END_TEST

/* Without the daemon, where no client reads. */
static void damage(unsigned i, int64_t at, size_t size) {
    autoclose int fd = open(arena_join(arena, paths[i], "/", uids[i], "/data", NULL), O_WRONLY);
    char junk[700];

    ck_assert_uint_le(size, sizeof(junk));
    memset(junk, 'X', size);
    ck_assert_int_eq(pwrite(fd, junk, size, at), (ssize_t)size);
}

static void await_repaired(unsigned i, int64_t at, const char *right, size_t size) {
    char now[700];

    do {
        poll(NULL, 0, 5);
        read_block(i, at, now, size);
    } while (memcmp(now, right, size) != 0);
}

static int64_t reported_scrub(const char *key) {
    return json_integer_value(json_object_get(json_object_get(reported(VOLUME), "scrub"), key));
}

/* One replica differs, and the daemon reported that to no agent. */
START_TEST(damage_without_an_agent_is_found_after_adoption) {
    const int64_t at = 5 * STRIDE + 100;
    char right[700];

    serve();
    for (unsigned i = 0; i < 6; i++)
        ck_assert(checker_write(&checker, 100));
    ck_assert(targets_stop(targets, 60000));
    read_block(0, at, right, sizeof(right));
    damage(1, at, sizeof(right));
    targets = targets_new(&settings);
    targets_adopt(targets);
    await_repaired(1, at, right, sizeof(right));
    while (!json_text_of(json_object_get(reported(VOLUME), "scrub"), "finishedAt"))
        poll(NULL, 0, 5);
    ck_assert_int_gt(reported_scrub("damagedBlocks"), 0);
    ck_assert_int_eq(reported_scrub("undecidedBlocks"), 0);
    assert_healthy();
}
END_TEST

START_TEST(replicas_are_compared_periodically) {
    const int64_t at = 3 * STRIDE;
    char right[700];

    settings.scrub_interval_s = 1;
    ck_assert(targets_stop(targets, 60000));
    targets = targets_new(&settings);
    serve();
    for (unsigned round = 0; round < 2; round++) {
        read_block(0, at, right, sizeof(right));
        damage(round, at, sizeof(right));
        await_repaired(round, at, right, sizeof(right));
    }
    assert_healthy();
}
END_TEST

START_TEST(a_volume_with_blocks_without_a_majority_is_degraded_until_they_have_one) {
    const int64_t at = 3 * STRIDE;
    autoclose int fd = -1;
    char right[700];

    settings.scrub_interval_s = 1;
    ck_assert(targets_stop(targets, 60000));
    targets = targets_new(&settings);
    serve();
    read_block(1, at, right, sizeof(right));
    damage(1, at, 100);
    damage(2, at + 200, 100);
    await_phase(VOLUME, "Degraded");
    ck_assert_int_eq(reported_scrub("undecidedBlocks"), 1);
    ck_assert_ptr_nonnull(strstr(json_text_of(reported(VOLUME), "message"), "have no majority"));
    fd = open(arena_join(arena, paths[1], "/", uids[1], "/data", NULL), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, right, sizeof(right), at), sizeof(right));
    assert_healthy();
    ck_assert_str_eq(json_text_of(reported(VOLUME), "message"), "All 3 replicas are in sync.");
}
END_TEST

#define SNAPSHOT "00000000-0000-4000-8000-0000000000e1"

static void assign_snapshot(const char *uid) {
    json_t *document = volume_document(NODE, "64Mi", version++);

    json_object_set_new(json_object_get(document, "spec"), "snapshots",
                        json_pack("[{s:s, s:s}]", "uid", uid, "name", "s"));
    set(document);
}

static const json_t *reported_snapshot(void) {
    return json_array_get(json_object_get(reported(VOLUME), "snapshots"), 0);
}

static void await_snapshot(void) {
    while (!reported_snapshot() || strcmp(json_text_of(reported_snapshot(), "phase"), "Ready") != 0)
        poll(NULL, 0, 5);
}

static bool holds(unsigned i, const char *uid) {
    const struct replica replica = place(i);

    return replica_snapshot_is_there(&replica, uid);
}

START_TEST(a_snapshot_is_taken_once_while_clients_write) {
    struct replica replica;

    serve();
    assign_snapshot(SNAPSHOT);
    while (!reported_snapshot() || strcmp(json_text_of(reported_snapshot(), "phase"), "Ready") != 0)
        ck_assert(checker_write(&checker, 1));
    ck_assert_int_eq(json_integer_value(json_object_get(reported_snapshot(), "sizeBytes")), SIZE);
    for (unsigned i = 0; i < POOLS; i++)
        ck_assert(holds(i, SNAPSHOT));
    replica = place(0);
    ck_assert_int_eq(replica_snapshot_delete(&replica, SNAPSHOT, &err), 0);
    assign_snapshot(SNAPSHOT); /* others hold it: it is not taken again */
    assert_healthy();
    ck_assert(!holds(0, SNAPSHOT));
    ck_assert_str_eq(json_text_of(reported_snapshot(), "phase"), "Ready");
}
END_TEST

START_TEST(a_removed_snapshot_is_cancelled_before_the_generation_is_observed) {
    json_t *document;

    settings.rebuild_speed = STRIDE;
    ck_assert(targets_stop(targets, 60000));
    targets = targets_new(&settings);
    serve();
    assign_snapshot(SNAPSHOT);
    while (!reported_snapshot())
        poll(NULL, 0, 5);
    document = volume_document(NODE, "64Mi", version++);
    set(document);
    while (json_integer_value(json_object_get(reported(VOLUME), "observedGeneration")) <
           version - 1)
        poll(NULL, 0, 5);
    for (unsigned i = 0; i < POOLS; i++)
        ck_assert_int_ne(
            access(arena_join(arena, paths[i], "/", uids[i], "/snapshot-" SNAPSHOT ".new", NULL),
                   F_OK),
            0);
    ck_assert_ptr_null(reported_snapshot());
    assert_healthy();
}
END_TEST

static bool is_copied(unsigned i) {
    const json_t *list = json_object_get(reported(VOLUME), "replicaStatuses");

    return json_object_get(json_array_get(list, i), "totalBytes") != NULL;
}

/* Its rebuild slot of the node is free for another volume. */
START_TEST(a_rebuild_has_ended_before_a_snapshot_begins) {
    settings.rebuild_speed = 4 * STRIDE;
    ck_assert(targets_stop(targets, 60000));
    targets = targets_new(&settings);
    serve();
    ck_assert_int_eq(unlink(arena_join(arena, paths[2], "/", uids[2], "/data", NULL)), 0);
    while (strcmp(reported_mode(2), "Rebuilding") != 0)
        poll(NULL, 0, 5);
    ck_assert(!rebuild_slots_take(settings.rebuilds));
    assign_snapshot(SNAPSHOT);
    while (strcmp(reported_mode(2), "Healthy") != 0 || is_copied(2))
        poll(NULL, 0, 5);
    ck_assert(rebuild_slots_take(settings.rebuilds));
    rebuild_slots_release(settings.rebuilds);
    ck_assert_str_eq(json_text_of(reported_snapshot(), "phase"), "Pending");
    await_snapshot();
    assert_healthy();
}
END_TEST

START_TEST(the_address_of_a_hidden_volume_is_not_reported) {
    json_t *document = volume_document(NODE, "64Mi", version++);

    json_object_set_new(json_object_get(document, "spec"), "serve", json_false());
    set(document);
    await_phase(VOLUME, "Healthy");
    ck_assert_ptr_null(json_object_get(json_object_get(reported(VOLUME), "target"), "address"));
    assign(NODE, "64Mi");
    while (!json_object_get(json_object_get(reported(VOLUME), "target"), "address"))
        poll(NULL, 0, 5);
}
END_TEST

/* ---- a revert ---- */

static uint32_t then[BLOCKS];

/* A snapshot, and writes after it. */
static void prepare_revert(void) {
    serve();
    assign_snapshot(SNAPSHOT);
    while (!reported_snapshot() || strcmp(json_text_of(reported_snapshot(), "phase"), "Ready") != 0)
        poll(NULL, 0, 5);
    memcpy(then, checker.least, sizeof(then));
    ck_assert(checker_write(&checker, 100));
    checker_disconnect(&checker);
}

/* The document has this attempt; `phase`: as last reported, or NULL. */
static void assign_revert(int64_t number, int64_t attempt, const char *phase) {
    json_t *document = volume_document(NODE, "64Mi", version++);

    json_object_set_new(json_object_get(document, "spec"), "revert",
                        json_pack("{s:s, s:I}", "uid", SNAPSHOT, "number", (json_int_t)number));
    if (attempt > 0)
        json_object_set_new(document, "status",
                            json_pack("{s:{s:I, s:I, s:s}}", "revert", "number", (json_int_t)number,
                                      "attempt", (json_int_t)attempt, "phase", phase));
    set(document);
}

static void await_reported_revert(int64_t attempt, const char *phase) {
    const json_t *revert;

    do {
        poll(NULL, 0, 5);
        revert = json_object_get(reported(VOLUME), "revert");
    } while (json_integer_value(json_object_get(revert, "attempt")) != attempt ||
             strcmp(json_text_of(revert, "phase"), phase) != 0);
    ck_assert_ptr_null(json_object_get(json_object_get(reported(VOLUME), "target"), "address"));
}

static bool is_connectable(void) {
    char path[170];

    snprintf(path, sizeof(path), "%s/nbd", run);
    return checker_connect(&checker, path);
}

static void assert_holds_snapshot(void) {
    memcpy(checker.least, then, sizeof(then));
    memcpy(checker.most, then, sizeof(then));
    assign(NODE, "64Mi");
    connect_checker();
    ck_assert(checker_read(&checker));
}

START_TEST(a_volume_is_reverted_before_any_client_is_admitted) {
    prepare_revert();
    assign_revert(1, 0, NULL);
    await_reported_revert(1, "Pending");
    ck_assert(!is_connectable());
    assign_revert(1, 1, "Pending");
    await_reported_revert(1, "Done");
    ck_assert(!is_connectable());
    assign_revert(1, 1, "Done");
    assert_holds_snapshot();
    while (json_object_get(reported(VOLUME), "revert"))
        poll(NULL, 0, 5);
    assert_healthy();
}
END_TEST

/* Nothing starts before the document has the attempt, and nothing is repeated that is done
 * according to it. */
START_TEST(a_revert_starts_when_its_document_has_the_attempt) {
    prepare_revert();
    assign_revert(1, 3, "Pending");
    await_reported_revert(4, "Pending"); /* three were of earlier agents */
    assign(NODE, "64Mi");
    connect_checker();
    ck_assert(checker_read(&checker)); /* so nothing was started */
    checker_disconnect(&checker);
    assign_revert(2, 4, "Done");
    while (json_integer_value(json_object_get(reported(VOLUME), "observedGeneration")) <
           version - 1)
        poll(NULL, 0, 5);
    ck_assert_ptr_null(json_object_get(reported(VOLUME), "revert"));
    assign(NODE, "64Mi");
    connect_checker();
    ck_assert(checker_read(&checker));
}
END_TEST

START_TEST(a_revert_finishes_after_the_death_of_any_process) {
    prepare_revert();
    settings.rebuild_speed = 1; /* never finishes during the test */
    ck_assert(targets_stop(targets, 60000));
    targets = targets_new(&settings);
    assign_revert(1, 0, NULL);
    await_reported_revert(1, "Pending");
    assign_revert(1, 1, "Pending");
    while (!json_object_get(json_object_get(reported(VOLUME), "revert"), "doneBytes"))
        poll(NULL, 0, 5);
    kill(daemon_pid(), SIGKILL);
    await_reported_revert(2, "Pending"); /* it is started again */
    assign_revert(1, 2, "Pending");
    while (!json_object_get(json_object_get(reported(VOLUME), "revert"), "doneBytes"))
        poll(NULL, 0, 5);
    settings.rebuild_speed = 0;
    ck_assert(targets_stop(targets, 60000)); /* its daemon goes on */
    ck_assert(!is_connectable());
    targets = targets_new(&settings);
    targets_adopt(targets); /* adopts nothing without the API */
    ck_assert(!is_connectable());
    assign_revert(1, 2, "Pending");
    await_reported_revert(3, "Pending");
    assign_revert(1, 3, "Pending");
    await_reported_revert(3, "Done");
    assert_holds_snapshot();
}
END_TEST

/* ---- forced recovery ---- */

static void move_pool(unsigned i, bool away) {
    const char *place = arena_join(arena, paths[i], ".away", NULL);

    ck_assert_int_eq(rename(away ? paths[i] : place, away ? place : paths[i]), 0);
}

/* Removes the first two pools, or restores them. */
static void move_pools(bool away) {
    move_pool(0, away);
    move_pool(1, away);
}

static void lose_two(void) {
    serve();
    checker_disconnect(&checker);
    assign("", "64Mi");
    await_end();
    move_pools(true);
    assign(NODE, "64Mi");
    await_phase(VOLUME, "Offline");
    ck_assert_str_eq(reported_state(), "Down");
}

START_TEST(a_volume_lost_during_a_rebuild_frees_its_rebuild_slot) {
    settings.rebuild_speed = 4 * STRIDE;
    ck_assert(targets_stop(targets, 60000));
    targets = targets_new(&settings);
    serve();
    ck_assert_int_eq(unlink(arena_join(arena, paths[2], "/", uids[2], "/data", NULL)), 0);
    while (strcmp(reported_mode(2), "Rebuilding") != 0)
        poll(NULL, 0, 5);
    ck_assert(!rebuild_slots_take(settings.rebuilds));
    move_pools(true);
    await_phase(VOLUME, "Offline");
    while (!rebuild_slots_take(settings.rebuilds))
        poll(NULL, 0, 5);
    rebuild_slots_release(settings.rebuilds);
    move_pools(false);
    assert_healthy();
}
END_TEST

/* Recovery from replica `i` by request `number`; `recovered`: the last confirmed one. */
static void request_recovery_at(const char *node, int64_t number, unsigned i, int64_t recovered) {
    json_t *document = volume_document(node, "64Mi", version++);
    json_t *spec = json_object_get(document, "spec");

    if (number > 0)
        json_object_set_new(
            spec, "salvage",
            json_pack("{s:I, s:s}", "number", (json_int_t)number, "replicaId", uids[i]));
    if (recovered > 0)
        json_object_set_new(spec, "salvaged", json_integer(recovered));
    set(document);
}

static void request_recovery(int64_t number, unsigned i, int64_t recovered) {
    request_recovery_at(NODE, number, i, recovered);
}

static void await_reported_recovery(int64_t number, const char *phase, const char *reason) {
    const json_t *recovery;

    do {
        poll(NULL, 0, 5);
        recovery = json_object_get(reported(VOLUME), "salvage");
    } while (json_integer_value(json_object_get(recovery, "number")) != number ||
             strcmp(text_at(reported(VOLUME), "salvage", "phase"), phase) != 0);
    ck_assert_str_eq(text_at(reported(VOLUME), "salvage", "reason"), reason);
}

static int64_t reported_highest_recovery(void) {
    return json_int_at(reported(VOLUME), "target.highestSalvage");
}

/* As of a database that was restored from a backup. */
START_TEST(a_recovery_that_the_document_does_not_know_is_reported) {
    lose_two();
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Able", "");
    request_recovery(5, 2, 5);
    await_reported_recovery(5, "Done", "");
    request_recovery(0, 0, 3);
    while (reported_highest_recovery() != 5)
        poll(NULL, 0, 5);
}
END_TEST

START_TEST(a_volume_is_recovered_from_one_replica_and_the_others_rebuilt) {
    lose_two();
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Able", "");
    ck_assert(!is_connectable());
    ck_assert_str_eq(reported_state(), "Down");
    request_recovery(5, 2, 5);
    await_reported_recovery(5, "Done", "");
    await_phase(VOLUME, "Degraded");
    ck_assert_int_eq(reported_highest_recovery(), 0);
    connect_checker();
    ck_assert(checker_read(&checker));
    ck_assert(checker_write(&checker, 100)); /* the restored replicas do not have these */
    checker_disconnect(&checker);
    request_recovery_at("", 0, 0, 5);
    await_end();
    move_pool(2, true); /* without it the restored replicas are a majority, which does not count */
    move_pools(false);
    request_recovery(0, 0, 5);
    await_phase(VOLUME, "Offline");
    ck_assert_str_eq(reported_state(), "Down");
    move_pool(2, false);
    assert_healthy();
    ck_assert_ptr_null(json_object_get(reported(VOLUME), "salvage"));
}
END_TEST

/* Two replicas differ from each other and from the third in one block. */
START_TEST(a_served_volume_with_undecided_blocks_is_recovered_from_one_replica) {
    const char *disagreed;

    serve();
    for (unsigned i = 0; i < 6; i++)
        ck_assert(checker_write(&checker, 100));
    request_recovery(4, 2, 0);
    await_reported_recovery(4, "Refused", "HasVotes");
    ck_assert(targets_stop(targets, 60000));
    for (unsigned i = 0; i < 2; i++)
        damage(i, 5 * STRIDE + 100 + 10 * i, 8);
    targets = targets_new(&settings);
    targets_adopt(targets);
    request_recovery(0, 0, 0);
    while (reported_scrub("undecidedBlocks") == 0)
        poll(NULL, 0, 5);
    disagreed = json_text_of(reported(VOLUME), "phase");
    ck_assert_str_eq(disagreed, "Degraded");
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Able", "");
    ck_assert_str_eq(reported_state(), "Serving"); /* until the document confirms it */
    request_recovery(5, 2, 5);
    await_reported_recovery(5, "Done", "");
    while (reported_scrub("undecidedBlocks") > 0)
        poll(NULL, 0, 5);
    request_recovery(0, 0, 5);
    assert_healthy();
}
END_TEST

/* One of the others is present: its rebuild does not wait for the lost one. */
START_TEST(a_remaining_replica_is_rebuilt_though_another_is_lost) {
    lose_two();
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Able", "");
    request_recovery(5, 2, 5);
    move_pool(1, false);
    while (strcmp(reported_mode(1), "Healthy") != 0)
        poll(NULL, 0, 5);
    ck_assert_str_eq(reported_mode(0), "Offline");
    ck_assert_str_eq(json_text_of(reported(VOLUME), "phase"), "Degraded");
    connect_checker();
    ck_assert(checker_read(&checker));
    ck_assert(checker_write(&checker, 50));
    checker_disconnect(&checker);
    move_pool(0, false);
    assert_healthy();
}
END_TEST

START_TEST(a_served_volume_is_not_recovered_from_one_replica) {
    serve();
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Refused", "HasVotes");
    ck_assert(checker_write(&checker, 30)); /* over the same connection */
    ck_assert(checker_read(&checker));
    ck_assert_str_eq(reported_state(), "Serving");
}
END_TEST

/* Two of three are lost: without a quorum there are no writes. */
START_TEST(a_served_volume_that_lost_its_quorum_may_be_recovered) {
    serve();
    move_pools(true);
    while (strcmp(reported_mode(0), "Offline") != 0 || strcmp(reported_mode(1), "Offline") != 0)
        poll(NULL, 0, 5);
    await_phase(VOLUME, "Offline");
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Able", "");
    ck_assert(!is_connectable());
    request_recovery(5, 2, 5);
    await_phase(VOLUME, "Degraded");
    move_pools(false);
    assert_healthy();
}
END_TEST

/* Writes acknowledged after the refusal are not discarded by that request, though its refusal is
 * not in the document yet and the quorum is lost now. */
START_TEST(a_refused_recovery_is_about_no_later_loss) {
    serve();
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Refused", "HasVotes");
    ck_assert(checker_write(&checker, 30));
    checker_disconnect(&checker);
    move_pools(true);
    while (strcmp(reported_mode(0), "Offline") != 0 || strcmp(reported_mode(1), "Offline") != 0)
        poll(NULL, 0, 5);
    if (strcmp(reported_state(), "Serving") == 0)
        kill(daemon_pid(), SIGKILL);
    while (strcmp(reported_state(), "Down") != 0)
        poll(NULL, 0, 5);
    ck_assert_str_eq(text_at(reported(VOLUME), "salvage", "phase"), "Refused");
    move_pools(false);
    assign(NODE, "64Mi");
    assert_healthy();
}
END_TEST

START_TEST(a_volume_that_regained_its_quorum_is_not_recovered_from_one_replica) {
    lose_two();
    ck_assert(targets_stop(targets, 60000));
    move_pools(false);
    targets = targets_new(&settings);
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Refused", "HasVotes");
    ck_assert(!is_connectable()); /* until the document has that report */
    assign(NODE, "64Mi");
    assert_healthy();
}
END_TEST

START_TEST(a_volume_is_not_recovered_from_an_incomplete_replica) {
    const struct replica replica = place(2);

    lose_two();
    request_recovery(5, 0, 0);
    await_reported_recovery(5, "Refused", "Away");
    ck_assert_int_eq(truncate(arena_join(arena, paths[2], "/", uids[2], "/data", NULL), 512), 0);
    request_recovery(6, 2, 0);
    await_reported_recovery(6, "Refused", "Unfit");
    assign(NODE, "64Mi"); /* until the controller has released the replica */
    while (json_object_get(reported(VOLUME), "salvage"))
        poll(NULL, 0, 5);
    ck_assert_int_eq(replica_reset(&replica, VOLUME, INT64_C(1) << 30, &err), 0);
    request_recovery(7, 2, 0);
    await_reported_recovery(7, "Refused", "Unfilled");
    ck_assert(!is_connectable());
}
END_TEST

/* An agent reports that recovery is possible, and dies; the next one gets the request before the
 * document has that report, and finds the recovery unnecessary.  The volume is exported to no
 * client before it is known which report the document has. */
START_TEST(a_recovery_request_is_applied_at_most_once_after_any_death) {
    lose_two();
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Able", "");
    ck_assert(targets_stop(targets, 60000));
    move_pools(false);
    targets = targets_new(&settings);
    targets_adopt(targets);
    request_recovery(5, 2, 0);
    await_reported_recovery(5, "Refused", "HasVotes");
    ck_assert(!is_connectable());

    request_recovery(5, 2, 5); /* the document has the first report */
    assert_healthy();
    checker_disconnect(&checker);
    ck_assert(targets_stop(targets, 60000)); /* the outcome was not reported */
    kill(daemon_pid(), SIGKILL);
    targets = targets_new(&settings);
    request_recovery(5, 2, 5);
    while (json_integer_value(json_object_get(reported(VOLUME), "observedGeneration")) <
           version - 1)
        poll(NULL, 0, 5);
    await_reported_recovery(5, "Done", "");
    assert_healthy();
    checker_disconnect(&checker);

    assign(
        "",
        "64Mi"); /* the next loss: the same request, which was not withdrawn, does not apply to it */
    await_end();
    move_pool(2, true);
    move_pool(1, true);
    request_recovery(5, 0, 5);
    await_phase(VOLUME, "Offline");
    ck_assert_str_eq(reported_state(), "Down");
    ck_assert(!is_connectable());
}
END_TEST

START_TEST(a_replica_is_removed_and_added_again) {
    json_t *document = volume_document(NODE, "64Mi", 2);

    serve();
    checker_disconnect(&checker);
    json_object_set_new(json_object_get(document, "spec"), "removing", json_string(uids[0]));
    set(document);
    while (json_array_size(json_object_get(reported(VOLUME), "replicaStatuses")) != 2)
        poll(NULL, 0, 5);
    version = 3;
    assert_healthy();
    checker_disconnect(&checker);
    assign(NODE, "64Mi"); /* rebuilt, whatever data it still has */
    while (json_array_size(json_object_get(reported(VOLUME), "replicaStatuses")) != 3)
        poll(NULL, 0, 5);
    assert_healthy();
}
END_TEST

/* ---- seven replicas, and one more while one of them is replaced ---- */

static const char *uid_of(char letter) {
    return arena_format(arena, "00000000-0000-4000-8000-0000000001%02x", letter - 'a');
}

static const char *pool_of(char letter) {
    return arena_format(arena, "many-%c", letter);
}

static const char *path_of(char letter) {
    return arena_format(arena, "%s/%s", top, pool_of(letter));
}

static void make_seven(void) {
    const char *members[REPLICAS_MOST];
    struct generation first;

    for (unsigned i = 0; i < REPLICAS_MOST; i++)
        members[i] = uid_of((char)('a' + i));
    generation_first(VOLUME, SIZE, members, REPLICAS_MOST, &first);
    for (char letter = 'a'; letter <= 'i'; letter++) {
        const struct replica replica = { .pool = path_of(letter), .uid = uid_of(letter) };

        ck_assert_int_eq(mkdir(replica.pool, 0700), 0);
        ck_assert_int_eq(pool_mark(replica.pool, pool_of(letter), &err), 0);
        if (letter <= 'g')
            ck_assert_int_eq(replica_create(&replica, VOLUME, INT64_C(1) << 30, &first, &err), 0);
    }
}

static void assign_replicas(const char *letters) {
    json_t *document = volume_document(NODE, "64Mi", version++), *list = json_array();

    for (; *letters; letters++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "uid", uid_of(*letters),
                                              "poolName", pool_of(*letters), "nodeId", NODE, "path",
                                              path_of(*letters)));
    json_object_set_new(json_object_get(document, "spec"), "replicas", list);
    set(document);
}

static const json_t *reported_replicas(void) {
    return json_object_get(reported(VOLUME), "replicaStatuses");
}

static void await_mismatch(void) {
    const json_t *second;

    do {
        poll(NULL, 0, 5);
        second = json_array_get(reported_replicas(), 1);
    } while (json_integer_value(json_object_get(second, "mismatches")) == 0);
}

START_TEST(another_replica_is_rebuilt_after_one_that_cannot_be_rebuilt) {
    const json_t *last;

    make_seven();
    ck_assert_int_eq(/* where its directory would be */
                     mknod(arena_format(arena, "%s/%s", path_of('h'), uid_of('h')), S_IFREG | 0600,
                           0),
                     0);
    assign_replicas("abcdefg");
    await_phase(VOLUME, "Healthy");
    assign_replicas("abcdefh");
    while (json_array_size(reported_replicas()) != MEMBERS_MOST)
        poll(NULL, 0, 5);
    last = json_array_get(reported_replicas(), REPLICAS_MOST);
    ck_assert_str_eq(json_text_of(last, "replicaId"), uid_of('h'));
    await_phase(VOLUME, "Degraded");
    assign_replicas("abcdefi");
    await_phase(VOLUME, "Healthy");
    ck_assert_uint_eq(json_array_size(reported_replicas()), REPLICAS_MOST);
    last = json_array_get(reported_replicas(), REPLICAS_MOST - 1);
    ck_assert_str_eq(json_text_of(last, "replicaId"), uid_of('i'));
}
END_TEST

/* Without it, each block that is damaged there would be refused once another one has rotted. */
START_TEST(a_damaged_replica_is_repaired_before_another_is_replaced) {
    const int64_t at = 5 * STRIDE + 100;
    char right[700], now[700], junk[700];
    autoclose int fd = -1;
    bool repaired, replaced;

    make_seven();
    assign_replicas("abcdefg");
    await_phase(VOLUME, "Healthy");
    connect_checker();
    for (unsigned i = 0; i < 6; i++)
        ck_assert(checker_write(&checker, 100));
    fd = open(arena_join(arena, path_of('b'), "/", uid_of('b'), "/data", NULL), O_RDWR);
    ck_assert_int_eq(pread(fd, right, sizeof(right), at), sizeof(right));
    memset(junk, 'X', sizeof(junk));
    while (!rebuild_slots_take(settings.rebuilds))
        poll(NULL, 0, 5);
    ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
    ck_assert(checker_read(&checker)); /* it is outvoted */
    await_mismatch();
    assign_replicas("abcdefh");
    poll(NULL, 0, 100);
    rebuild_slots_release(settings.rebuilds);
    do {
        const json_t *last = json_array_get(reported_replicas(), REPLICAS_MOST);
        const char *mode = last ? json_text_of(last, "mode") : "";

        replaced = strcmp(mode, "Rebuilding") == 0 || strcmp(mode, "Healthy") == 0;
        ck_assert_int_eq(pread(fd, now, sizeof(now), at), sizeof(now));
        repaired = memcmp(now, right, sizeof(now)) == 0;
        ck_assert(repaired || !replaced);
        poll(NULL, 0, 5);
    } while (!repaired);
    while (json_array_size(reported_replicas()) != REPLICAS_MOST ||
           strcmp(json_text_of(json_array_get(reported_replicas(), REPLICAS_MOST - 1), "replicaId"),
                  uid_of('h')) != 0)
        poll(NULL, 0, 5);
    await_phase(VOLUME, "Healthy");
}
END_TEST

START_TEST(a_volume_waits_for_a_quorum) {
    const char *away[] = { arena_join(arena, top, "/one", NULL),
                           arena_join(arena, top, "/two", NULL) };

    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(rename(paths[i], away[i]), 0);
    assign(NODE, "64Mi");
    await_phase(VOLUME, "Offline");
    ck_assert_str_eq(reported_state(), "Down");
    ck_assert_ptr_nonnull(strstr(json_text_of(reported(VOLUME), "message"), "1 of 2"));
    ck_assert_int_eq(rename(away[0], paths[0]), 0);
    await_phase(VOLUME, "Degraded");
    ck_assert_int_eq(rename(away[1], paths[1]), 0);
    assert_healthy();
}
END_TEST

START_TEST(a_hung_daemon_delays_no_other_volume) {
    json_t *document = volume_document(NODE, "64Mi", 9);
    struct replica replica = place(0);
    struct generation first;
    struct assignment *assignment;

    json_object_set_new(json_object_get(document, "metadata"), "uid", json_string(OTHER));
    json_object_set_new(
        json_object_get(document, "spec"), "replicas",
        json_pack("[{s:s, s:s, s:s}]", "uid", VOLUME, "poolName", names[0], "path", paths[0]));
    replica.uid = VOLUME;
    generation_first(OTHER, SIZE, (const char *[]){ VOLUME }, 1, &first);
    ck_assert_int_eq(replica_create(&replica, OTHER, INT64_C(1) << 30, &first, &err), 0);
    serve();
    kill(daemon_pid(), SIGSTOP);
    assignment = assignment_of(ASSIGNMENT_VOLUME, document);
    targets_set(targets, &assignment, 1);
    assignment_release(assignment);
    await_phase(OTHER, "Healthy");
    kill(daemon_pid(), SIGCONT);
    ck_assert(checker_write(&checker, 10));
    set_deleting(document);
    assignment = assignment_of(ASSIGNMENT_VOLUME, document);
    targets_set(targets, &assignment, 1);
    assignment_release(assignment);
    while (volume_controller_finds(&settings, OTHER))
        poll(NULL, 0, 5);
}
END_TEST

/* The controller reads statuses only when woken: the hang starts between two reads. */
static bool serve_for_pools_that_hang(struct health_probes *health_probes) {
    ck_assert(targets_stop(targets, 60000));
    settings.health_probes = health_probes;
    settings.hang_ms = 100;
    settings.watch_ms = 1000000;
    targets = targets_new(&settings);
    serve();
    checker_disconnect(&checker);
    return true;
}

static bool serve_with_probes(void) {
    return own_mounts() && serve_for_pools_that_hang(health_probes_new());
}

static void assert_goes_on_without_the_second(void) {
    assign(NODE, "64Mi");
    await_phase(VOLUME, "Degraded");
    connect_checker();
    ck_assert(checker_write(&checker, 30));
    ck_assert(checker_read(&checker));
    ck_assert_str_eq(reported_mode(0), "Healthy");
    ck_assert_str_ne(reported_mode(1), "Healthy");
}

START_TEST(a_hung_pool_costs_its_replica_alone) {
    int disk = serve_with_probes() ? hung_disk(paths[1]) : -1;

    if (disk < 0)
        return;
    assert_goes_on_without_the_second();
    ck_assert(targets_stop(targets, 60000)); /* no thread waits for it */

    settings.watch_ms = 20;
    targets = targets_new(&settings);
    assign(NODE, "64Mi");
    await_phase(VOLUME, "Degraded");
    ck_assert(checker_write(&checker, 10)); /* the next controller adopts the daemon */
    hung_disk_end(paths[1], disk);
    assert_healthy();
}
END_TEST

/* A controller that reads statuses only when woken is unresponsive until the read has returned,
 * too. */
static void assign_until_healthy(void) {
    do {
        assign(NODE, "64Mi");
        poll(NULL, 0, 50);
    } while (strcmp(reported_phase(VOLUME), "Healthy") != 0);
    assert_healthy();
}

/* As if each probe had succeeded: the read of the replica finds the pool unresponsive. */
START_TEST(a_pool_that_hangs_after_a_probe_costs_its_replica_alone) {
    int disk = own_mounts() && serve_for_pools_that_hang(NULL) ? hung_disk(paths[1]) : -1;

    if (disk < 0)
        return;
    assert_goes_on_without_the_second();
    ck_assert(was_logged("unresponsive pool excluded"));
    hung_disk_end(paths[1], disk);
    assign_until_healthy();
}
END_TEST

static bool has_thread(const char *name) {
    DIR *list = opendir("/proc/self/task");
    const struct dirent *entry;
    bool found = false;

    ck_assert_ptr_nonnull(list);
    while (!found && (entry = readdir(list))) {
        char path[300], text[32] = "";
        autoclose int fd = -1;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        found = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
                strncmp(text, name, strlen(name)) == 0;
    }
    closedir(list);
    return found;
}

/* Nor does the end of a controller that waits for a read. */
START_TEST(a_controller_ends_during_a_status_read_that_hangs) {
    int disk = own_mounts() && serve_for_pools_that_hang(NULL) ? hung_disk(paths[1]) : -1;

    if (disk < 0)
        return;
    assign(NODE, "64Mi");
    while (!has_thread("pool call"))
        poll(NULL, 0, 5);
    ck_assert(targets_stop(targets, 60000));
    hung_disk_end(paths[1], disk);
    settings.watch_ms = 20;
    targets = targets_new(&settings);
    assign(NODE, "64Mi");
    assert_healthy();
}
END_TEST

/* The daemon ends and the next one starts while that call into the second pool hangs. */
static void begin_anew_with(const char *function, const char *file) {
    serve_for_pools_that_hang(NULL);
    calls_hold(function, arena_join(arena, paths[1], "/", uids[1], file, NULL));
    ck_assert_int_eq(daemon_kill(run, 10000, &err), 0);
    assert_goes_on_without_the_second();
    ck_assert_uint_eq(calls_held(), 1);
    calls_let_go();
    assign_until_healthy();
}

START_TEST(a_pool_that_hangs_when_a_replica_is_opened_costs_it_alone) {
    begin_anew_with("flock", "/epoch");
}
END_TEST

START_TEST(a_pool_that_hangs_when_a_replica_is_locked_costs_it_alone) {
    begin_anew_with("flock", "/lock");
}
END_TEST

START_TEST(a_pool_that_hangs_during_the_creation_of_a_replica_delays_no_volume) {
    const char *path = arena_join(arena, paths[1], "/", uids[1], NULL);

    serve_for_pools_that_hang(NULL);
    ck_assert_int_eq(rename(path, arena_join(arena, top, "/away", NULL)), 0);
    calls_hold("mkdirat", uids[1]);
    while (calls_held() == 0) {
        assign(NODE, "64Mi");
        poll(NULL, 0, 50);
    }
    assert_goes_on_without_the_second();
    calls_let_go();
    assign_until_healthy();
}
END_TEST

START_TEST(a_pool_that_hangs_during_adoption_costs_its_replica_alone) {
    serve_for_pools_that_hang(NULL);
    ck_assert(targets_stop(targets, 60000));
    calls_hold("flock", arena_join(arena, paths[1], "/", uids[1], "/epoch", NULL));
    targets = targets_new(&settings);
    assert_goes_on_without_the_second();
    ck_assert_uint_eq(calls_held(), 1);
    calls_let_go();
    assign_until_healthy();
}
END_TEST

START_TEST(a_pool_that_hangs_when_a_state_is_written_costs_its_replica_alone) {
    begin_anew_with("fsync", "/state.new");
}
END_TEST

START_TEST(a_pool_that_hangs_during_a_reset_delays_no_volume) {
    serve_for_pools_that_hang(NULL);
    ck_assert_int_eq(unlink(arena_join(arena, paths[1], "/", uids[1], "/data", NULL)), 0);
    calls_hold("ftruncate", arena_join(arena, paths[1], "/", uids[1], "/data", NULL));
    while (calls_held() == 0) {
        assign(NODE, "64Mi");
        poll(NULL, 0, 50);
    }
    assign(NODE, "128Mi");
    while (strcmp(json_text_of(reported(VOLUME), "capacity"), "128Mi") != 0)
        poll(NULL, 0, 5);
    assert_goes_on_without_the_second();
    calls_let_go();
    assign_until_healthy();
}
END_TEST

/* Otherwise another agent would start, and its replica would be changed by the late call. */
START_TEST(an_end_reports_whether_a_pool_may_still_change) {
    serve_for_pools_that_hang(NULL);
    calls_hold("fsync", arena_join(arena, paths[1], "/", uids[1], "/state.new", NULL));
    ck_assert_int_eq(daemon_kill(run, 10000, &err), 0);
    assert_goes_on_without_the_second();
    ck_assert_uint_eq(calls_held(), 1);
    ck_assert(!targets_stop(targets, 60000));
    calls_let_go();
    while (has_thread("pool call"))
        poll(NULL, 0, 5);
    targets = targets_new(&settings);
    assign_until_healthy();
}
END_TEST

/* Two of three replicas are sufficient; the third has no snapshot or a complete one. */
START_TEST(a_pool_that_hangs_when_a_snapshot_ends_costs_no_snapshot) {
    serve_for_pools_that_hang(NULL);
    calls_hold("fsync",
               arena_join(arena, paths[1], "/", uids[1], "/snapshot-" SNAPSHOT ".new", NULL));
    while (calls_held() == 0) {
        assign_snapshot(SNAPSHOT);
        poll(NULL, 0, 50);
    }
    await_phase(VOLUME, "Degraded");
    await_snapshot();
    ck_assert(holds(0, SNAPSHOT) && !holds(1, SNAPSHOT) && holds(2, SNAPSHOT));
    calls_let_go();
    do {
        assign_snapshot(SNAPSHOT);
        poll(NULL, 0, 50);
    } while (strcmp(reported_phase(VOLUME), "Healthy") != 0);
    assert_healthy();
    ck_assert(!holds(1, SNAPSHOT));
}
END_TEST

/* After the adoption of a daemon its replicas are compared at once. */
START_TEST(a_pool_that_hangs_when_replicas_are_compared_costs_its_replica_alone) {
    serve_for_pools_that_hang(NULL);
    ck_assert(targets_stop(targets, 60000));
    calls_hold("pread", arena_join(arena, paths[1], "/", uids[1], "/data", NULL));
    targets = targets_new(&settings);
    while (calls_held() == 0) {
        assign(NODE, "64Mi");
        poll(NULL, 0, 50);
    }
    assert_goes_on_without_the_second();
    ck_assert_uint_eq(calls_held(), 1);
    calls_let_go();
    assign_until_healthy();
}
END_TEST

/* The volume is released only after all calls of this node have ended. */
START_TEST(a_pool_that_hangs_during_reassignment_does_not_delay_it) {
    serve_for_pools_that_hang(NULL);
    calls_hold("fsync", arena_join(arena, paths[1], "/", uids[1], "/data", NULL));
    assign("", "64Mi");
    await_end();
    while (strcmp(reported_state(), "") != 0)
        poll(NULL, 0, 5);
    for (int i = 0; i < 100; i++, poll(NULL, 0, 5))
        targets_set(targets, NULL, 0);
    ck_assert_uint_eq(targets_count(targets), 1);
    assign(NODE, "64Mi");
    assert_goes_on_without_the_second();
    assign("", "64Mi");
    await_end();
    calls_let_go();
    while (targets_count(targets) > 0) {
        assign("", "64Mi");
        poll(NULL, 0, 5);
    }
    assign(NODE, "64Mi");
    assert_healthy();
}
END_TEST

static bool is_held(unsigned i) {
    autoclose int data =
        open(arena_join(arena, paths[i], "/", uids[i], "/data", NULL), O_RDONLY | O_CLOEXEC);

    return image_lock_look(data, &err) == IMAGE_HELD;
}

/* The daemon's write is blocked in the kernel, which delays its death: it releases the files of the
 * other pools, and the file of the write stays locked until the write has ended. */
START_TEST(a_pool_that_hangs_on_writes_costs_its_replica_alone_and_a_late_write_nothing) {
    const char *image = arena_join(arena, top, "/image", NULL);
    pid_t before;

    if (!frozen_disk_mount(paths[1], image))
        return;
    ck_assert_int_eq(pool_mark(paths[1], names[1], &err), 0);
    make_replica(1);
    ck_assert(targets_stop(targets, 60000));
    settings.health_probes = health_probes_new();
    settings.hang_ms = 100;
    targets = targets_new(&settings);
    serve();
    before = daemon_pid();
    ck_assert(disk_freeze(paths[1]));
    checker_send(&checker, 1);
    checker_disconnect(&checker);
    assert_goes_on_without_the_second();
    ck_assert_int_ne(daemon_pid(), before);
    ck_assert(is_held(1)); /* by the blocked daemon */
    ck_assert(disk_thaw(paths[1]));
    assign_until_healthy();
    ck_assert(checker_read(&checker));
    checker_disconnect(&checker);
    assign("", "64Mi");
    await_end();
    ck_assert_int_eq(umount2(paths[1], MNT_DETACH), 0);
}
END_TEST

static int64_t generation_of(unsigned i) {
    const struct replica replica = { .pool = paths[i], .uid = uids[i] };
    struct replica_probe seen;

    replica_probe(&replica, VOLUME, &seen);
    return seen.state.generation.id.number;
}

static bool says_that_it_waits(void) {
    const char *message = json_text_of(reported(VOLUME), "message");

    return message && strstr(message, "does not answer");
}

/* After a brief hang of a disk the daemon is adopted with all its replicas. */
START_TEST(a_pool_that_hangs_briefly_at_the_start_costs_nothing) {
    int disk = -1;
    int64_t before;
    pid_t pid;

    if (!own_mounts() || !serve_for_pools_that_hang(NULL))
        return;
    before = generation_of(1);
    pid = daemon_pid();
    ck_assert(targets_stop(targets, 60000));
    disk = hung_disk(paths[1]);
    settings.hang_ms = 600000;
    settings.watch_ms = 20;
    targets = targets_new(&settings);
    assign(NODE, "64Mi");
    while (disk >= 0 && !says_that_it_waits())
        poll(NULL, 0, 20);
    connect_checker(); /* the volume is served meanwhile */
    ck_assert(checker_read(&checker));
    hung_disk_end(paths[1], disk);
    assert_healthy();
    ck_assert_int_eq(daemon_pid(), pid);
    ck_assert_int_eq(generation_of(0), before);
    ck_assert_int_eq(generation_of(1), before);
}
END_TEST

/* For a forced recovery an unresponsive pool counts as lost. */
START_TEST(forced_recovery_is_evaluated_while_the_other_pools_hang) {
    int disks[2];

    if (!serve_with_probes())
        return;
    for (unsigned i = 0; i < 2; i++) {
        disks[i] = hung_disk(paths[i + 1]);
        if (disks[i] < 0)
            return;
    }
    assign(NODE, "64Mi");
    await_phase(VOLUME, "Offline");
    request_recovery(5, 0, 0);
    await_reported_recovery(5, "Able", "");
    ck_assert_str_eq(reported_state(), "Down");
    request_recovery(5, 0, 5);
    await_reported_recovery(5, "Done", "");
    connect_checker();
    ck_assert(checker_write(&checker, 30));
    ck_assert(checker_read(&checker));
    for (unsigned i = 0; i < 2; i++)
        hung_disk_end(paths[i + 1], disks[i]);
    while (strcmp(reported_phase(VOLUME), "Healthy") != 0) {
        request_recovery(5, 0, 5);
        poll(NULL, 0, 50);
    }
    assert_healthy();
}
END_TEST

/* No other replica has its data: the volume waits, and reports the reason. */
static void assert_waits_for_two(void) {
    int disks[2];

    for (unsigned i = 0; i < 2; i++) {
        disks[i] = hung_disk(paths[i + 1]);
        if (disks[i] < 0)
            return;
    }
    assign(NODE, "64Mi");
    await_phase(VOLUME, "Offline");
    ck_assert_ptr_nonnull(strstr(json_text_of(reported(VOLUME), "message"), "does not answer"));
    ck_assert_str_eq(reported_state(), "Serving");
    for (unsigned i = 0; i < 2; i++)
        hung_disk_end(paths[i + 1], disks[i]);
    assign_until_healthy();
}

START_TEST(a_volume_waits_for_needed_pools) {
    if (serve_with_probes())
        assert_waits_for_two();
}
END_TEST

START_TEST(a_volume_waits_for_needed_pools_that_hang_after_a_probe) {
    if (own_mounts() && serve_for_pools_that_hang(NULL))
        assert_waits_for_two();
}
END_TEST

START_TEST(remains_of_a_crashed_machine_are_removed) {
    serve();
    checker_disconnect(&checker);
    ck_assert(targets_stop(targets, 60000));
    ck_assert_int_eq(daemon_kill(run, 10000, &err), 0);
    targets = targets_new(&settings);
    targets_adopt(targets);
    ck_assert(!volume_controller_finds(&settings, VOLUME));
    ck_assert_ptr_null(targets_local_volumes(targets, arena)[0]);
    assign(NODE, "64Mi");
    assert_healthy();
}
END_TEST

/* A client that reads its attributes or data does not wait. */
static bool file_says(const char *path, int64_t at, char byte) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char got = 0;

    return fd >= 0 && pread(fd, &got, 1, at) == 1 && got == byte;
}

static const char *reported_address(void) {
    const char *address = json_text_of(json_object_get(reported(VOLUME), "target"), "address");

    return address ? address : "";
}

static void assign_export(const char *export, const char *size) {
    json_t *document = volume_document(NODE, size, version++);

    json_object_set_new(json_object_get(document, "spec"), "export", json_string(export));
    set(document);
}

static void await_address(const char *address) {
    while (strcmp(reported_address(), address) != 0)
        poll(NULL, 0, 5);
}

START_TEST(a_volume_is_exported_as_a_file_after_the_death_of_any_process) {
    const char *path = arena_join(arena, run, "/volume", NULL);
    const char *file_run = arena_join(arena, run, "/file", NULL);

    if (access("/dev/fuse", W_OK) < 0 || geteuid() != 0)
        return;
    serve();
    assign_export("file", "64Mi");
    await_address(path);
    ck_assert(file_says(path, 50 << 20, 0));
    ck_assert_int_eq(daemon_kill(file_run, 10000, &err), 0);
    while (!file_says(path, 50 << 20, 0))
        poll(NULL, 0, 5);

    checker_disconnect(&checker); /* the whole machine except for the mount */
    ck_assert(targets_stop(targets, 60000));
    ck_assert_int_eq(daemon_kill(run, 10000, &err), 0);
    ck_assert_int_eq(daemon_kill(file_run, 10000, &err), 0);
    targets = targets_new(&settings);
    targets_adopt(targets);
    ck_assert(!volume_controller_finds(&settings, VOLUME));
    assign_export("file", "64Mi");
    assert_healthy();
    while (!file_says(path, 50 << 20, 0))
        poll(NULL, 0, 5);
    checker_disconnect(&checker);
    assign("", "64Mi");
    await_end();
}
END_TEST

/* The size in bytes; -1: there is none. */
static int64_t size_of_device(const char *path) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
}

static unsigned count_devices(void) {
    struct loop_name *devices;
    int count = loop_list(arena, "scoria-target:" VOLUME, &devices, &err);

    ck_assert_int_ge(count, 0);
    return (unsigned)count;
}

/* With O_DIRECT, as QEMU does. */
static bool device_takes(const char *path, char byte, off_t at) {
    autoclose int fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
    char *block = aligned_alloc(4096, 4096);
    bool taken;

    memset(block, byte, 4096);
    taken = fd >= 0 && pwrite(fd, block, 4096, at) == 4096 && fsync(fd) == 0;
    free(block);
    return taken;
}

/* Read with O_DIRECT: a device whose file has died still has what the page cache has. */
static bool device_says(const char *path, off_t at, char byte) {
    autoclose int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    char *block = aligned_alloc(4096, 4096);
    bool same = fd >= 0 && pread(fd, block, 4096, at) == 4096 && *block == byte;

    free(block);
    return same;
}

START_TEST(a_volume_is_exported_as_a_device_after_the_death_of_any_process) {
    const char *path = device_export_path(arena, VOLUME);
    const char *file_run = arena_join(arena, run, "/file", NULL);

    if (access("/dev/fuse", W_OK) < 0 || access("/dev/loop-control", W_OK) < 0 || geteuid() != 0)
        return;
    serve();
    assign_export("device", "64Mi");
    await_address(path);
    ck_assert_int_eq(size_of_device(path), 64 << 20);
    ck_assert(device_takes(path, 'd', 50 << 20));
    assign_export("device", "96Mi");
    while (size_of_device(path) != 96 << 20)
        poll(NULL, 0, 5);
    ck_assert(device_takes(path, 'e', 90 << 20));
    ck_assert_uint_eq(count_devices(), 1);

    ck_assert_int_eq(daemon_kill(run, 10000, &err), 0); /* requests wait until it is back */
    ck_assert(device_says(path, 50 << 20, 'd'));
    ck_assert_int_eq(daemon_kill(file_run, 10000, &err), 0); /* a device of a new file */
    while (!device_says(path, 50 << 20, 'd'))
        poll(NULL, 0, 5);

    checker_disconnect(&checker); /* the agent alone: the device stays as it is */
    ck_assert(targets_stop(targets, 60000));
    ck_assert(device_says(path, 90 << 20, 'e'));
    targets = targets_new(&settings);
    targets_adopt(targets);
    assign_export("device", "96Mi");
    assert_healthy();
    await_address(path);
    ck_assert(device_says(path, 90 << 20, 'e'));
    while (count_devices() != 1)
        poll(NULL, 0, 5);

    assign_export("nbd", "96Mi");
    while (strstr(reported_address(), "nbd") == NULL)
        poll(NULL, 0, 5);
    ck_assert(!device_export_exists(VOLUME));
    ck_assert_uint_eq(count_devices(), 0);
    assign_export("device", "96Mi");
    await_address(path);
    checker_disconnect(&checker);
    assign("", "96Mi");
    await_end();
    ck_assert(!device_export_exists(VOLUME));
    ck_assert_uint_eq(count_devices(), 0);
}
END_TEST

static bool has_devices(void) {
    return access("/dev/fuse", W_OK) == 0 && access("/dev/loop-control", W_OK) == 0 &&
           geteuid() == 0;
}

static void serve_device(void) {
    serve();
    assign_export("device", "64Mi");
    await_address(device_export_path(arena, VOLUME));
    checker_disconnect(&checker);
}

static void assert_device_ends(void) {
    assign("", "64Mi");
    await_end();
    ck_assert(!device_export_exists(VOLUME));
    ck_assert_uint_eq(count_devices(), 0);
}

/* The device that the link leads to; false: there was none at this moment. */
static bool detach_device(const char *path, char ret_device[32]) {
    ssize_t length = readlink(path, ret_device, 31);
    autoclose int fd = -1;

    ret_device[length > 0 ? length : 0] = '\0';
    fd = open(ret_device, O_RDWR | O_CLOEXEC);
    return fd >= 0 && ioctl(fd, LOOP_CLR_FD, 0) == 0;
}

/* With `losetup -D`, for example: its number may be that of any file afterwards. */
START_TEST(a_device_that_another_program_has_detached_is_replaced) {
    const char *path = device_export_path(arena, VOLUME);
    const char *other = arena_join(arena, top, "/other", NULL);
    autoclose int taken = -1, file = -1;
    char device[32] = "";

    if (!has_devices())
        return;
    serve_device();
    while (!detach_device(path, device))
        poll(NULL, 0, 5);
    file = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(file, 1 << 20), 0);
    taken = open(device, O_RDWR | O_CLOEXEC);
    while (ioctl(taken, LOOP_SET_FD, file) < 0) /* it ends a moment after its last user */
        poll(NULL, 0, 5);
    for (int i = 0; i < 4000 && size_of_device(path) != 64 << 20; i++)
        poll(NULL, 0, 5);
    ck_assert_int_eq(size_of_device(path), 64 << 20);
    ck_assert(device_takes(path, 'd', 50 << 20));
    assert_device_ends();
    ck_assert_int_eq(size_of_device(device), 1 << 20);
    ck_assert_int_eq(ioctl(taken, LOOP_CLR_FD, 0), 0);
}
END_TEST

START_TEST(a_device_of_an_unresponsive_file_ends_with_its_volume) {
    if (!has_devices())
        return;
    serve_device();
    ck_assert_int_eq(kill(daemon_pid_of(arena_join(arena, run, "/file", NULL)), SIGSTOP), 0);
    poll(NULL, 0, 1100); /* attributes of the file are valid for a second */
    assert_device_ends();
}
END_TEST

/* As after a kill of the agent at this moment. */
START_TEST(a_device_without_a_link_ends_with_its_volume) {
    const char *draft = arena_join(arena, device_export_path(arena, VOLUME), ".new", NULL);

    if (!has_devices())
        return;
    mkdir("/dev/scoria", 0755);
    ck_assert_int_eq(mkdir(draft, 0700), 0);
    serve();
    assign_export("device", "64Mi");
    for (int i = 0; i < 600 && count_devices() == 0; i++)
        poll(NULL, 0, 5);
    checker_disconnect(&checker);
    assign("", "64Mi");
    await_end();
    ck_assert_int_eq(rmdir(draft), 0);
    ck_assert_uint_eq(count_devices(), 0);
}
END_TEST

CHECK_MAIN_WITH(
    "targets", adopt_daemons(), begin, end, a_new_address_of_a_replica_disturbs_no_client,
    a_volume_is_recovered_from_one_replica_and_the_others_rebuilt,
    a_recovery_that_the_document_does_not_know_is_reported,
    a_served_volume_with_undecided_blocks_is_recovered_from_one_replica,
    a_remaining_replica_is_rebuilt_though_another_is_lost,
    a_served_volume_is_not_recovered_from_one_replica,
    a_served_volume_that_lost_its_quorum_may_be_recovered,
    a_refused_recovery_is_about_no_later_loss,
    a_volume_that_regained_its_quorum_is_not_recovered_from_one_replica,
    a_volume_is_not_recovered_from_an_incomplete_replica,
    a_recovery_request_is_applied_at_most_once_after_any_death,
    a_volume_is_served_while_assigned_and_nothing_is_left_afterwards,
    an_assignment_withdrawn_before_its_start_is_reported,
    no_target_starts_before_the_document_has_its_claim,
    a_reassigned_volume_is_served_after_its_new_claim,
    an_unlisted_volume_that_was_never_served_is_forgotten,
    a_daemon_outlives_the_agent_and_is_adopted_without_the_api,
    an_adopted_daemon_takes_no_epoch_of_another_node, a_dead_daemon_is_restarted,
    a_lost_replica_is_rebuilt, a_failed_needed_replica_does_not_prevent_the_rebuild_of_others,
    a_served_volume_is_resized, a_volume_is_exported_as_a_file_after_the_death_of_any_process,
    a_volume_is_exported_as_a_device_after_the_death_of_any_process,
    a_device_that_another_program_has_detached_is_replaced,
    a_device_of_an_unresponsive_file_ends_with_its_volume,
    a_device_without_a_link_ends_with_its_volume, limits_of_clients_follow_the_document,
    a_damaged_replica_is_repaired, damage_without_an_agent_is_found_after_adoption,
    replicas_are_compared_periodically,
    a_volume_with_blocks_without_a_majority_is_degraded_until_they_have_one,
    a_snapshot_is_taken_once_while_clients_write,
    a_removed_snapshot_is_cancelled_before_the_generation_is_observed,
    a_rebuild_has_ended_before_a_snapshot_begins,
    a_volume_lost_during_a_rebuild_frees_its_rebuild_slot,
    the_address_of_a_hidden_volume_is_not_reported,
    a_volume_is_reverted_before_any_client_is_admitted,
    a_revert_starts_when_its_document_has_the_attempt,
    a_revert_finishes_after_the_death_of_any_process, a_replica_is_removed_and_added_again,
    another_replica_is_rebuilt_after_one_that_cannot_be_rebuilt,
    a_damaged_replica_is_repaired_before_another_is_replaced, a_volume_waits_for_a_quorum,
    a_hung_daemon_delays_no_other_volume, a_hung_pool_costs_its_replica_alone,
    a_pool_that_hangs_after_a_probe_costs_its_replica_alone,
    a_controller_ends_during_a_status_read_that_hangs,
    a_pool_that_hangs_on_writes_costs_its_replica_alone_and_a_late_write_nothing,
    a_pool_that_hangs_when_a_replica_is_opened_costs_it_alone,
    a_pool_that_hangs_when_a_replica_is_locked_costs_it_alone,
    a_pool_that_hangs_during_the_creation_of_a_replica_delays_no_volume,
    a_pool_that_hangs_during_adoption_costs_its_replica_alone,
    a_pool_that_hangs_when_a_state_is_written_costs_its_replica_alone,
    a_pool_that_hangs_during_a_reset_delays_no_volume,
    a_pool_that_hangs_when_replicas_are_compared_costs_its_replica_alone,
    an_end_reports_whether_a_pool_may_still_change,
    a_pool_that_hangs_when_a_snapshot_ends_costs_no_snapshot,
    a_pool_that_hangs_during_reassignment_does_not_delay_it,
    a_pool_that_hangs_briefly_at_the_start_costs_nothing,
    forced_recovery_is_evaluated_while_the_other_pools_hang, a_volume_waits_for_needed_pools,
    a_volume_waits_for_needed_pools_that_hang_after_a_probe,
    remains_of_a_crashed_machine_are_removed)
