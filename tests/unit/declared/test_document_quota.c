#include "declared/document_quota.h"

#include "model/volume/quota.h"
#include "operation/quota.h"
#include "operation/quota_limit.h"
#include "tests/lib/declared.h"

#define SIZE(size) "{\"spec\":{\"capacity\":{\"storage\":\"" size "\"}}}"
#define ELSEWHERE                                                                                \
    "{\"metadata\":{\"name\":\"twin\",\"annotations\":{\"scoria.io/quota\":\"none\"}},\"spec\":" \
    "{\"capacity\":{\"storage\":\"5Gi\"},\"provision\":{\"replicaCount\":1}}}"

static int64_t used(struct work *work, const char *resource) {
    struct error err = { 0 };
    int64_t count = 0;

    ck_assert_int_ge(db_query_int(work->tx, &count, &err,
                                  "SELECT used FROM quota_usages WHERE project_id = $1 AND "
                                  "resource = $2",
                                  DB_TEXT(PROJECT), DB_TEXT(resource)),
                     0);
    return count;
}

static void no_difference(void *arg, const char *text) {
    (void)arg;
    ck_abort_msg("%s", text);
}

/* The stored sums equal those of the rows, and these. */
static void assert_used(struct work *work, int64_t volumes, int64_t gigabytes) {
    struct error err = { 0 };

    ck_assert_int_eq(used(work, QUOTA_VOLUMES), volumes);
    ck_assert_int_eq(used(work, QUOTA_GIGABYTES), gigabytes);
    ck_assert_msg(quota_recount(work, volume_quota_in_use, no_difference, NULL, &err) == 0, "%s",
                  err.message);
}

static int try(struct work *work, const char *text, bool dry_run, struct error *err) {
    struct document document;

    return document_create(work, &kind_volume_config, tree(work, text), dry_run, &document, err);
}

static void set_limit(struct work *work, const char *resource, int64_t limit) {
    struct error err = { 0 };

    ck_assert_msg(quota_limit_set(work, PROJECT, resource, limit, &err) == 0, "%s", err.message);
}

WORK_TEST(a_config_is_a_volume_of_its_size_rounded_up) {
    (void)err;
    declare(work, &kind_volume_config, DECLARED("small", "1Mi", 3, ""));
    assert_used(work, 1, 1);
    declare(work, &kind_volume_config, DECLARED("large", "10.5Gi", 1, ""));
    assert_used(work, 2, 12);
    declare(work, &kind_volume_policy, "{\"metadata\":{\"name\":\"fast\"},\"spec\":{}}");
    assert_used(work, 2, 12);
}

WORK_TEST(a_document_over_a_quota_is_refused_and_not_created) {
    set_limit(work, QUOTA_GIGABYTES, 20);
    declare(work, &kind_volume_config, DECLARED("db", "15Gi", 3, ""));
    for (int dry_run = 0; dry_run < 2; dry_run++) {
        REFUSED(try(work, DECLARED("more", "6Gi", 3, ""), dry_run, err), OVER_QUOTA);
        ck_assert_str_eq(err->message, "VolumeSizeExceedsAvailableQuota: Requested volume or "
                                       "snapshot exceeds allowed gigabytes quota. Requested 6G, "
                                       "quota is 20G and 15G has been consumed.");
    }
    assert_used(work, 1, 15);
    OK(try(work, DECLARED("more", "5Gi", 3, ""), true, err));
    assert_used(work, 1, 15);
    set_limit(work, QUOTA_VOLUMES, 1);
    REFUSED(try(work, DECLARED("more", "5Gi", 3, ""), false, err), OVER_QUOTA);
    set_limit(work, QUOTA_VOLUMES, 2);
    set_limit(work, QUOTA_PER_VOLUME, 4);
    REFUSED(try(work, DECLARED("more", "5Gi", 3, ""), false, err), OVER_QUOTA);
    OK(try(work, DECLARED("more", "4Gi", 3, ""), false, err));
    assert_used(work, 2, 19);
}

