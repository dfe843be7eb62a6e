#include "manager/check/check.h"

#include "common/arena.h"
#include "drivers/memory.h"
#include "tests/lib/check_main.h"
#include "tests/lib/documents.h"
#include "tests/lib/groups.h"
#include "tests/lib/snapshots.h"
#include "tests/lib/world.h"
#include "tests/unit/drivers/driver_test.h"

#include <stdio.h>
#include <string.h>

/* ---- a backend on two shares, of which none can be mounted ---- */

static int no_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                   int64_t *ret_bytes, struct error *err) {
    (void)handle, (void)arena, (void)ret_bytes;
    return error_set(err, ERROR_UNAVAILABLE, "The share %s is not mounted.",
                     volume->provider_location);
}

static int no_list(void *handle, struct arena *arena,
                   void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                   struct error *err) {
    (void)handle, (void)arena, (void)found, (void)arg;
    return error_set(err, ERROR_UNAVAILABLE, "The share srv:/a is not mounted.");
}

struct findings {
    unsigned count;
    char text[2048];
};

static void note_finding(void *arg, const char *promise, const char *text) {
    struct findings *findings = arg;
    size_t length = strlen(findings->text);

    findings->count++;
    snprintf(findings->text + length, sizeof findings->text - length, "%s %s\n", promise, text);
}

START_TEST(a_missing_share_is_reported_once) {
    autoworld struct world *world = world_new(NULL);
    struct driver lost = memory_driver;
    const struct manager_backend backends[2] = {
        { .name = "memory", .driver = &lost, .handle = world->memory },
    };
    struct findings findings = { 0 };
    const struct check check = {
        .db = world->db,
        .settings = &world->settings,
        .backends = backends,
        .node = WORLD_NODE,
        .wrong = note_finding,
        .arg = &findings,
    };
    struct error err;

    lost.get_size = no_size;
    lost.list_volumes = no_list;
    for (int i = 0; i < 6; i++)
        world_volume(world, 1);
    world_sql(world, "UPDATE volumes SET provider_location = "
                     "CASE WHEN id < '8' THEN 'srv:/a' ELSE 'srv:/b' END");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(DISTINCT provider_location) FROM volumes"),
                     2);
    ck_assert_int_eq(check_run(&check, &err), 2);
    ck_assert_uint_eq(findings.count, 2);
    ck_assert_ptr_nonnull(strstr(findings.text, "P3 backend node@memory: its storage is not there: "
                                                "The share srv:/a is not mounted."));
    ck_assert_ptr_nonnull(strstr(findings.text, "The share srv:/b is not mounted."));
}
END_TEST

/* No statement has a place for each volume: an engine takes only so many (PostgreSQL 65,535). */
START_TEST(many_volumes_with_details_are_read) {
    autoworld struct world *world = world_new(NULL);
    struct findings findings = { 0 };
    const struct check check = {
        .db = world->db,
        .settings = &world->settings,
        .node = WORLD_NODE,
        .wrong = note_finding,
        .arg = &findings,
    };
    struct error err;

    world_sql(world,
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
              "i < 33000) INSERT INTO volumes (id, project_id, user_id, availability_zone, "
              "size_gb, status, status_by_reset, attach_status, bootable, multiattach, "
              "use_quota, shared_targets, created_at, largest_gb) SELECT 'v' || i, 'p', 'u', "
              "'nova', 1, 'error', 0, 'detached', 0, 0, 0, 1, 1, 1 FROM n");
    world_sql(world, "INSERT INTO volume_metadata "
                     "SELECT id, 'key', 'value', project_id, created_at FROM volumes");
    ck_assert_msg(check_run(&check, &err) == 0, "%s: %s", err.message, findings.text);
}
END_TEST

/* ---- groups ---- */

/* A group with a volume in it. */
static struct world *world_with_group(void) {
    struct world *world = world_new(NULL);
    const char *id;

    ck_assert_int_eq(
        world_call(world, "POST", "/group_types", "{\"group_type\": {\"name\": \"t\"}}"), 202);
    ck_assert_int_eq(world_call(world, "POST", "/groups",
                                "{\"group\": {\"group_type\": \"t\", "
                                "\"volume_types\": [\"__DEFAULT__\"]}}"),
                     202);
    id = world_volume(world, 1);
    world_sql(world, "UPDATE volumes SET group_id = (SELECT id FROM volume_groups)");
    ck_assert_ptr_nonnull(id);
    ck_assert_int_eq(world_check(world), 0);
    return world;
}

