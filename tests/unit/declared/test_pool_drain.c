#include "declared/pool_drain.h"

#include "tests/lib/declared.h"

#define MIB ((int64_t)1 << 20)

/* Two configs on pools a to c, whose replicas take 100 MiB each. */
static void declare_two(struct work *work) {
    static const char *const names[] = { "one", "two" };

    put_pools(work, 5);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    for (unsigned i = 0; i < 2; i++) {
        const char *id = declare(
            work, &kind_volume_config,
            arena_format(work->arena,
                         DECLARED("%s", "1Gi", 3,
                                  POOLS(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c"))),
                         names[i]));
        struct document *replicas = NULL;
        unsigned count;

        settle(work, id);
        count = replicas_of(work, id, &replicas);
        for (unsigned k = 0; k < count; k++)
            report(work, &replicas[k],
                   "{\"phase\":\"Healthy\",\"capacity\":{\"used\":\"100Mi\",\"total\":\"1Gi\"}}");
        settle(work, id);
    }
}

static struct replica_pool pool_b(struct work *work) {
    struct replica_pool pool;
    struct error err;

    ck_assert_int_eq(replica_pool_find(work, "pool-b", &pool, &err), 1);
    return pool;
}

static struct pool_drain read_drain(struct work *work) {
    const struct replica_pool pool = pool_b(work);
    struct pool_drain drain;
    struct error err;

    ck_assert_int_eq(pool_drain_read(work, &pool, &drain, &err), 0);
    return drain;
}

static void begin(struct work *work) {
    const struct replica_pool pool = pool_b(work);
    struct error err;

    ck_assert_int_eq(pool_drain_set(work, &pool, true, &err), 0);
}

WORK_TEST(a_drain_that_begins_has_all_bytes_to_move) {
    struct pool_drain drain;

    (void)err;
    declare_two(work);
    begin(work);
    drain = read_drain(work);
    ck_assert_int_eq(drain.replicas, 2);
    ck_assert_int_eq(drain.left_bytes, 200 * MIB);
    ck_assert_int_eq(drain.moved_bytes, 0);
    ck_assert_int_eq(drain.bytes_per_second, 0);
    ck_assert_int_eq(drain.remaining_s, -1);
}

static const char *config_named(struct work *work, const char *name) {
    struct document config;
    struct error err;

    ck_assert_int_eq(
        document_named(work, &kind_volume_config, work->context->project_id, name, &config, &err),
        1);
    return arena_text(work->arena, config.id);
}

/* As the node of the volume reports it of the new replica. */
static void put_progress(struct work *work, const char *id, int percent) {
    struct document config = config_of(work, id);
    const json_t *move = json_object_get(config.status, "replacement");

    json_object_set_new(config.status, "progress",
                        json_pack("[{s:s, s:s, s:i}]", "operation", "Rebuild", "replicaId",
                                  json_text_of(move, "newReplicaId"), "percent", percent));
    sql(work, "%s",
        arena_format(work->arena, "UPDATE documents SET status = '%s' WHERE id = '%s'",
                     json_text(work->arena, config.status), id));
}

WORK_TEST(copied_bytes_count_during_and_after_the_copy) {
    struct pool_drain drain;
    const char *id;

    (void)err;
    declare_two(work);
    begin(work);
    id = config_named(work, "one");
    settle(work, id);
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM replica_moves"), 1);
    put_progress(work, id, 25);
    work->clock_us += 5 * SECOND_US;
    drain = read_drain(work);
    ck_assert_int_eq(drain.moved_bytes, 25 * MIB);
    ck_assert_int_eq(drain.left_bytes, 175 * MIB);
    ck_assert_int_eq(drain.bytes_per_second, 5 * MIB);
    ck_assert_int_eq(drain.remaining_s, 35);
    sql(work, "UPDATE documents SET deleted_at = 1 WHERE pool = 'pool-b'");
    work->clock_us += 5 * SECOND_US;
    drain = read_drain(work);
    ck_assert_int_eq(drain.replicas, 2); /* whose data go */
    ck_assert_int_eq(drain.left_bytes, 0);
    ck_assert_int_eq(drain.moved_bytes, 200 * MIB);
    ck_assert_int_eq(drain.remaining_s, 0);
}

/* A volume that is served grows meanwhile, and an older version has not kept when it began. */
WORK_TEST(no_figure_of_a_drain_is_negative_or_made_up) {
    const struct replica_pool pool = { .id = "pool-b", .draining = true };
    struct pool_drain drain;

    declare_two(work);
    begin(work);
    sql(work, "UPDATE replica_pools SET drain_bytes = 5 WHERE name = 'pool-b'");
    work->clock_us += SECOND_US;
    ck_assert_int_eq(read_drain(work).moved_bytes, 0);
    ck_assert_int_eq(read_drain(work).bytes_per_second, 0);
    sql(work, "UPDATE replica_pools SET drain_bytes = NULL, drain_at = NULL");
    drain = read_drain(work);
    ck_assert_int_eq(drain.moved_bytes, -1);
    ck_assert_int_eq(drain.left_bytes, 200 * MIB);
    ck_assert_int_eq(drain.remaining_s, -1);
    OK(pool_drain_set(work, &pool, false, err));
    ck_assert(!pool_b(work).draining);
}

CHECK_MAIN("pool drain", a_drain_that_begins_has_all_bytes_to_move,
           copied_bytes_count_during_and_after_the_copy,
           no_figure_of_a_drain_is_negative_or_made_up)