WORK_TEST(a_growing_volume_takes_the_difference_from_the_quota) {
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 3, ""));
    struct document before = config_of(work, id), after;

    set_limit(work, QUOTA_GIGABYTES, 10);
    REFUSED(edit(work, id, SIZE("11Gi"), err), OVER_QUOTA);
    REFUSED(document_patch(work, &before, tree(work, SIZE("11Gi")), true, &after, err), OVER_QUOTA);
    ck_assert_str_eq(config_at(work, id, "spec.capacity.storage"), "\"1Gi\"");
    assert_used(work, 1, 1);
    OK(edit(work, id, SIZE("9.5Gi"), err));
    assert_used(work, 1, 10);
    OK(edit(work, id, SIZE("10Gi"), err));
    OK(edit(work, id, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", err));
    assert_used(work, 1, 10);
    set_limit(work, QUOTA_PER_VOLUME, 10);
    set_limit(work, QUOTA_GIGABYTES, -1);
    REFUSED(edit(work, id, SIZE("11Gi"), err), OVER_QUOTA);
    assert_used(work, 1, 10);
}

WORK_TEST(a_deleted_config_returns_its_quota_once) {
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 1, ""));
    struct document config = config_of(work, id), after, *replicas;

    put_pools(work, 1);
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    OK(document_delete(work, &config, true, &after, err));
    config = config_of(work, id);
    OK(document_delete(work, &config, false, &after, err));
    settle(work, id);
    assert_used(work, 1, 10);
    replicas_of(work, id, &replicas);
    report(work, &replicas[0], "{\"phase\":\"Deleted\"}");
    assert_used(work, 1, 10); /* the config is there */
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_SETTLED);
    assert_used(work, 0, 0);
    ck_assert_int_eq(reconcile_config(work, id, err), RECONCILE_SETTLED);
    assert_used(work, 0, 0);
}

/* Its column is NULL, as in rows of before the column. */
WORK_TEST(uncounted_documents_are_counted_once_regardless_of_the_limit) {
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 1, ""));
    const char *other = declare(work, &kind_volume_config, DECLARED("other", "2Gi", 1, ""));

    sql(work, "UPDATE documents SET size_gb = NULL");
    sql(work, "UPDATE quota_usages SET used = 0");
    assert_used(work, 0, 0);
    set_limit(work, QUOTA_GIGABYTES, 5);
    ck_assert_int_eq(reconcile_evaluate(work, id, NULL, err), RECONCILE_WRITES);
    assert_used(work, 0, 0);
    settle(work, id);
    assert_used(work, 1, 10);
    settle(work, id);
    assert_used(work, 1, 10);
    OK(edit(work, id, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", err));
    assert_used(work, 1, 10);
    /* A first edit counts the previous size, and is checked against the limit. */
    REFUSED(edit(work, other, SIZE("3Gi"), err), OVER_QUOTA);
    set_limit(work, QUOTA_GIGABYTES, -1);
    OK(edit(work, other, SIZE("4Gi"), err));
    assert_used(work, 2, 14);
}

WORK_TEST(an_administrator_declares_a_new_one_as_counted_elsewhere) {
    struct context member = *work->context, admin = member;

    admin.is_admin = true;
    member.is_admin = false;
    work->context = &member;
    OK(try(work, ELSEWHERE, false, err));
    assert_used(work, 1, 5);
    OK(edit(work, "twin", "{\"spec\":{\"capacity\":{\"storage\":\"6Gi\"}}}", err));
    assert_used(work, 1, 6);
    sql(work, "UPDATE documents SET name = 'a' WHERE name = 'twin'");
    work->context = &admin;
    declare(work, &kind_volume_config, DECLARED("mine", "1Gi", 1, ""));
    assert_used(work, 2, 7);
    set_limit(work, QUOTA_GIGABYTES, 7);
    OK(try(work, ELSEWHERE, false, err));
    assert_used(work, 2, 7);
    /* It stays so through any edit. */
    work->context = &member;
    OK(edit(work, "twin", "{\"metadata\":{\"annotations\":{\"scoria.io/quota\":null}}}", err));
    OK(edit(work, "twin", SIZE("100Gi"), err));
    assert_used(work, 2, 7);
    settle(work, config_of(work, "twin").id);
    assert_used(work, 2, 7);
}

/* ---- snapshots ---- */

#define SNAPSHOT(name, more) \
    "{\"metadata\":{\"name\":\"" name "\"" more "},\"spec\":{\"volumeName\":\"db\"}}"
#define NONE ",\"annotations\":{\"scoria.io/quota\":\"none\"}"

static void assert_snapshots(struct work *work, int64_t snapshots, int64_t gigabytes) {
    ck_assert_int_eq(used(work, QUOTA_SNAPSHOTS), snapshots);
    assert_used(work, 1, gigabytes);
}

static int shoot(struct work *work, const char *text, bool dry_run, struct error *err) {
    struct document document;

    return document_create(work, &kind_volume_config_snapshot, tree(work, text), dry_run, &document,
                           err);
}

/* "db" of 2.5 GiB, on one pool. */
static const char *bound(struct work *work) {
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "2.5Gi", 1, ""));

    put_pools(work, 1);
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    return id;
}

