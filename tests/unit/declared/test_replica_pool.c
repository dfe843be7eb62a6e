#include "declared/replica_pool.h"

#include "declared/document_edit.h"
#include "declared/document_own.h"
#include "tests/lib/work_test.h"
#include "json/json.h"

#include <string.h>

static const struct replica_pool first = {
    .id = "pool-a",
    .node = "host-a",
    .path = "/pools/a",
    .total_bytes = 1000,
    .free_bytes = 600,
    .state = "Online",
};

static int report(struct work *work, struct replica_pool said, struct replica_pool *ret,
                  struct error *err) {
    if (!said.labels)
        said.labels = json_keep(work->arena, json_object());
    return replica_pool_report(work, &said, ret, err);
}

static void go_on(struct work *work, int64_t seconds) {
    work->clock_us += seconds * SECOND_US;
    work->now_us += seconds * SECOND_US;
}

WORK_TEST(a_pool_is_as_its_node_reports_it) {
    struct replica_pool said = first, pool;

    said.labels = json_keep(work->arena, json_pack("{s:s}", "disk", "ssd"));
    OK(report(work, said, &pool, err));
    ck_assert_str_eq(pool.id, "pool-a");
    ck_assert_str_eq(pool.node, "host-a");
    ck_assert_str_eq(pool.path, "/pools/a");
    ck_assert_str_eq(json_text(work->arena, pool.labels), "{\"disk\":\"ssd\"}");
    ck_assert_int_eq(pool.total_bytes, 1000);
    ck_assert_int_eq(pool.free_bytes, 600);
    ck_assert_str_eq(pool.state, "Online");
    ck_assert(pool.up && !pool.read_only);
    go_on(work, 5);
    said.free_bytes = 0;
    said.read_only = true;
    OK(report(work, said, &pool, err));
    ck_assert_int_eq(pool.free_bytes, 0);
    ck_assert(pool.read_only);
    ck_assert_int_eq(pool.seen_at, NOW_US + 5 * SECOND_US);
    ck_assert_int_eq(pool.created_at, NOW_US);
}

WORK_TEST(a_pool_may_have_an_address) {
    static const char *const refused[] = { "host-a",       "host-a:",       ":1",   "host-a:0",
                                           "host-a:65536", "2001:db8::1:1", "h:1x", "[:1",
                                           "h: 1",         "h:-1" };
    struct replica_pool said = first, pool;

    OK(report(work, said, &pool, err));
    ck_assert_ptr_null(pool.address);
    said.address = "[2001:db8::1]:10810";
    OK(report(work, said, &pool, err));
    ck_assert_str_eq(pool.address, said.address);
    for (size_t i = 0; i < LENGTH(refused); i++) {
        said.address = refused[i];
        REFUSED(report(work, said, &pool, err), BAD_REQUEST);
    }
    ck_assert_int_eq(replica_pool_find(work, "pool-a", &pool, err), 1);
    ck_assert_str_eq(pool.address, "[2001:db8::1]:10810");
    OK(report(work, first, &pool, err));
    ck_assert_ptr_null(pool.address);
}

WORK_TEST(pools_are_found_by_their_names) {
    static const char *const names[] = { "pool-c", "pool-a", "pool-x" };
    struct replica_pool said = first, *pools = NULL;

    OK(report(work, first, &said, err));
    said.id = "pool-b";
    OK(report(work, said, &said, err));
    said.id = "pool-c";
    OK(report(work, said, &said, err));
    ck_assert_int_eq(replica_pools_named(work, names, 3, &pools, err), 2);
    ck_assert(strcmp(pools[0].id, "pool-b") != 0 && strcmp(pools[1].id, "pool-b") != 0);
    ck_assert_int_eq(replica_pools_named(work, names, 1, &pools, err), 1);
    ck_assert_str_eq(pools[0].id, "pool-c");
    ck_assert_int_eq(replica_pools_named(work, names, 0, &pools, err), 0);
}

WORK_TEST(an_unreported_pool_is_offline) {
    struct replica_pool pool, *pools;

    OK(report(work, first, &pool, err));
    go_on(work, 30);
    ck_assert_int_eq(replica_pool_find(work, "pool-a", &pool, err), 1);
    ck_assert(pool.up);
    go_on(work, 1);
    ck_assert_int_eq(replica_pool_list(work, &pools, err), 1);
    ck_assert(!pools[0].up);
    OK(report(work, first, &pool, err));
    ck_assert(pool.up);
    ck_assert_int_eq(replica_pool_find(work, "pool-b", &pool, err), 0);
}

WORK_TEST(a_name_is_one_living_nodes) {
    struct replica_pool other = first, pool;

    other.node = "host-b";
    OK(report(work, first, &pool, err));
    REFUSED(report(work, other, &pool, err), CONFLICT);
    ck_assert_str_eq(err->message, "Pool pool-a belongs to node host-a, which is up.");
    go_on(work, 31);
    OK(report(work, other, &pool, err));
    ck_assert_str_eq(pool.node, "host-b");
    REFUSED(report(work, first, &pool, err), CONFLICT);
}

