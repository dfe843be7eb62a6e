#include "replication/node/pools.h"

#include "replication/engine/replica_snapshot.h"
#include "replication/node/health_probes.h"
#include "replication/node/pool_lock.h"
#include "replication/node/snapshot_copier.h"
#include "tests/lib/hung_disk.h"
#include "tests/lib/wall.h"

#include "tests/unit/replication/node/storage_test.h"

#define POOL_PATH "/v3/replica_pools/pool-a"

static struct pools *pools;
static struct health_probes *health_probes;
static struct pool_settings of[POOLS];
static struct pool_lock lock, another;
static int64_t heartbeat_ms;

static void start(void) {
    struct pools_settings settings = {
        .pools = of,
        .count = 1,
        .node = NODE,
        .api = api,
        .reports = reports,
        .health_probes = health_probes,
        .heartbeat_ms = heartbeat_ms,
        .check_ms = 5,
    };

    of[0] = (struct pool_settings){ names[0], paths[0],
                                    json_keep(arena, json_pack("{s:s}", "disk", "ssd")), &lock };
    ck_assert_int_eq(pools_start(&settings, &pools, &err), 0);
}

static void begin(void) {
    begin_storage();
    begin_reports(1);
    heartbeat_ms = 2000;
    lock = another = POOL_LOCK_NONE;
}

static void end(void) {
    ck_assert(pools_stop(pools, 60000));
    ck_assert(health_probes_stop(health_probes, 60000));
    pool_lock_end(&lock);
    pool_lock_end(&another);
    end_storage();
}

static void answer_all(int known, int taken) {
    script_server_clear(server);
    answer("GET", POOL_PATH, known, known == 200 ? "{\"replica_pool\": {}}" : NULL);
    answer("PUT", POOL_PATH, taken, taken == 200 ? "{}" : NULL);
    answer("PUT", NULL, 200, "{}");
}