WORK_TEST(a_snapshot_takes_the_size_of_its_config_from_the_quota_and_returns_it) {
    const char *config = bound(work), *id;
    struct document snapshot, after, *replicas;

    id = declare(work, &kind_volume_config_snapshot, SNAPSHOT("s", ""));
    assert_snapshots(work, 1, 6);
    OK(edit(work, config, SIZE("10Gi"), err));
    assert_snapshots(work, 1, 13);
    settle(work, config);
    snapshot = document_of(work, &kind_volume_config_snapshot, id);
    OK(document_patch(work, &snapshot, tree(work, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                      false, &after, err));
    assert_snapshots(work, 1, 13);
    OK(document_delete(work, &after, false, &snapshot, err));
    settle(work, config);
    assert_snapshots(work, 1, 13); /* its files are there */
    replicas_of(work, config, &replicas);
    report(work, &replicas[0],
           arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"observedGeneration\":%jd,\"snapshots\":[]}",
                        (intmax_t)replicas[0].generation));
    settle(work, config);
    assert_snapshots(work, 0, 10);
}

WORK_TEST(a_snapshot_over_a_quota_is_refused_and_not_created) {
    bound(work);
    for (int dry_run = 0; dry_run < 2; dry_run++) {
        set_limit(work, QUOTA_GIGABYTES, 5);
        REFUSED(shoot(work, SNAPSHOT("s", ""), dry_run, err), OVER_QUOTA);
        set_limit(work, QUOTA_GIGABYTES, -1);
        set_limit(work, QUOTA_SNAPSHOTS, 0);
        REFUSED(shoot(work, SNAPSHOT("s", ""), dry_run, err), OVER_QUOTA);
        ck_assert_str_eq(err->message, "SnapshotLimitExceeded: Maximum number of snapshots allowed "
                                       "(0) exceeded for quota 'snapshots'.");
        assert_snapshots(work, 0, 3);
    }
    set_limit(work, QUOTA_SNAPSHOTS, 1);
    set_limit(work, QUOTA_PER_VOLUME, 1); /* of volumes */
    OK(shoot(work, SNAPSHOT("s", ""), false, err));
    assert_snapshots(work, 1, 6);
}

WORK_TEST(snapshots_take_no_gigabytes_where_configured) {
    const char *config = bound(work);
    struct settings settings = *work->settings;

    (void)err;
    settings.no_snapshot_gb_quota = true;
    work->settings = &settings;
    declare(work, &kind_volume_config_snapshot, SNAPSHOT("s", ""));
    assert_snapshots(work, 1, 3);
    settings.no_snapshot_gb_quota = false; /* the counted size stays */
    settle(work, config);
    assert_snapshots(work, 1, 3);
}

