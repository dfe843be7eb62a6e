#include "tests/lib/declared.h"

/* Of 10 GiB on pools a and b, which have `free_a` and 100 GiB free; replica a takes 4 GiB. */
static const char *bound(struct work *work, int64_t free_a) {
    struct document *replicas = NULL;
    const char *id;

    put_pools(work, 2);
    id = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 2, ""));
    settle(work, id);
    replicas_of(work, id, &replicas);
    report(work, &replicas[0], "{\"phase\":\"Healthy\",\"capacity\":{\"used\":\"4Gi\"}}");
    report(work, &replicas[1], "{\"phase\":\"Healthy\"}");
    settle(work, id);
    put_pool(work, "pool-a", "host-a", free_a);
    put_pool(work, "pool-b", "host-b", 100 * GIB);
    return id;
}

static int grow(struct work *work, const char *id, const char *size, struct error *err) {
    return edit(work, id,
                arena_format(work->arena, "{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}", size),
                err);
}

WORK_TEST(growth_beyond_the_space_of_a_pool_is_refused_and_nothing_is_changed) {
    const char *id = bound(work, 10 * GIB);
    struct document *replicas = NULL;
    int64_t version = last_version(work);

    replicas_of(work, id, &replicas);
    REFUSED(grow(work, id, "15Gi", err), OVER_QUOTA);
    ck_assert_str_eq(err->message,
                     arena_format(work->arena,
                                  "spec.capacity.storage: the pool of replica %s has 10Gi free, "
                                  "and a volume of 15Gi needs 11Gi there.",
                                  replicas[0].id));
    ck_assert_int_eq(last_version(work), version);
    OK(grow(work, id, "14Gi", err));
}

/* Its size is not reported: it counts as full. */
WORK_TEST(growth_counts_a_replica_without_figures_as_full) {
    const char *id = bound(work, 1000 * GIB);

    REFUSED(grow(work, id, "111Gi", err), OVER_QUOTA);
    OK(grow(work, id, "110Gi", err));
}

WORK_TEST(an_offline_pool_does_not_keep_a_volume_from_growing) {
    const char *id = bound(work, 0);

    REFUSED(grow(work, id, "20Gi", err), OVER_QUOTA);
    sql(work, "UPDATE replica_pools SET seen_at = 0 WHERE name = 'pool-a'");
    OK(grow(work, id, "20Gi", err));
}

/* Its node answers, and finds no file system there: the free space of 0 is none of a pool's. */
WORK_TEST(a_lost_pool_does_not_keep_a_volume_from_growing) {
    const char *id = bound(work, 0);

    sql(work, "UPDATE replica_pools SET state = 'Offline' WHERE name = 'pool-a'");
    OK(grow(work, id, "20Gi", err));
}

WORK_TEST(a_snapshot_without_space_on_a_pool_is_refused) {
    static const char text[] = "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"volumeName\":\"db\"}}";
    struct document made;

    bound(work, 4 * GIB - 1);
    REFUSED(
        document_create(work, &kind_volume_config_snapshot, tree(work, text), false, &made, err),
        OVER_QUOTA);
    put_pool(work, "pool-a", "host-a", 4 * GIB);
    OK(document_create(work, &kind_volume_config_snapshot, tree(work, text), false, &made, err));
}

CHECK_MAIN("replica_space", growth_beyond_the_space_of_a_pool_is_refused_and_nothing_is_changed,
           growth_counts_a_replica_without_figures_as_full,
           an_offline_pool_does_not_keep_a_volume_from_growing,
           a_lost_pool_does_not_keep_a_volume_from_growing,
           a_snapshot_without_space_on_a_pool_is_refused)