START_TEST(groups_and_their_volumes_agree) {
    static const struct {
        const char *sql, *text;
    } cases[] = {
        { "UPDATE volumes SET group_id = 'none'", "P5 volume" },
        { "UPDATE volumes SET host = 'node@other#pool'", "of another backend" },
        { "UPDATE volume_groups SET project_id = '" WORLD_OTHER "'", "of another project" },
        { "UPDATE volume_groups SET status = 'deleting'", "P1 group" },
        { "UPDATE volume_groups SET status = 'creating'", "P1 group" },
        { "UPDATE quota_usages SET used = 2 WHERE resource = 'groups'", "P2" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autoworld struct world *world = world_with_group();
        struct findings findings = { 0 };
        const struct check check = {
            .db = world->db,
            .settings = &world->settings,
            .node = WORLD_NODE,
            .wrong = note_finding,
            .arg = &findings,
        };
        struct error err;

        world_sql(world, cases[i].sql);
        ck_assert_int_gt(check_run(&check, &err), 0);
        ck_assert_msg(strstr(findings.text, cases[i].text) != NULL, "%s: %s", cases[i].sql,
                      findings.text);
    }
}
END_TEST

START_TEST(group_snapshots_and_their_snapshots_agree) {
    static const struct {
        bool made;
        const char *sql, *text;
    } cases[] = {
        { false, "DELETE FROM operation_turns", "does not wait for its turn" },
        { false, "DELETE FROM operations", "P1 group snapshot" },
        { false, "UPDATE operations SET phase = 'waiting'", "P1 operation" },
        { true, "UPDATE snapshots SET group_snapshot_id = 'none'", "P5 snapshot" },
        { true, "UPDATE snapshots SET group_snapshot_id = NULL", "has no snapshots" },
        { true, "UPDATE snapshots SET delete_begun = 1", "a delete of it has begun" },
        { true, "UPDATE snapshots SET project_id = '" WORLD_OTHER "'", "P5 snapshot" },
        { true, "DELETE FROM group_volume_types", "has none of its type" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *const volumes[] = { world_volume(world, 1), world_volume(world, 1) };
        struct findings findings = { 0 };
        const struct check check = {
            .db = world->db,
            .settings = &world->settings,
            .node = WORLD_NODE,
            .wrong = note_finding,
            .arg = &findings,
        };
        struct error err;

        group_of(world, volumes, LENGTH(volumes));
        ck_assert_ptr_nonnull(cases[i].made ? group_snapshot(world) : new_group_snapshot(world));
        ck_assert_msg(check_run(&check, &err) == 0, "%s", findings.text);
        world_sql(world, cases[i].sql);
        ck_assert_int_gt(check_run(&check, &err), 0);
        ck_assert_msg(strstr(findings.text, cases[i].text) != NULL, "%s: %s", cases[i].sql,
                      findings.text);
    }
}
END_TEST

/* ---- documents ---- */

START_TEST(documents_and_their_rows_agree) {
    static const struct {
        const char *sql, *text;
    } cases[] = {
        { "UPDATE document_counts SET documents = 2 WHERE kind = 'CStorVolume'",
          "P5 documents of kind CStorVolume are not as many" },
        { "DELETE FROM document_counts", "are not as many" },
        { "UPDATE document_counts SET bytes = bytes + 1 WHERE kind = 'CStorVolumeConfig'",
          "P5 documents of kind CStorVolumeConfig have not as many bytes" },
        { "INSERT INTO document_counts VALUES ('CStorVolumePolicy', 'p', 1, 0)",
          "P5 documents of kind CStorVolumePolicy are counted and not there" },
        { "UPDATE documents SET project_id = '" WORLD_OTHER "' WHERE kind = 'CStorVolume'",
          "is another project's than its owner" },
        { "UPDATE documents SET owner_id = NULL WHERE kind = 'CStorVolumeReplica'",
          "belongs to nothing" },
        { "UPDATE documents SET owner_id = (SELECT id FROM documents WHERE kind = "
          "'CStorVolumeConfig') WHERE kind = 'CStorVolumeReplica'",
          "belongs to what has no such" },
        { "UPDATE documents SET kind = 'CStorVolume', owner_id = (SELECT id FROM documents WHERE "
          "kind = 'CStorVolumeConfig') WHERE kind = 'CStorVolumeReplica'",
          "has several volumes" },
        { "UPDATE documents SET version = 100 WHERE kind = 'CStorVolume'",
          "has a number that was not given yet" },
        { "UPDATE documents SET deleted_at = 1, metadata = '{\"finalizers\":[]}' "
          "WHERE kind = 'CStorVolumeReplica'",
          "is deleted and waits for nothing" },
        { "UPDATE documents SET status = '{\"target\":{\"state\":\"Serving\"}}', node = NULL "
          "WHERE kind = 'CStorVolume'",
          "has a target in its status, but no node" },
        { "UPDATE documents SET deleted_at = 1 WHERE kind = 'CStorVolume'",
          "is being deleted, but still assigned to a node" },
        { "UPDATE documents SET size_gb = 2 WHERE kind = 'CStorVolumeConfig'",
          "P2 quota gigabytes of project" },
        { "UPDATE documents SET size_gb = NULL", "P2 quota volumes of project" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoworld struct world *world = world_new(NULL);
        struct findings findings = { 0 };
        const struct check check = {
            .db = world->db,
            .settings = &world->settings,
            .node = WORLD_NODE,
            .wrong = note_finding,
            .arg = &findings,
        };
        struct error err;

        documents_replica(
            world, documents_volume(
                       world, documents_make(world, "volume_configs", "volume_config",
                                             DOCUMENTS_CONFIG("\"name\": \"db\"", "1Gi", "1"))));
        ck_assert_msg(check_run(&check, &err) == 0, "%s", findings.text);
        world_sql(world, cases[i].sql);
        ck_assert_int_gt(check_run(&check, &err), 0);
        ck_assert_msg(strstr(findings.text, cases[i].text) != NULL, "%s: %s", cases[i].sql,
                      findings.text);
    }
}
END_TEST

/* ---- snapshots ---- */

static void put_file(struct bench *bench, const char *name, const char *text) {
    FILE *file = fopen(bench_path(bench, arena_format(bench->arena, "volumes/%s", name)), "we");

    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void note_note(void *arg, const char *text) {
    struct findings *findings = arg;
    size_t length = strlen(findings->text);

    snprintf(findings->text + length, sizeof findings->text - length, "%s\n", text);
}

START_TEST(unresponsive_nodes_are_reported_with_their_pending_work) {
    autoworld struct world *world = world_new(NULL);
    struct findings notes = { 0 };
    const struct check check = { .db = world->db,
                                 .settings = &world->settings,
                                 .node = WORLD_NODE,
                                 .wrong = note_finding,
                                 .note = note_note,
                                 .arg = &notes };
    const char *config = documents_make(world, "volume_configs", "volume_config",
                                        DOCUMENTS_CONFIG("\"name\": \"db\"", "1Gi", "1"));
    struct error err;

    documents_replica(world, documents_volume(world, config));
    world_sql(world, "INSERT INTO replica_pools (name, node, path, labels, read_only, total_bytes, "
                     "free_bytes, state, seen_at, created_at) SELECT 'pool-a', 'host-a', '/p', "
                     "'{}', 0, 1, 1, 'Online', 1, 1");
    ck_assert_msg(check_run(&check, &err) == 0, "%s", notes.text);
    ck_assert_msg(strstr(notes.text, "pool pool-a: node host-a has not told of it for ") &&
                      strstr(notes.text, "node host-a is silent, and has replicas: 1\n") &&
                      strstr(notes.text, "that are published there no more: 1\n"),
                  "%s", notes.text);
    ck_assert_msg(!strstr(notes.text, "is to serve") && !strstr(notes.text, "deletion of replicas"),
                  "%s", notes.text);
    notes = (struct findings){ 0 };
    ck_assert_int_eq(world_call(world, "PATCH", "/volume_configs/db",
                                "{\"volume_config\": {\"publish\": {\"nodeId\": \"host-a\"}}}"),
                     200);
    ck_assert_int_eq(check_run(&check, &err), 0);
    ck_assert_msg(strstr(notes.text, "node host-a is silent, and is to serve volumes: 1\n"), "%s",
                  notes.text);
    notes = (struct findings){ 0 };
    world_sql(world, "UPDATE replica_pools SET seen_at = 9000000000000000000");
    ck_assert_int_eq(check_run(&check, &err), 0);
    ck_assert_str_eq(notes.text, "");
}
END_TEST

#define RESET(status_) "{\"os-reset_status\": {\"status\": \"" status_ "\"}}"

START_TEST(transient_statuses_of_a_reset_are_noted) {
    autoworld struct world *world = world_new(NULL);
    struct findings notes = { 0 };
    const struct check check = { .db = world->db,
                                 .settings = &world->settings,
                                 .node = WORLD_NODE,
                                 .wrong = note_finding,
                                 .note = note_note,
                                 .arg = &notes };
    const char *deleting = world_volume(world, 1), *extending = world_volume(world, 1);
    const char *at_rest = world_volume(world, 1);
    struct error err;

    ck_assert_int_eq(world_action(world, deleting, RESET("deleting")), 202);
    ck_assert_int_eq(world_action(world, extending, RESET("extending")), 202);
    ck_assert_int_eq(world_action(world, at_rest, RESET("error")), 202);
    ck_assert_int_eq(check_run(&check, &err), 0);
    ck_assert_msg(strstr(notes.text, PATH("volume %s was set to deleting", deleting)) &&
                      strstr(notes.text, PATH("volume %s was set to extending", extending)) &&
                      !strstr(notes.text, at_rest),
                  "%s", notes.text);
}
END_TEST

/* No operation ends them, so they are in no other list. */
START_TEST(unfinished_attachments_are_noted) {
    autoworld struct world *world = world_new(NULL);
    struct findings notes = { 0 };
    const struct check check = { .db = world->db,
                                 .settings = &world->settings,
                                 .node = WORLD_NODE,
                                 .wrong = note_finding,
                                 .note = note_note,
                                 .arg = &notes };
    const char *reserved = world_volume(world, 1), *attaching = world_volume(world, 1);
    const char *connected = world_volume(world, 1), *at_rest = world_volume(world, 1);
    struct error err;

    world_attach(world, at_rest, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, reserved, "{\"os-reserve\": null}"), 202);
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\", "
                                     "\"instance_uuid\": \"" WORLD_INSTANCE2 "\", "
                                     "\"connector\": {\"host\": \"h\"}}}",
                                     attaching)),
                     200);
    ck_assert_int_eq(world_action(world, connected,
                                  "{\"os-initialize_connection\": {\"connector\": {\"host\": "
                                  "\"h1\"}}}"),
                     200);
    world_advance(world, 120);
    ck_assert_int_eq(check_run(&check, &err), 0);
    ck_assert_msg(strstr(notes.text, PATH("volume %s is attaching for 1", reserved)) &&
                      strstr(notes.text, "os-attach or os-unreserve"),
                  "%s", notes.text);
    ck_assert_msg(strstr(notes.text, PATH("volume %s is attaching for 1", attaching)) &&
                      strstr(notes.text, "for server " WORLD_INSTANCE2),
                  "%s", notes.text);
    ck_assert_msg(
        strstr(notes.text, PATH("volume %s has a connection given to host h1 1", connected)), "%s",
        notes.text);
    ck_assert_msg(!strstr(notes.text, at_rest), "%s", notes.text);
}
END_TEST