WORK_TEST(snapshots_of_a_config_counted_elsewhere_are_so_for_administrators) {
    const char *config = bound(work);
    struct context member = *work->context, admin = member;

    admin.is_admin = true;
    member.is_admin = false;
    work->context = &admin;
    OK(shoot(work, SNAPSHOT("said", NONE), false, err));
    assert_snapshots(work, 0, 3);
    work->context = &member;
    OK(shoot(work, SNAPSHOT("own", NONE), false, err));
    assert_snapshots(work, 1, 6);
    sql(work, "UPDATE documents SET size_gb = 0 WHERE kind = 'CStorVolumeConfig'");
    sql(work, "UPDATE quota_usages SET used = used - 3 WHERE resource = 'gigabytes'");
    OK(shoot(work, SNAPSHOT("members", ""), false, err));
    ck_assert_int_eq(used(work, QUOTA_SNAPSHOTS), 2);
    work->context = &admin;
    OK(shoot(work, SNAPSHOT("admins", ""), false, err));
    ck_assert_int_eq(used(work, QUOTA_SNAPSHOTS), 2);
    ck_assert_int_eq(used(work, QUOTA_GIGABYTES), 6);
    (void)config;
}

WORK_TEST(snapshots_that_are_older_than_their_counting_are_counted_once) {
    const char *config = bound(work);

    declare(work, &kind_volume_config_snapshot, SNAPSHOT("s", ""));
    declare(work, &kind_volume_config_snapshot, SNAPSHOT("t", ""));
    settle(work, config);
    sql(work, "UPDATE documents SET size_gb = NULL WHERE kind = 'CStorVolumeSnapshot'");
    sql(work, "UPDATE quota_usages SET used = 0 WHERE resource = 'snapshots'");
    sql(work, "UPDATE quota_usages SET used = 3 WHERE resource = 'gigabytes'");
    set_limit(work, QUOTA_SNAPSHOTS, 1);
    assert_snapshots(work, 0, 3);
    ck_assert_int_eq(reconcile_evaluate(work, config, NULL, err), RECONCILE_WRITES);
    settle(work, config);
    assert_snapshots(work, 2, 9);
    settle(work, config);
    assert_snapshots(work, 2, 9);
    /* Snapshots of a config counted elsewhere are counted elsewhere, too. */
    sql(work, "UPDATE documents SET size_gb = NULL WHERE kind = 'CStorVolumeSnapshot'");
    sql(work, "UPDATE documents SET size_gb = 0 WHERE kind = 'CStorVolumeConfig'");
    sql(work, "UPDATE quota_usages SET used = 0");
    settle(work, config);
    ck_assert_int_eq(used(work, QUOTA_SNAPSHOTS), 0);
    assert_used(work, 0, 0);
}

WORK_TEST(a_failure_of_the_database_is_logged) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 1, ""));
    struct document config = config_of(work, id);

    FAILS_WITHOUT("quota_usages", document_quota_check(work, NULL, &config, err));
    FAILS_WITHOUT("quota_usages", edit(work, id, SIZE("11Gi"), err));
    FAILS_WITHOUT("quota_usages", document_quota_end(work, &config, err));
    sql(work, "UPDATE documents SET size_gb = NULL");
    FAILS_WITHOUT("quota_usages", reconcile_config(work, id, err));
}

CHECK_MAIN("document quota", a_config_is_a_volume_of_its_size_rounded_up,
           a_document_over_a_quota_is_refused_and_not_created,
           a_growing_volume_takes_the_difference_from_the_quota,
           a_deleted_config_returns_its_quota_once,
           uncounted_documents_are_counted_once_regardless_of_the_limit,
           an_administrator_declares_a_new_one_as_counted_elsewhere,
           a_snapshot_takes_the_size_of_its_config_from_the_quota_and_returns_it,
           a_snapshot_over_a_quota_is_refused_and_not_created,
           snapshots_take_no_gigabytes_where_configured,
           snapshots_of_a_config_counted_elsewhere_are_so_for_administrators,
           snapshots_that_are_older_than_their_counting_are_counted_once,
           a_failure_of_the_database_is_logged)
