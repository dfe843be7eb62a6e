/*
 * Snapshots of configs, and configs that are clones: the rules for their documents in each state.
 */
#include "declared/snapshot_source.h"
#include "operation/quota_limit.h"
#include "tests/lib/declared.h"

#define SNAPSHOT(name, volume) \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"volumeName\":\"" volume "\"}}"
#define CLONE(name, size, replicas, source) \
    DECLARED(name, size, replicas, ",\"cstorVolumeSource\":\"" source "\"")
#define READY \
    "{\"phase\":\"Ready\",\"capacity\":{\"storage\":\"2Gi\"},\"poolInfo\":[\"pool-a\",\"pool-b\"]}"

/* As written by the controller. */
static void set_status(struct work *work, const char *id, const char *status) {
    struct error err = { 0 };

    ck_assert_int_eq(db_run(work->tx, &err, "UPDATE documents SET status = $1 WHERE id = $2",
                            DB_TEXT(status), DB_TEXT(id)),
                     1);
}

static const char *declare_bound(struct work *work, const char *text) {
    const char *id = declare(work, &kind_volume_config, text);

    set_status(work, id, "{\"phase\":\"Bound\"}");
    return id;
}

/* db, and a snapshot "s" of it that is ready: its id. */
static const char *ready(struct work *work) {
    const char *id;

    declare_bound(work, DECLARED("db", "2Gi", 3, ""));
    id = declare(work, &kind_volume_config_snapshot, SNAPSHOT("s", "db"));
    set_status(work, id, READY);
    return id;
}

static void expect_refused(struct work *work, const struct document_kind *kind, const char *text,
                           enum error_kind as, const char *message) {
    struct error err = { 0 };
    struct document document;
    int64_t before = last_version(work);

    ck_assert_msg(document_create(work, kind, tree(work, text), false, &document, &err) < 0, "%s",
                  text);
    ck_assert_int_eq(last_version(work), before);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_int_eq(err.kind, as);
}

static struct document snapshot_of(struct work *work, const char *id) {
    return document_of(work, &kind_volume_config_snapshot, id);
}

WORK_TEST(a_snapshot_belongs_to_its_config_and_waits) {
    const char *config = declare_bound(work, DECLARED("db", "2Gi", 3, ""));
    const char *id = declare(work, &kind_volume_config_snapshot, SNAPSHOT("s", "db"));
    struct document snapshot = snapshot_of(work, id), after;

    ck_assert_str_eq(snapshot.owner_id, config);
    ck_assert_str_eq(at(work, &snapshot, "status"), "{\"phase\":\"Pending\"}");
    OK(document_delete(work, &snapshot, false, &after, err));
    ck_assert_uint_eq(json_array_size(snapshot_of(work, id).finalizers), 1);
}

WORK_TEST(a_config_without_a_volume_has_no_snapshot) {
    const char *config;
    struct document document, after;

    (void)err;
    expect_refused(work, &kind_volume_config_snapshot, SNAPSHOT("s", "db"), ERROR_NOT_FOUND,
                   "spec.volumeName: Volume config db could not be found.");
    config = declare(work, &kind_volume_config, DECLARED("db", "2Gi", 3, ""));
    expect_refused(work, &kind_volume_config_snapshot, SNAPSHOT("s", "db"), ERROR_CONFLICT,
                   "spec.volumeName: Volume config db is not Bound yet.");
    document = config_of(work, config);
    OK(document_delete(work, &document, false, &after, err));
    expect_refused(work, &kind_volume_config_snapshot, SNAPSHOT("s", "db"), ERROR_CONFLICT,
                   "spec.volumeName: Volume config db is being deleted.");
}

WORK_TEST(snapshots_of_one_config_are_counted) {
    OK(quota_limit_set(work, PROJECT, QUOTA_SNAPSHOTS, -1, err));
    declare_bound(work, DECLARED("db", "2Gi", 3, ""));
    declare_bound(work, DECLARED("other", "2Gi", 3, ""));
    for (int i = 0; i < SNAPSHOTS_MOST; i++)
        declare(work, &kind_volume_config_snapshot,
                arena_format(work->arena, SNAPSHOT("s%d", "db"), i));
    expect_refused(work, &kind_volume_config_snapshot, SNAPSHOT("s", "db"), ERROR_OVER_QUOTA,
                   "has 64 snapshots already");
    declare(work, &kind_volume_config_snapshot, SNAPSHOT("s", "other"));
}