static const char *file(unsigned i, const char *name) {
    return arena_join(arena, paths[0], "/", i < POOLS ? uids[i] : "", i < POOLS ? "/" : "", name,
                      NULL);
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static void touch(const char *path) {
    autoclose int fd = open(path, O_WRONLY | O_CREAT, 0600);

    ck_assert_int_ge(fd, 0);
}

static const char *reported_state(void) {
    unsigned count = script_server_count(server, "PUT", POOL_PATH);
    const char *body =
        count > 0 ? script_server_request(server, "PUT", POOL_PATH, count - 1)->body : "{}";
    const json_t *pool =
        json_object_get(json_parse(arena, body, strlen(body), NULL), "replica_pool");
    const char *state = json_text_of(pool, "state");

    return state ? state : "";
}

static void await_state(const char *state) {
    while (strcmp(reported_state(), state) != 0)
        poll(NULL, 0, 2);
}

static void assign(json_t *document) {
    struct assignment *assignment = assignment_of(ASSIGNMENT_REPLICA, document);

    pools_set(pools, &assignment, 1);
    assignment_release(assignment);
}

static void probe(struct replica_probe *ret) {
    const struct replica replica = { .pool = paths[0], .uid = uids[0] };

    replica_probe(&replica, VOLUME, ret);
}

START_TEST(an_empty_directory_of_a_new_pool_is_marked_and_reported) {
    const struct script_request *request;
    const json_t *sent;

    answer_all(404, 200);
    ck_assert_int_eq(mkdir(file(POOLS, "lost+found"), 0700), 0);
    start();
    await_state("Online");
    ck_assert(exists(file(POOLS, POOL_MARK)));
    request = script_server_request(server, "PUT", POOL_PATH, 0);
    sent = json_object_get(json_parse(arena, request->body, strlen(request->body), &err),
                           "replica_pool");
    ck_assert_str_eq(json_text_of(sent, "node"), NODE);
    ck_assert_str_eq(json_text_of(sent, "path"), paths[0]);
    ck_assert_str_eq(json_text_of(json_object_get(sent, "labels"), "disk"), "ssd");
    ck_assert(json_is_false(json_object_get(sent, "read_only")));
    ck_assert_int_gt(json_integer_value(json_object_get(sent, "total_bytes")), 0);
}
END_TEST

START_TEST(an_empty_directory_of_a_known_pool_counts_as_not_mounted) {
    answer_all(200, 200);
    start();
    await_state("Gone");
    assign(replica_document(0, 1));
    await_phase(uids[0], "Init");
    ck_assert(!exists(file(POOLS, POOL_MARK)));
    ck_assert(!exists(file(0, "")));

    touch(file(POOLS, POOL_MARK)); /* put there by an operator */
    await_state("Online");
    await_phase(uids[0], "Healthy");
}
END_TEST

START_TEST(no_pool_is_marked_while_the_api_is_unavailable) {
    answer_all(503, 200);
    start();
    await_state("Gone");
    ck_assert(script_server_await(server, "GET", POOL_PATH, 3));
    ck_assert(!exists(file(POOLS, POOL_MARK)));
    answer_all(404, 200);
    await_state("Online");
}
END_TEST

/* An empty directory counts as not mounted, unless the API itself does not know the pool. */
START_TEST(an_answer_of_a_gateway_makes_no_new_pool) {
    answer("GET", POOL_PATH, 404, "<html>");
    answer("PUT", NULL, 200, "{}");
    start();
    await_state("Gone");
    ck_assert(script_server_await(server, "GET", POOL_PATH, 3));
    ck_assert(!exists(file(POOLS, POOL_MARK)));
    answer_all(404, 200);
    await_state("Online");
}
END_TEST

START_TEST(a_directory_with_another_mark_is_not_changed) {
    answer_all(404, 200);
    touch(file(POOLS, "precious"));
    start();
    await_state("Foreign");
    ck_assert_int_eq(pool_mark(paths[0], "pool-b", &err), 0);
    ck_assert_int_eq(unlink(file(POOLS, "precious")), 0);
    poll(NULL, 0, 20);
    assign(replica_document(0, 1));
    await_phase(uids[0], "Init");
    ck_assert_str_eq(reported_state(), "Foreign");
    answer_all(200, 200); /* the API knows the name */
    ck_assert_int_eq(unlink(file(POOLS, POOL_MARK)), 0);
    ck_assert_int_eq(rmdir(paths[0]), 0);
    await_state("Gone");
    ck_assert_int_eq(mkdir(paths[0], 0700), 0);
    ck_assert_int_eq(pool_mark(paths[0], "pool-a", &err), 0);
    await_phase(uids[0], "Healthy");
}
END_TEST

START_TEST(a_pool_of_another_agent_is_not_changed_or_reported) {
    answer_all(200, 200);
    ck_assert_int_eq(pool_mark(paths[0], names[0], &err), 0);
    ck_assert_int_eq(pool_lock_keep(&another, paths[0], &err), 0);
    start();
    assign(replica_document(0, 1));
    poll(NULL, 0, 100);
    ck_assert_uint_eq(script_server_count(server, "PUT", NULL), 0);
    ck_assert(!exists(file(0, "")));
    pool_lock_end(&another); /* the other agent has ended */
    await_state("Online");
    await_phase(uids[0], "Healthy");
    ck_assert_int_eq(pool_lock_keep(&another, paths[0], &err), -1);
}
END_TEST

START_TEST(a_replica_is_created_with_the_first_generation_once) {
    const char *empty = arena_join(arena, top, "/empty", NULL);
    struct replica_probe seen;

    answer_all(404, 200);
    start();
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
    probe(&seen);
    ck_assert_int_eq(seen.state.mark, REPLICA_CLEAN);
    ck_assert_int_eq(seen.state.generation.id.number, 1);
    ck_assert_uint_eq(seen.state.generation.count, 3);
    ck_assert_int_eq(seen.bytes, INT64_C(1) << 30);

    /* The whole replica is lost, and none of its data come back by themselves. */
    ck_assert_int_eq(mkdir(empty, 0700), 0);
    ck_assert_int_eq(renameat2(AT_FDCWD, empty, AT_FDCWD, file(0, ""), RENAME_EXCHANGE), 0);
    assign(replica_document(0, 2));
    await_phase(uids[0], "Recreate");
    probe(&seen);
    ck_assert_int_eq(seen.state.mark, REPLICA_EMPTY);
}
END_TEST

START_TEST(data_without_a_state_stay) {
    struct replica_probe seen;
    char block[65536] = "data";
    autoclose int fd = -1;

    answer_all(404, 200);
    start();
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
    fd = open(file(0, "data"), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, block, sizeof(block), 0), sizeof(block));
    fsync(fd);
    ck_assert_int_eq(unlink(file(0, "state")), 0);
    assign(replica_document(0, 2));
    await_phase(uids[0], "Error");
    probe(&seen);
    ck_assert_int_ge(seen.used_bytes, sizeof(block));
    ck_assert(!seen.has_state);
}
END_TEST