START_TEST(replicas_in_a_pool_are_compared_with_documents) {
    static const char stranger[] = "00000000-0000-4000-8000-00000000000f";
    autoworld struct world *world = world_new(NULL);
    autobench struct bench bench;
    struct findings findings = { 0 };
    const char *replica = documents_replica(
        world,
        documents_volume(world, documents_make(world, "volume_configs", "volume_config",
                                               DOCUMENTS_CONFIG("\"name\": \"db\"", "1Gi", "1"))));
    struct check_pool pools[3] = { { "pool-a", NULL } };
    const struct check check = { .db = world->db,
                                 .settings = &world->settings,
                                 .pools = pools,
                                 .node = WORLD_NODE,
                                 .wrong = note_finding,
                                 .note = note_note,
                                 .arg = &findings };
    struct error err;

    BENCH_OPEN(&bench, &file_driver, NULL);
    pools[0].path = bench_path(&bench, "volumes");
    put_file(&bench, "scoria-pool", "");
    ck_assert_msg(check_run(&check, &err) == 0, "%s", findings.text);
    /* Its node reports that it is healthy. */
    world_sql(world, "UPDATE documents SET status = '{\"phase\":\"Healthy\"}' "
                     "WHERE kind = 'CStorVolumeReplica'");
    ck_assert_int_eq(check_run(&check, &err), 1);
    ck_assert_msg(strstr(findings.text, "is healthy, but pool pool-a has no "), "%s",
                  findings.text);
    ck_assert_int_eq(mkdir(arena_join(bench.arena, pools[0].path, "/", replica, NULL), 0700), 0);
    put_file(&bench, arena_join(bench.arena, replica, "/data", NULL), "");
    ck_assert_msg(check_run(&check, &err) == 0, "%s", findings.text);

    findings = (struct findings){ 0 };
    put_file(&bench, arena_join(bench.arena, replica, "/snapshot-", stranger, NULL), "");
    ck_assert_int_eq(check_run(&check, &err), 1);
    ck_assert_ptr_nonnull(strstr(findings.text, "which is no snapshot's"));
    ck_assert_int_eq(mkdir(arena_join(bench.arena, pools[0].path, "/", stranger, NULL), 0700), 0);
    ck_assert_int_eq(check_run(&check, &err), 2);
    ck_assert_ptr_nonnull(strstr(findings.text, "which is no replica's"));

    findings = (struct findings){ 0 };
    pools[1] = (struct check_pool){ "pool-b", "/nowhere/at/all" };
    ck_assert_int_eq(check_run(&check, &err), 3);
    ck_assert_ptr_nonnull(strstr(findings.text, "P3 pool pool-b: /nowhere/at/all: No such file"));
}
END_TEST