WORK_TEST(a_config_with_snapshots_stays) {
    struct document snapshot = snapshot_of(work, ready(work)), after;
    struct document config = config_of(work, snapshot.owner_id);

    REFUSED(document_delete(work, &config, false, &after, err), CONFLICT);
    ck_assert_str_eq(err->message,
                     "Volume config db has 1 snapshots, which must be deleted first.");
    OK(document_delete(work, &snapshot, false, &after, err));
    REFUSED(document_delete(work, &config, false, &after, err), CONFLICT);
    ck_assert_int_eq(config_of(work, config.id).deleted_at, 0);
}

WORK_TEST(a_clone_is_never_of_nothing) {
    const char *id;

    (void)err;
    expect_refused(work, &kind_volume_config, CLONE("c", "2Gi", 1, "db@s"), ERROR_NOT_FOUND,
                   "spec.cstorVolumeSource: Snapshot db@s could not be found.");
    id = ready(work);
    declare_bound(work, DECLARED("other", "2Gi", 3, ""));
    expect_refused(work, &kind_volume_config, CLONE("c", "2Gi", 1, "other@s"), ERROR_NOT_FOUND,
                   "spec.cstorVolumeSource: Snapshot other@s could not be found.");
    set_status(work, id, "{\"phase\":\"Pending\"}");
    expect_refused(work, &kind_volume_config, CLONE("c", "2Gi", 1, "db@s"), ERROR_BAD_REQUEST,
                   "spec.cstorVolumeSource: Snapshot s is not ready.");
}

WORK_TEST(a_clone_is_as_large_as_its_source_and_on_pools_of_it) {
    (void)err;
    ready(work);
    expect_refused(work, &kind_volume_config, CLONE("c", "1Gi", 1, "db@s"), ERROR_BAD_REQUEST,
                   "spec.capacity.storage: a clone of snapshot s has at least 2Gi");
    expect_refused(work, &kind_volume_config, CLONE("c", "2Gi", 3, "db@s"), ERROR_BAD_REQUEST,
                   "spec.provision.replicaCount: snapshot s is on 2 pools");
    expect_refused(work, &kind_volume_config,
                   DECLARED("c", "2Gi", 1, ",\"cstorVolumeSource\":\"db@s\"" POOLS(POOL("pool-c"))),
                   ERROR_BAD_REQUEST,
                   "spec.policy.replicaPoolInfo: snapshot s is not on pool pool-c.");
    declare(work, &kind_volume_config, CLONE("c", "3Gi", 2, "db@s"));
}

WORK_TEST(a_clone_keeps_the_label_that_holds_its_source) {
    struct document snapshot = snapshot_of(work, ready(work)), after;
    const char *clone = declare(work, &kind_volume_config, CLONE("c", "2Gi", 1, "db@s"));
    struct document config = config_of(work, snapshot.owner_id);
    int64_t version = last_version(work);

    OK(edit(work, clone, "{\"metadata\":{\"labels\":{\"openebs.io/source-volume\":null}}}", err));
    ck_assert_int_eq(last_version(work), version);
    ck_assert_str_eq(config_at(work, clone, "metadata.labels"),
                     "{\"openebs.io/source-volume\":\"db\"}");
    REFUSED(document_delete(work, &config, false, &after, err), CONFLICT);
    ck_assert_str_eq(err->message, "Volume config db has 1 clones, which must be deleted first.");
}