/* Reading its status fails, for which a file of another type stands here: its state is unknown. */
START_TEST(an_unreadable_replica_is_offline) {
    struct replica_probe seen;

    answer_all(404, 200);
    start();
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
    ck_assert_int_eq(rename(file(0, "epoch"), file(0, "before")), 0);
    ck_assert_int_eq(symlink("before", file(0, "epoch")), 0);
    assign(replica_document(0, 2));
    await_phase(uids[0], "Offline");
    ck_assert_int_eq(unlink(file(0, "epoch")), 0);
    ck_assert_int_eq(rename(file(0, "before"), file(0, "epoch")), 0);
    await_phase(uids[0], "Healthy");
    probe(&seen);
    ck_assert_int_eq(seen.state.mark, REPLICA_CLEAN);
}
END_TEST

/* Before their next check is due. */
START_TEST(replicas_of_a_pool_that_fails_are_reported_at_once) {
    const char *away = arena_join(arena, paths[0], "-away", NULL);

    heartbeat_ms = 3600000;
    answer_all(404, 200);
    start();
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
    ck_assert_int_eq(rename(paths[0], away), 0);
    await_phase(uids[0], "Offline");
    await_state("Gone");
    ck_assert_int_eq(rename(away, paths[0]), 0);
    await_phase(uids[0], "Healthy");
    await_state("Online");
}
END_TEST

START_TEST(a_replica_that_existed_before_is_created_empty) {
    json_t *document = replica_document(0, 1);
    struct replica_probe seen;

    answer_all(404, 200);
    set_phase(document, "Healthy");
    start();
    assign(document);
    await_phase(uids[0], "Recreate");
    probe(&seen);
    ck_assert_int_eq(seen.state.mark, REPLICA_EMPTY);
}
END_TEST

START_TEST(a_replica_added_later_is_created_empty) {
    json_t *document = replica_document(0, 1);

    json_object_del(json_object_get(document, "spec"), "members");
    answer_all(404, 200);
    start();
    assign(document);
    await_phase(uids[0], "Recreate");
}
END_TEST

START_TEST(data_are_deleted_only_by_their_document) {
    json_t *document = replica_document(0, 2);

    answer_all(404, 200);
    start();
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
    pools_set(pools, NULL, 0); /* an incomplete list */
    poll(NULL, 0, 20);
    ck_assert(exists(file(0, "data")));

    set_deleting(document);
    assign(document);
    await_phase(uids[0], "Deleted");
    ck_assert(!exists(file(0, "")));
}
END_TEST

START_TEST(data_stay_while_the_pool_is_another_or_not_accepted) {
    json_t *document = replica_document(0, 2);
    const char *away = arena_join(arena, top, "/away", NULL);

    answer_all(404, 200);
    start();
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
    answer_all(200, 409);                        /* the pool of another node has the name */
    ck_assert_int_eq(rename(paths[0], away), 0); /* not mounted any more */
    ck_assert_int_eq(mkdir(paths[0], 0700), 0);
    await_state("Gone");
    set_deleting(document);
    assign(document);
    await_phase(uids[0], "Offline");

    ck_assert_int_eq(rmdir(paths[0]), 0);
    ck_assert_int_eq(rename(away, paths[0]), 0);
    await_state("Online");
    poll(NULL, 0, 20);
    ck_assert_str_eq(reported_phase(uids[0]), "Offline");
    ck_assert(exists(file(0, "data")));
    answer_all(200, 200);
    await_phase(uids[0], "Deleted");
}
END_TEST