WORK_TEST(an_invalid_pool_is_refused) {
    struct replica_pool pool, said;

    said = first;
    said.id = "Pool_A";
    REFUSED(report(work, said, &pool, err), BAD_REQUEST);
    said.id = "0123456789012345678901234567890123456789012345678901234567890123";
    REFUSED(report(work, said, &pool, err), BAD_REQUEST);
    said = first;
    said.path = "pools/a";
    REFUSED(report(work, said, &pool, err), BAD_REQUEST);
    said = first;
    said.free_bytes = 1001;
    REFUSED(report(work, said, &pool, err), BAD_REQUEST);
    ck_assert_int_eq(replica_pool_find(work, "pool-a", &pool, err), 0);
}

static json_t *parse(struct work *work, const char *text) {
    return json_parse(work->arena, text, strlen(text), NULL);
}

WORK_TEST(a_pool_with_replicas_is_not_forgotten) {
    struct replica_pool pool, shorter = first;
    struct document config, replica;

    shorter.id = "pool";
    OK(report(work, shorter, &pool, err));
    OK(report(work, first, &pool, err));
    OK(document_create(work, &kind_volume_config,
                       parse(work, "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"capacity\":{"
                                   "\"storage\":\"1Gi\"},\"provision\":{\"replicaCount\":1}}}"),
                       false, &config, err));
    OK(document_own_create(work, &kind_volume_replica, &config, "db-pool-a", NULL,
                           parse(work, "{\"spec\":{\"volumeId\":\"v\",\"poolName\":\"pool-a\","
                                       "\"nodeId\":\"host-a\",\"path\":\"/p\",\"capacity\":\"1Gi\","
                                       "\"maximum\":\"1Ti\",\"replicationFactor\":1}}"),
                           NULL, "host-a", &replica, err));
    REFUSED(replica_pool_delete(work, &pool, err), CONFLICT);
    ck_assert_str_eq(err->message, "Pool pool-a has replicas.");
    ck_assert_int_eq(replica_pool_find(work, "pool", &pool, err), 1);
    OK(replica_pool_delete(work, &pool, err));
    ck_assert_int_eq(replica_pool_find(work, "pool", &pool, err), 0);
    OK(document_delete(work, &replica, false, &config, err));
    OK(document_status_put(work, &config, "host-a", parse(work, "{\"phase\":\"Deleted\"}"),
                           &replica, err));
    ck_assert_int_eq(replica_pool_find(work, "pool-a", &pool, err), 1);
    OK(replica_pool_delete(work, &pool, err));
}

#define INSTANCE "00000000-0000-4000-8000-0000000000a1"
#define SECOND   "00000000-0000-4000-8000-0000000000a2"

WORK_TEST(of_two_agents_of_one_node_name_one_has_the_node) {
    struct replica_pool said = first, pool;

    OK(replica_pool_check_instance(work, "host-a", SECOND, err));
    said.instance = INSTANCE;
    OK(report(work, said, &pool, err));
    go_on(work, 29);
    said.instance = SECOND;
    said.path = "/other";
    REFUSED(report(work, said, &pool, err), CONFLICT);
    said.id = "pool-b"; /* nor may it have others there */
    REFUSED(report(work, said, &pool, err), CONFLICT);
    REFUSED(replica_pool_check_instance(work, "host-a", SECOND, err), CONFLICT);
    ck_assert_ptr_nonnull(strstr(err->message, "another storage agent with the same node name"));
    ck_assert_int_eq(replica_pool_find(work, "pool-b", &pool, err), 0);
    ck_assert_int_eq(replica_pool_find(work, "pool-a", &pool, err), 1);
    ck_assert_str_eq(pool.path, "/pools/a");

    OK(replica_pool_check_instance(work, "host-a", INSTANCE, err)); /* started again */
    OK(replica_pool_check_instance(work, "host-b", SECOND, err));
    OK(replica_pool_check_instance(work, "host-a", NULL, err)); /* an earlier version */
    go_on(work, 2);
    OK(replica_pool_check_instance(work, "host-a", SECOND, err));
    OK(report(work, said, &pool, err));
    REFUSED(replica_pool_check_instance(work, "host-a", INSTANCE, err), CONFLICT);
}

WORK_TEST(a_node_is_unresponsive_since_its_last_pool_report) {
    struct replica_pool said = first, pool;
    int64_t us;

    ck_assert_int_eq(replica_pool_node_unseen_us(work, "host-a", &us, err), 0);
    OK(report(work, said, &pool, err));
    go_on(work, 5);
    said.id = "pool-b";
    OK(report(work, said, &pool, err));
    go_on(work, 7);
    said.id = "pool-c";
    said.node = "host-b";
    OK(report(work, said, &pool, err));
    ck_assert_int_eq(replica_pool_node_unseen_us(work, "host-a", &us, err), 1);
    ck_assert_int_eq(us, 7 * SECOND_US);
}

CHECK_MAIN("replica_pool", a_pool_is_as_its_node_reports_it, a_pool_may_have_an_address,
           pools_are_found_by_their_names, a_node_is_unresponsive_since_its_last_pool_report,
           an_unreported_pool_is_offline, a_name_is_one_living_nodes, an_invalid_pool_is_refused,
           a_pool_with_replicas_is_not_forgotten, of_two_agents_of_one_node_name_one_has_the_node)