WORK_TEST(a_complete_clone_may_drop_its_source_label) {
    struct document snapshot = snapshot_of(work, ready(work)), after;
    const char *clone = declare(work, &kind_volume_config, CLONE("c", "2Gi", 1, "db@s"));
    struct document config = config_of(work, snapshot.owner_id);

    set_status(work, clone, "{\"phase\":\"Bound\"}");
    OK(edit(work, clone, "{\"metadata\":{\"labels\":{\"openebs.io/source-volume\":\"x\"}}}", err));
    ck_assert_str_eq(config_at(work, clone, "metadata.labels"),
                     "{\"openebs.io/source-volume\":\"db\"}");
    OK(document_delete(work, &snapshot, false, &after, err));
    REFUSED(document_delete(work, &config, false, &after, err), CONFLICT);
    OK(edit(work, clone, "{\"metadata\":{\"labels\":{\"openebs.io/source-volume\":null}}}", err));
    ck_assert_str_eq(config_at(work, clone, "metadata.labels"), "{}");
}

WORK_TEST(a_snapshot_stays_while_a_volume_is_made_of_it) {
    struct document snapshot = snapshot_of(work, ready(work)), after, other;
    const char *clone;

    other = snapshot_of(work, declare(work, &kind_volume_config_snapshot, SNAPSHOT("s2", "db")));
    clone = declare(work, &kind_volume_config, CLONE("c", "2Gi", 1, "db@s"));
    REFUSED(document_delete(work, &snapshot, false, &after, err), CONFLICT);
    ck_assert_str_eq(err->message, "Snapshot s is the source of 1 volumes that are being created.");
    OK(document_delete(work, &other, false, &after, err));
    set_status(work, clone, "{\"phase\":\"Bound\"}");
    OK(document_delete(work, &snapshot, false, &after, err));
}

/* It reads nothing of its source any more, regardless of its state. */
WORK_TEST(a_clone_that_is_reverted_holds_no_snapshot_of_its_source) {
    struct document snapshot = snapshot_of(work, ready(work)), config, after;
    const char *clone = declare(work, &kind_volume_config, CLONE("c", "2Gi", 1, "db@s"));

    set_status(work, clone, "{\"phase\":\"Bound\",\"revert\":{\"phase\":\"Pending\"}}");
    config = config_of(work, snapshot.owner_id);
    ck_assert_int_eq(snapshot_source_begun(work, &config, NULL, err), 0);
    OK(document_delete(work, &snapshot, false, &after, err));
}

/* In a transaction that other projects wait for; the label is any config's. */
WORK_TEST(clones_are_counted_without_much_memory) {
    struct document config = config_of(work, snapshot_of(work, ready(work)).owner_id);
    json_t *list = json_keep(work->arena, json_array());
    const char *details;
    size_t before;

    for (int i = 0; i < 3000; i++)
        json_array_append_new(list, json_integer(1));
    details = json_text(work->arena, list);
    declare(work, &kind_volume_config, CLONE("c", "2Gi", 1, "db@s"));
    for (int i = 0; i < 8; i++)
        declare(
            work, &kind_volume_config,
            arena_format(
                work->arena,
                "{\"metadata\":{\"name\":\"c%d\",\"labels\":{\"openebs.io/source-volume\":\"db\"}},"
                "\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"provision\":{\"replicaCount\":1}},"
                "\"versionDetails\":{\"cstorVolumeSource\":\"db@s\",\"l\":%s}}",
                i, details));
    before = arena_bytes(work->arena);
    ck_assert_int_eq(snapshot_source_begun(work, &config, NULL, err), 1);
    ck_assert_int_eq(snapshot_source_begun(work, &config, "s", err), 1);
    ck_assert_int_eq(snapshot_source_begun(work, &config, "S", err), 0);
    ck_assert_uint_lt(arena_bytes(work->arena) - before, 64 * 1024);
}

CHECK_MAIN("volume_config_snapshot", a_snapshot_belongs_to_its_config_and_waits,
           a_config_without_a_volume_has_no_snapshot, snapshots_of_one_config_are_counted,
           a_config_with_snapshots_stays, a_clone_is_never_of_nothing,
           a_clone_is_as_large_as_its_source_and_on_pools_of_it,
           a_clone_keeps_the_label_that_holds_its_source,
           a_complete_clone_may_drop_its_source_label,
           a_snapshot_stays_while_a_volume_is_made_of_it,
           a_clone_that_is_reverted_holds_no_snapshot_of_its_source,
           clones_are_counted_without_much_memory)