/* During a suspend the pool may have been taken over by another node. */
START_TEST(data_stay_after_a_suspend_until_the_api_accepts_the_pool) {
    json_t *document = replica_document(0, 2);

    answer_all(404, 200);
    start();
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
    answer_all(200, 503);
    boot_pass(3600);
    set_deleting(document);
    assign(document);
    await_phase(uids[0], "Offline");
    ck_assert(exists(file(0, "data")));
    answer_all(200, 200);
    await_phase(uids[0], "Deleted");
}
END_TEST

START_TEST(a_replica_of_another_path_or_volume_is_not_created) {
    json_t *elsewhere = replica_document(0, 1), *stranger = replica_document(0, 2);

    json_object_set_new(json_object_get(elsewhere, "spec"), "path", json_string("/srv/other"));
    json_object_set_new(json_object_get(stranger, "spec"), "volumeId", json_string(uids[2]));
    answer_all(404, 200);
    start();
    assign(elsewhere);
    await_phase(uids[0], "Init");
    assign(replica_document(0, 2));
    await_phase(uids[0], "Healthy");
    json_object_set_new(json_object_get(stranger, "metadata"), "generation", json_integer(3));
    assign(stranger);
    await_phase(uids[0], "Error");
    ck_assert(exists(file(0, "data")));
}
END_TEST

/* ---- snapshots and clones ---- */

#define SNAPSHOT "00000000-0000-4000-8000-0000000000e1"
#define OTHER    "00000000-0000-4000-8000-0000000000e2"
#define CONTENT  "what it held"

static struct replica place_in(unsigned pool, const char *uid) {
    return (struct replica){ .pool = paths[pool], .uid = uid };
}

/* A replica of another volume in that pool, with a snapshot. */
static void make_source(unsigned pool, const char *snapshot) {
    const struct replica replica = place_in(pool, uids[2]);
    const char *path;
    autoclose int fd = -1;

    ck_assert_int_eq(replica_create(&replica, uids[2], SIZE, NULL, &err), 0);
    ck_assert_int_eq(replica_snapshot_begin(&replica, snapshot, SIZE, arena, &path, &err), 0);
    fd = open(path, O_WRONLY);
    for (int part = 2; part <= 16; part *= 2) /* more than a file without data has */
        ck_assert_int_eq(pwrite(fd, CONTENT, sizeof(CONTENT), SIZE / part), sizeof(CONTENT));
    ck_assert_int_eq(replica_snapshot_end(&replica, snapshot, &err), 0);
}

static void assert_content(const char *path) {
    char content[sizeof(CONTENT)] = "";
    autoclose int fd = open(path, O_RDONLY);

    ck_assert_int_eq(pread(fd, content, sizeof(content), SIZE / 2), sizeof(content));
    ck_assert_str_eq(content, CONTENT);
}

/* Of the replica: {"uid": …, "phase": …}; NULL: it is not reported. */
static const json_t *reported_snapshot(const char *uid) {
    const json_t *list = json_object_get(reported(uids[0]), "snapshots");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_text_of(json_array_get(list, i), "uid"), uid) == 0)
            return json_array_get(list, i);
    }
    return NULL;
}

static int64_t reported_generation(void) {
    return json_integer_value(json_object_get(reported(uids[0]), "observedGeneration"));
}

static void assign_snapshots(int version, json_t *list) {
    json_t *document = replica_document(0, version);

    json_object_set_new(json_object_get(document, "spec"), "snapshots", list);
    assign(document);
    while (reported_generation() < version)
        poll(NULL, 0, 5);
}