START_TEST(records_of_snapshots_are_consistent) {
    static const struct {
        const char *sql, *text;
    } cases[] = {
        { "UPDATE snapshots SET format = 'qcow2'", "is recorded as qcow2, its volume as raw" },
        { "UPDATE snapshots SET format = NULL", "is recorded as nothing, its volume as raw" },
        { "UPDATE snapshots SET asked_us = 0", "at an instant that never was" },
        { "UPDATE snapshots SET asked_us = 9000000000000000000", "at an instant that never was" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = snapshot_of_volume(world, world_volume(world, 1));
        struct findings findings = { 0 };
        const struct check check = {
            .db = world->db,
            .settings = &world->settings,
            .node = WORLD_NODE,
            .wrong = note_finding,
            .arg = &findings,
        };
        struct error err;

        ck_assert_int_eq(check_run(&check, &err), 0);
        world_sql(world, cases[i].sql);
        ck_assert_int_eq(check_run(&check, &err), 1);
        ck_assert_msg(strstr(findings.text, cases[i].text) && strstr(findings.text, id), "%s: %s",
                      cases[i].sql, findings.text);
    }
}
END_TEST

/* ---- files ---- */

START_TEST(an_info_file_without_a_volume_is_found) {
    static const char *const infos[] = {
        "{\"active\": \"volume-x\"}",
        "{\"active\": \"volume-other.s\", \"s\": \"volume-other.s\"}",
        "{\"deleted\": \"volume-x\"}",
        "no JSON",
    };
    autoworld struct world *world = world_new(NULL);
    autobench struct bench bench;
    struct manager_backend backends[2] = { { .name = "files", .driver = &file_driver } };
    const struct check check = {
        .db = world->db,
        .settings = &world->settings,
        .backends = backends,
        .node = WORLD_NODE,
        .wrong = note_finding,
        .arg = &(struct findings){ 0 },
    };
    struct findings *findings = check.arg;
    struct error err;

    BENCH_OPEN(&bench, &file_driver, NULL);
    backends[0].handle = bench.handle;
    ck_assert_int_eq(check_run(&check, &err), 0);
    for (size_t i = 0; i < LENGTH(infos); i++) {
        *findings = (struct findings){ 0 };
        put_file(&bench, "volume-x.info", infos[i]);
        ck_assert_int_eq(check_run(&check, &err), 1);
        ck_assert_msg(strstr(findings->text, "has an object named x, which is no volume's"),
                      "%s: %s", infos[i], findings->text);
    }
    put_file(&bench, "volume-x.info", infos[0]);
    put_file(&bench, "volume-x", "");
    ck_assert_int_eq(check_run(&check, &err), 1); /* reported once */
}
END_TEST

/* A volume without an operation, one with a snapshot that is being taken, and one of a group of
 * which a snapshot is being taken, with its member's. */
struct at_work {
    const char *idle, *busy, *snapshot, *grouped, *member;
};

static struct at_work put_to_work(struct world *world) {
    struct at_work ids = { .idle = world_volume(world, 1),
                           .busy = world_volume(world, 1),
                           .grouped = world_volume(world, 1) };
    const char *group_snapshot;

    group_of(world, &ids.grouped, 1);
    ids.snapshot = new_snapshot(world, ids.busy);
    group_snapshot = new_group_snapshot(world);
    ids.member = member_of(world, group_snapshot, ids.grouped);
    world_sql(world, PATH("UPDATE volumes SET name_id = 'other' WHERE id = '%s'", ids.busy));
    return ids;
}

/* Files that a manager left when it died.  They stay; files that are being made are no finding. */
START_TEST(an_incomplete_file_without_an_operation_is_found) {
    autoworld struct world *world = world_new(NULL);
    const struct at_work ids = put_to_work(world);
    const char *const owned[] = {
        PATH(".volume-%s.new", ids.busy),
        PATH(".volume-%s.info.2.new", ids.busy),
        PATH(".snapshot-%s.3.new", ids.snapshot),
        PATH(".volume-%s.%s.new", ids.busy, ids.snapshot),
        PATH(".snapshot-%s.new", ids.member),
        PATH(".volume-%s.info.new", ids.grouped),
        ".volume-other.new",
        ".volume-.new",
        ".volume-x.old",
        ".other.new",
    };
    const char *const strays[] = {
        PATH(".volume-%s.new", ids.idle),
        PATH(".volume-%s.info.15.new", ids.idle),
        ".volume-x.new",
        ".snapshot-x.2.new",
    };
    autobench struct bench bench;
    struct manager_backend backends[2] = { { .name = "file", .driver = &file_driver } };
    struct findings findings = { 0 };
    const struct check check = { .db = world->db,
                                 .settings = &world->settings,
                                 .backends = backends,
                                 .node = WORLD_NODE,
                                 .wrong = note_finding,
                                 .arg = &findings };
    struct error err;

    BENCH_OPEN(&bench, &file_driver, NULL);
    backends[0].handle = bench.handle;
    for (size_t i = 0; i < LENGTH(owned); i++)
        put_file(&bench, owned[i], "");
    ck_assert_msg(check_run(&check, &err) == 0, "%s", findings.text);
    for (size_t i = 0; i < LENGTH(strays); i++) {
        findings = (struct findings){ 0 };
        put_file(&bench, strays[i], "");
        ck_assert_msg(check_run(&check, &err) == (int)i + 1, "%s", findings.text);
        ck_assert_ptr_nonnull(strstr(findings.text, strays[i]));
        ck_assert(bench_has(&bench, arena_format(bench.arena, "volumes/%s", strays[i])));
    }
}
END_TEST

/* Its operation ends between the two looks at the directory, and takes it away or gives it its
 * name. */
static int list_once(void *handle, struct arena *arena,
                     void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                     struct error *err) {
    static unsigned looks;

    (void)handle, (void)arena, (void)err;
    if (looks++ == 0)
        found(arg, &(struct driver_draft){ "x", ".volume-x.new" });
    return 0;
}

START_TEST(a_file_that_is_just_made_is_no_finding) {
    autoworld struct world *world = world_new(NULL);
    struct driver driver = memory_driver;
    const struct manager_backend backends[2] = {
        { .name = "memory", .driver = &driver, .handle = world->memory },
    };
    struct findings findings = { 0 };
    const struct check check = { .db = world->db,
                                 .settings = &world->settings,
                                 .backends = backends,
                                 .node = WORLD_NODE,
                                 .wrong = note_finding,
                                 .arg = &findings };
    struct error err;

    driver.list_drafts = list_once;
    ck_assert_msg(check_run(&check, &err) == 0, "%s", findings.text);
}
END_TEST

CHECK_MAIN("manager/check", a_missing_share_is_reported_once, many_volumes_with_details_are_read,
           groups_and_their_volumes_agree, group_snapshots_and_their_snapshots_agree,
           documents_and_their_rows_agree, unresponsive_nodes_are_reported_with_their_pending_work,
           unfinished_attachments_are_noted, transient_statuses_of_a_reset_are_noted,
           replicas_in_a_pool_are_compared_with_documents, records_of_snapshots_are_consistent,
           an_info_file_without_a_volume_is_found, an_incomplete_file_without_an_operation_is_found,
           a_file_that_is_just_made_is_no_finding)