static void await_snapshot(const char *uid, const char *phase) {
    const json_t *one;

    while (!(one = reported_snapshot(uid)) || strcmp(json_text_of(one, "phase"), phase) != 0)
        poll(NULL, 0, 5);
}

START_TEST(a_clone_has_the_data_of_its_source_after_any_crash) {
    json_t *document = replica_document(0, 1);
    char scrap[65536] = "half";
    struct replica_probe seen;
    autoclose int fd = -1;

    answer_all(404, 200);
    start();
    await_state("Online");
    make_source(0, SNAPSHOT);
    ck_assert_int_eq(mkdir(file(0, ""), 0700), 0);
    fd = open(file(0, "data"), O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(pwrite(fd, scrap, sizeof(scrap), 0), sizeof(scrap));
    json_object_set_new(json_object_get(document, "spec"), "source",
                        json_pack("{s:s, s:s}", "replicaId", uids[2], "snapshotId", SNAPSHOT));
    assign(document);
    await_phase(uids[0], "Healthy");
    probe(&seen);
    ck_assert_int_eq(seen.state.generation.id.number, 1);
    ck_assert_int_eq(seen.bytes, INT64_C(1) << 30);
    assert_content(file(0, "data"));

    ck_assert_int_eq(unlink(file(0, "state")), 0); /* now clients may have written to it */
    json_object_set_new(json_object_get(document, "metadata"), "generation", json_integer(2));
    assign(document);
    await_phase(uids[0], "Error");
}
END_TEST

START_TEST(a_clone_of_a_missing_source_is_not_created) {
    json_t *document = replica_document(0, 1);

    answer_all(404, 200);
    start();
    json_object_set_new(json_object_get(document, "spec"), "source",
                        json_pack("{s:s, s:s}", "replicaId", uids[2], "snapshotId", SNAPSHOT));
    assign(document);
    await_phase(uids[0], "Init");
    while (!*json_text_of(reported(uids[0]), "message"))
        poll(NULL, 0, 5);
    ck_assert(!exists(file(0, "data")));
}
END_TEST

START_TEST(a_failed_copy_is_reported_and_delayed) {
    const struct replica source = place_in(1, uids[2]), target = place_in(0, uids[0]);
    const struct copy copy = { .source = source, .snapshot = SNAPSHOT, .target = target };
    const struct copy other = { .source = source, .snapshot = VOLUME, .target = target };
    struct snapshot_copier *copier = snapshot_copier_new();
    int64_t begun_us = clock_monotonic_us();
    int outcome;

    ck_assert_int_eq(replica_create(&target, VOLUME, SIZE, NULL, &err), 0);
    while ((outcome = snapshot_copier_run(copier, &copy, &err)) > 0)
        poll(NULL, 0, 1);
    ck_assert_int_eq(outcome, -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    while ((outcome = snapshot_copier_run(copier, &other, &err)) >
           0) /* a second failure does not replace the first one */
        poll(NULL, 0, 1);
    ck_assert_int_eq(outcome, -1);
    make_source(1, SNAPSHOT);
    outcome = snapshot_copier_run(copier, &copy, &err);
    ck_assert(outcome == -1 || clock_monotonic_us() - begun_us > SECOND_US);
    while ((outcome = snapshot_copier_run(copier, &copy, &err)) != 0)
        poll(NULL, 0, 5);
    ck_assert(exists(file(0, "snapshot-" SNAPSHOT)));
    snapshot_copier_end(copier);
    snapshot_copier_free(copier);
    answer_all(404, 200);
    start();
}
END_TEST

START_TEST(a_snapshot_is_copied_from_its_source_and_deleted_by_its_document) {
    answer_all(404, 200);
    start();
    await_state("Online");
    make_source(1, SNAPSHOT);
    assign_snapshots(1, json_pack("[{s:s}]", "uid", SNAPSHOT));
    await_snapshot(SNAPSHOT, "Pending"); /* without a source */
    assign_snapshots(2, json_pack("[{s:s, s:s, s:s}]", "uid", SNAPSHOT, "source", uids[2],
                                  "sourcePath", paths[1]));
    await_snapshot(SNAPSHOT, "Ready");
    assert_content(file(0, "snapshot-" SNAPSHOT));
    ck_assert_int_eq(json_integer_value(json_object_get(reported_snapshot(SNAPSHOT), "sizeBytes")),
                     SIZE);

    assign(replica_document(0, 3)); /* not in the document any more: it stays */
    while (reported_generation() < 3)
        poll(NULL, 0, 5);
    ck_assert(exists(file(0, "snapshot-" SNAPSHOT)));
    assign_snapshots(4,
                     json_pack("[{s:s, s:b}, {s:s}]", "uid", SNAPSHOT, "remove", 1, "uid", OTHER));
    await_snapshot(OTHER, "Pending");
    ck_assert_ptr_null(reported_snapshot(SNAPSHOT));
    ck_assert(!exists(file(0, "snapshot-" SNAPSHOT)));
    ck_assert(exists(arena_join(arena, paths[1], "/", uids[2], "/snapshot-" SNAPSHOT, NULL)));
}
END_TEST

/* A thread that accessed it could not be ended. */
START_TEST(an_unresponsive_pool_is_reported_and_not_accessed) {
    int disk = hung_disk(paths[0]);

    if (disk < 0)
        return;
    health_probes = health_probes_new();
    answer_all(404, 200);
    start();
    await_state("Failing");
    assign(replica_document(0, 1));
    await_phase(uids[0], "Init");
    ck_assert_ptr_nonnull(strstr(json_text_of(reported(uids[0]), "message"), "does not answer"));
    ck_assert(pools_stop(pools, 60000));
    ck_assert(!health_probes_stop(health_probes, 0));
    hung_disk_end(paths[0], disk);
    ck_assert(health_probes_stop(health_probes, 60000));
    health_probes = health_probes_new();
    start();
    await_state("Online");
    assign(replica_document(0, 1));
    await_phase(uids[0], "Healthy");
}
END_TEST

START_TEST(no_snapshots_are_reported_of_a_missing_pool) {
    answer_all(404, 200);
    start();
    await_state("Online");
    assign_snapshots(1, json_pack("[{s:s}]", "uid", SNAPSHOT));
    await_snapshot(SNAPSHOT, "Pending");
    ck_assert_int_eq(rename(paths[0], arena_join(arena, top, "/away", NULL)), 0);
    await_state("Gone");
    assign_snapshots(2, json_pack("[{s:s, s:b}]", "uid", SNAPSHOT, "remove", 1));
    await_phase(uids[0], "Offline");
    ck_assert_ptr_null(json_object_get(reported(uids[0]), "snapshots"));
}
END_TEST

CHECK_MAIN_WITH("pools", true, begin, end, an_empty_directory_of_a_new_pool_is_marked_and_reported,
                an_empty_directory_of_a_known_pool_counts_as_not_mounted,
                no_pool_is_marked_while_the_api_is_unavailable,
                a_directory_with_another_mark_is_not_changed,
                a_pool_of_another_agent_is_not_changed_or_reported,
                a_replica_is_created_with_the_first_generation_once, data_without_a_state_stay,
                replicas_of_a_pool_that_fails_are_reported_at_once,
                an_unreadable_replica_is_offline, a_replica_that_existed_before_is_created_empty,
                a_replica_added_later_is_created_empty, data_are_deleted_only_by_their_document,
                data_stay_while_the_pool_is_another_or_not_accepted,
                data_stay_after_a_suspend_until_the_api_accepts_the_pool,
                a_replica_of_another_path_or_volume_is_not_created,
                a_clone_has_the_data_of_its_source_after_any_crash,
                a_clone_of_a_missing_source_is_not_created, a_failed_copy_is_reported_and_delayed,
                a_snapshot_is_copied_from_its_source_and_deleted_by_its_document,
                an_unresponsive_pool_is_reported_and_not_accessed,
                no_snapshots_are_reported_of_a_missing_pool,
                an_answer_of_a_gateway_makes_no_new_pool)
