#include "declared/controller.h"

#include "common/log.h"
#include "declared/pool_drain.h"
#include "tests/lib/declared.h"

#include <unistd.h>

/* A controller, a database that outlives it, and a clock that the test moves. */
struct bench {
    struct db *db;
    struct arena *arena;
    struct work_fixture fixture;
    struct clock clock;
    int64_t steady_us;
    struct controller *controller;
    unsigned rounds;
};

static int64_t bench_steady(void *arg) {
    return __atomic_load_n(&((struct bench *)arg)->steady_us, __ATOMIC_RELAXED);
}

static void bench_random(void *arg, void *bytes, size_t size) {
    (void)arg;
    test_random(NULL, bytes, size);
}

static struct controller *controller_on(struct bench *bench, int64_t resync_s) {
    const struct controller_settings settings = { .db = bench->db,
                                                  .settings = &bench->fixture.settings,
                                                  .resync_s = resync_s };

    return controller_new(&settings);
}

static struct bench *bench_new(bool inline_writes) {
    struct bench *bench = calloc(1, sizeof *bench);
    const struct db_settings settings = { .url = database_url(), .inline_writes = inline_writes };
    struct error err = { 0 };

    log_open(-1, LOG_ERROR, LOG_TEXT);
    bench->fixture = test_fixture();
    bench->clock = (struct clock){ test_now, bench_steady, test_clock_us, bench_random, bench };
    bench->steady_us = 1000 * SECOND_US;
    bench->fixture.settings.quota_volumes = bench->fixture.settings.quota_gigabytes = -1;
    bench->fixture.settings.clock = &bench->clock;
    ck_assert_msg(db_open(&settings, &bench->db, &err) == 0, "%s", err.message);
    bench->arena = arena_new();
    bench->controller = controller_on(bench, 30);
    return bench;
}

static void bench_free(struct bench *bench) {
    controller_free(bench->controller);
    db_close(bench->db);
    arena_free(bench->arena);
    free(bench);
}

/* One transaction of another process; -1: the controller has not been woken for it. */
static int act(struct bench *bench, work_body *body, void *arg) {
    struct work base = { .arena = bench->arena,
                         .context = &bench->fixture.context,
                         .settings = &bench->fixture.settings };
    struct error err = { 0 };

    ck_assert_msg(work_transaction(bench->db, &base, body, arg, &err) >= 0, "%s", err.message);
    return 0;
}

/* Until it has nothing to do: the pause that it returns. */
static int64_t tick(struct bench *bench) {
    int64_t pause_ms;

    bench->rounds = 0;
    while ((pause_ms = controller_tick(bench->controller)) == 0)
        ck_assert_uint_lt(bench->rounds++, 100);
    return pause_ms;
}

static const char *declared;

static int declare_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    put_pools(work, *(unsigned *)arg);
    declared = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 3, ""));
    return 0;
}

static int declare_alone_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    (void)err;
    declared = declare(work, &kind_volume_config, DECLARED("db", "10Gi", 3, ""));
    return 0;
}

static int space_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    put_pool(work, "pool-a", "host-a", *(int64_t *)arg * GIB);
    return 0;
}

static int pools_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    put_pools(work, *(unsigned *)arg);
    return 0;
}

static int made_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    (void)err;
    report_made(work, declared);
    return 0;
}

struct state {
    const char *phase, *event;
    int64_t version;
    int64_t documents;
};

static int state_body(struct work *work, void *arg, struct error *err) {
    struct state *state = arg;

    (void)err;
    state->version = last_version(work);
    state->documents = sql_int(work, "SELECT COUNT(*) FROM documents");
    state->phase = state->documents ? config_at(work, declared, "status.phase") : "";
    state->event = state->documents ? last_event(work, declared) : "";
    return 0;
}

static struct state read_state(struct bench *bench) {
    struct state state = { .phase = NULL };

    act(bench, state_body, &state);
    return state;
}

static unsigned pools = 3;

START_TEST(a_declared_volume_is_reconciled_step_by_step) {
    struct bench *bench = bench_new(true);

    bench->fixture.settings.one_process = true;
    ck_assert_int_eq(tick(bench), 5000); /* there is nothing to watch yet */
    act(bench, declare_body, &pools);
    ck_assert_int_eq(tick(bench), 500);
    ck_assert_int_eq(read_state(bench).documents, 5);
    act(bench, made_body, NULL);
    ck_assert_int_eq(tick(bench), 500);
    ck_assert_str_eq(read_state(bench).phase, "\"Bound\"");
    bench_free(bench);
}
END_TEST

/* It sends no notification on SQLite. */
START_TEST(the_first_document_of_another_process_is_noticed_as_soon_as_others) {
    struct bench *bench = bench_new(true);

    ck_assert_int_eq(tick(bench), 500);
    act(bench, declare_body, &pools);
    ck_assert_int_eq(tick(bench), 500);
    ck_assert_int_eq(read_state(bench).documents, 5);
    bench_free(bench);
}
END_TEST

START_TEST(an_evaluation_without_changes_writes_nothing) {
    struct bench *bench = bench_new(true);
    struct state before;

    act(bench, declare_body, &pools);
    tick(bench);
    act(bench, made_body, NULL);
    tick(bench);
    before = read_state(bench);
    for (int i = 0; i < 5; i++) {
        bench->steady_us += 31 * SECOND_US;
        tick(bench);
    }
    ck_assert_int_eq(read_state(bench).version, before.version);
    ck_assert_str_eq(read_state(bench).event, before.event);
    bench_free(bench);
}
END_TEST

static int lose_pool_body(struct work *work, void *arg, struct error *err) {
    (void)arg, (void)err;
    sql(work, "UPDATE replica_pools SET seen_at = seen_at - 1000000000 WHERE name = 'pool-b'");
    return 0;
}

static int redundant_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    *(bool *)arg = condition_is(json_object_get(config_of(work, declared).status, "conditions"),
                                CONDITION_REDUNDANT, "True");
    return 0;
}

/* Long before the next full evaluation. */
START_TEST(a_pool_that_changes_its_state_has_its_configs_evaluated) {
    struct bench *bench = bench_new(true);
    bool is_redundant = false;

    controller_free(bench->controller);
    bench->controller = controller_on(bench, 3600);
    act(bench, declare_body, &pools);
    tick(bench);
    act(bench, made_body, NULL);
    tick(bench);
    act(bench, redundant_body, &is_redundant);
    ck_assert(is_redundant);
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    act(bench, lose_pool_body, NULL);
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    act(bench, redundant_body, &is_redundant);
    ck_assert(!is_redundant);
    bench_free(bench);
}
END_TEST

START_TEST(a_started_controller_continues_pending_work) {
    struct bench *bench = bench_new(true);

    act(bench, declare_body, &pools);
    tick(bench);
    act(bench, made_body, NULL);
    controller_free(bench->controller);
    bench->controller = controller_on(bench, 30);
    tick(bench);
    ck_assert_str_eq(read_state(bench).phase, "\"Bound\"");
    bench_free(bench);
}
END_TEST

START_TEST(failing_configs_are_retried_with_growing_pauses) {
    struct bench *bench = bench_new(true);
    unsigned none = 0;
    int64_t pause_us = 5000;

    act(bench, declare_body, &none);
    tick(bench);
    ck_assert_ptr_nonnull(strstr(read_state(bench).event, "Warning Provisioning 1: "));
    for (int dry_run = 2; dry_run < 15; dry_run++) {
        bench->steady_us += pause_us - 1;
        tick(bench);
        ck_assert_ptr_null(strstr(read_state(bench).event,
                                  arena_format(bench->arena, "Provisioning %d: ", dry_run)));
        bench->steady_us += 1;
        tick(bench);
        ck_assert_ptr_nonnull(strstr(read_state(bench).event,
                                     arena_format(bench->arena, "Provisioning %d: ", dry_run)));
        pause_us *= 2;
    }
    bench_free(bench);
}
END_TEST

START_TEST(a_waiting_config_gets_the_first_suitable_pool) {
    struct bench *bench = bench_new(true);
    unsigned none = 0;

    act(bench, declare_body, &none);
    for (int i = 0; i < 20; i++) {
        tick(bench);
        bench->steady_us += 30 * SECOND_US;
    }
    ck_assert_int_eq(read_state(bench).documents, 1);
    act(bench, pools_body, &pools);
    bench->steady_us += SECOND_US;
    tick(bench);
    ck_assert_int_eq(read_state(bench).documents, 5);
    bench_free(bench);
}
END_TEST

START_TEST(two_controllers_do_no_more_than_one) {
    struct bench *bench = bench_new(true);
    struct controller *first = bench->controller, *second = controller_on(bench, 30);

    controller_tick(second);
    act(bench, declare_body, &pools);
    for (int i = 0; i < 6; i++) {
        bench->controller = i % 2 ? first : second;
        controller_tick(bench->controller);
        if (i == 2)
            act(bench, made_body, NULL);
    }
    ck_assert_int_eq(read_state(bench).documents, 5);
    ck_assert_str_eq(read_state(bench).phase, "\"Bound\"");
    ck_assert_str_eq(read_state(bench).event, "Normal Provisioned 1: The volume is ready.");
    bench->controller = first;
    controller_free(second);
    bench_free(bench);
}
END_TEST

static int delete_body(struct work *work, void *arg, struct error *err) {
    struct document config = config_of(work, declared), after;

    (void)arg;
    return document_delete(work, &config, false, &after, err);
}

static int gone_body(struct work *work, void *arg, struct error *err) {
    struct document *replicas = NULL;
    unsigned count = replicas_of(work, declared, &replicas);

    (void)arg;
    (void)err;
    for (unsigned i = 0; i < count; i++)
        report(work, &replicas[i], "{\"phase\":\"Deleted\"}");
    return 0;
}

START_TEST(a_config_is_deleted_with_the_last_of_its_data) {
    struct bench *bench = bench_new(true);

    act(bench, declare_body, &pools);
    tick(bench);
    act(bench, delete_body, NULL);
    tick(bench);
    act(bench, gone_body, NULL);
    ck_assert_int_eq(read_state(bench).documents, 1);
    tick(bench);
    ck_assert_int_eq(read_state(bench).documents, 0);
    bench_free(bench);
}
END_TEST

static int broken(void *arg, const char *point, struct error *err) {
    (void)arg;
    return strcmp(point, "before_commit") == 0
               ? error_set(err, ERROR_UNAVAILABLE, "The disk is full.")
               : 0;
}

START_TEST(a_failed_database_is_retried) {
    struct bench *bench = bench_new(true);

    act(bench, declare_body, &pools);
    db_set_fault(bench->db, broken, NULL);
    tick(bench);
    db_set_fault(bench->db, NULL, NULL);
    ck_assert_int_eq(read_state(bench).documents, 1);
    bench->steady_us += SECOND_US;
    tick(bench);
    ck_assert_int_eq(read_state(bench).documents, 5);
    bench_free(bench);
}
END_TEST

static int many_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    put_pools(work, 3);
    for (unsigned i = 0; i < *(unsigned *)arg; i++)
        declared = declare(work, &kind_volume_config,
                           arena_format(work->arena, DECLARED("db-%u", "1Gi", 1, ""), i));
    return 0;
}

START_TEST(many_that_change_at_once_are_all_met) {
    struct bench *bench = bench_new(true);
    unsigned many = 1100; /* more than one result has */

    tick(bench);
    act(bench, many_body, &many);
    tick(bench);
    ck_assert_int_eq(read_state(bench).documents, 3300);
    bench_free(bench);
}
END_TEST

static int large_body(struct work *work, void *arg, struct error *err) {
    char *large = arena_alloc(work->arena, 100000);

    (void)arg;
    (void)err;
    memset(large, 'x', 99999);
    put_pools(work, 1);
    declare(work, &kind_volume_policy,
            arena_format(work->arena,
                         "{\"metadata\":{\"name\":\"large\"},\"spec\":{\"target\":{"
                         "\"affinity\":{\"a\":\"%s\"}}}}",
                         large));
    declared = declare(work, &kind_volume_config,
                       arena_format(work->arena,
                                    "{\"metadata\":{\"name\":\"db\",\"annotations\":{"
                                    "\"openebs.io/volume-policy\":\"large\"}},"
                                    "\"versionDetails\":{\"desired\":\"%.40000s\"},"
                                    "\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},"
                                    "\"provision\":{\"replicaCount\":1}}}",
                                    large));
    return 0;
}

START_TEST(an_obstacle_in_the_documents_is_reported_as_an_event) {
    struct bench *bench = bench_new(true);

    act(bench, large_body, NULL);
    tick(bench);
    ck_assert_int_eq(read_state(bench).documents, 2);
    ck_assert_str_eq(read_state(bench).event,
                     "Warning ReconcileFailed 1: config db: Volume config db would be larger than "
                     "131072 bytes.");
    bench->steady_us += 5000;
    tick(bench);
    ck_assert_ptr_nonnull(strstr(read_state(bench).event, "ReconcileFailed 2: "));
    bench_free(bench);
}
END_TEST

static int small_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    (void)err;
    put_pools(work, 1);
    declared = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 1, ""));
    return 0;
}

START_TEST(a_project_over_its_quota_gets_its_volume_when_quota_is_available) {
    struct bench *bench = bench_new(true);

    act(bench, small_body, NULL);
    bench->fixture.settings.document_bytes = 1;
    tick(bench);
    ck_assert_int_eq(read_state(bench).documents, 1);
    ck_assert_ptr_nonnull(strstr(read_state(bench).event,
                                 "Warning ReconcileFailed 1: config db: With "
                                 "Volume config db the documents of the "
                                 "project would have "));
    bench->fixture.settings.document_bytes = 100000;
    bench->steady_us += 5000;
    tick(bench);
    ck_assert_int_eq(read_state(bench).documents, 3);
    bench_free(bench);
}
END_TEST

static int policy_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    context_of(work)->project_id = arg;
    declare(work, &kind_volume_policy, "{\"metadata\":{\"name\":\"fast\"},\"spec\":{}}");
    return 0;
}

/* Edits of policies cause work for the configs of their own project alone. */
START_TEST(a_policy_requeues_configs_of_its_project_alone) {
    struct bench *bench = bench_new(true);
    char *own = arena_text(bench->arena, bench->fixture.context.project_id), other[] = "other";
    struct state first;

    act(bench, declare_alone_body, NULL);
    for (int i = 0; i < 20; i++) {
        tick(bench);
        bench->steady_us += 30 * SECOND_US;
    }
    tick(bench);
    first = read_state(bench);
    act(bench, policy_body, other);
    bench->fixture.context.project_id = own;
    tick(bench);
    ck_assert_str_eq(read_state(bench).event, first.event);
    act(bench, policy_body, own);
    tick(bench);
    ck_assert_str_ne(read_state(bench).event, first.event);
    bench_free(bench);
}
END_TEST

static int64_t number;

static int number_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    number = sql_int(work, "%s", (const char *)arg);
    return 0;
}

static int crowd_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    for (unsigned i = 0; i < *(unsigned *)arg; i++)
        declared = declare(work, &kind_volume_config,
                           arena_format(work->arena, DECLARED("db-%u", "1Gi", 1, ""), i));
    return 0;
}

/* All at once, as when there is a new pool that is too small for them. */
START_TEST(many_retries_do_not_delay_other_configs) {
    struct bench *bench = bench_new(true);
    char query[] = "SELECT SUM(times) FROM document_events";
    unsigned crowd = 250;

    tick(bench);
    act(bench, crowd_body, &crowd);
    tick(bench);
    act(bench, number_body, query);
    ck_assert_int_eq(number, 250);
    bench->steady_us += 5000;
    ck_assert_int_eq(controller_tick(bench->controller), 0);
    act(bench, number_body, query);
    ck_assert_int_eq(number, 350);
    tick(bench);
    act(bench, number_body, query);
    ck_assert_int_eq(number, 500);
    bench_free(bench);
}
END_TEST

/* Less free space requeues nothing; a little more does, at a limited rate. */
START_TEST(varying_free_space_requeues_configs_at_a_limited_rate) {
    struct bench *bench = bench_new(true);
    int64_t free_gib = 10;
    unsigned two = 2;
    struct state first;

    act(bench, pools_body, &two);
    act(bench, declare_alone_body, NULL);
    for (int i = 0; i < 25; i++) {
        tick(bench);
        bench->steady_us += 1001 * SECOND_US;
    }
    tick(bench);
    first = read_state(bench);
    for (; free_gib > 2; free_gib--) {
        act(bench, space_body, &free_gib);
        bench->steady_us += SECOND_US;
        tick(bench);
    }
    ck_assert_str_eq(read_state(bench).event, first.event);
    free_gib = 100;
    act(bench, space_body, &free_gib);
    bench->steady_us += SECOND_US;
    tick(bench);
    ck_assert_str_ne(read_state(bench).event, first.event);
    first = read_state(bench);
    for (; free_gib < 109; free_gib++) {
        act(bench, space_body, &free_gib);
        bench->steady_us += SECOND_US;
        tick(bench);
    }
    ck_assert_str_eq(read_state(bench).event, first.event);
    bench_free(bench);
}
END_TEST

/* ---- settled configs ---- */

static const char *first_config, *second_config;

static int two_body(struct work *work, void *arg, struct error *err) {
    (void)arg, (void)err;
    put_pools(work, 8);
    sql(work, "UPDATE replica_pools SET up_since = 1");
    first_config = declare(
        work, &kind_volume_config,
        DECLARED("first", "1Gi", 3, POOLS(POOL("pool-a") "," POOL("pool-b") "," POOL("pool-c"))));
    second_config = declare(
        work, &kind_volume_config,
        DECLARED("second", "1Gi", 3, POOLS(POOL("pool-c") "," POOL("pool-d") "," POOL("pool-e"))));
    return 0;
}

static int two_made_body(struct work *work, void *arg, struct error *err) {
    (void)arg, (void)err;
    report_made(work, first_config);
    report_made(work, second_config);
    return 0;
}

/* Two configs, Bound and settled, which the next resyncs do not evaluate; one pool is of both. */
static struct bench *bench_with_two(int64_t resync_s) {
    struct bench *bench = bench_new(true);

    controller_free(bench->controller);
    bench->controller = controller_on(bench, resync_s);
    act(bench, two_body, NULL);
    tick(bench);
    act(bench, two_made_body, NULL);
    tick(bench);
    for (int i = 0; i < 3; i++) {
        bench->steady_us += (resync_s + 1) * SECOND_US;
        tick(bench);
    }
    return bench;
}

/* Changes without a version. */
static int break_unseen_body(struct work *work, void *arg, struct error *err) {
    (void)arg, (void)err;
    sql(work, "UPDATE documents SET status = '{\"phase\":\"Error\"}' "
              "WHERE kind = 'CStorVolumeReplica'");
    return 0;
}

static int sql_body(struct work *work, void *arg, struct error *err) {
    (void)err;
    sql(work, "%s", (const char *)arg);
    return 0;
}

struct redundancy {
    bool first, second;
};

static int redundancy_body(struct work *work, void *arg, struct error *err) {
    struct redundancy *is = arg;

    declared = first_config;
    redundant_body(work, &is->first, err);
    declared = second_config;
    return redundant_body(work, &is->second, err);
}

static struct redundancy redundancy(struct bench *bench) {
    struct redundancy is;

    act(bench, redundancy_body, &is);
    return is;
}

START_TEST(a_resync_skips_settled_configs_and_each_is_evaluated_now_and_then) {
    struct bench *bench = bench_with_two(30);

    ck_assert(redundancy(bench).first && redundancy(bench).second);
    act(bench, break_unseen_body, NULL);
    bench->steady_us += 31 * SECOND_US;
    tick(bench);
    ck_assert(redundancy(bench).first && redundancy(bench).second);
    for (int i = 0; i < 20; i++) {
        bench->steady_us += 31 * SECOND_US;
        tick(bench);
    }
    ck_assert(!redundancy(bench).first && !redundancy(bench).second);
    bench_free(bench);
}
END_TEST

START_TEST(a_database_that_was_restored_has_all_configs_evaluated) {
    struct bench *bench = bench_with_two(3600);

    act(bench, sql_body, "UPDATE document_versions SET version = version + 10");
    act(bench, break_unseen_body, NULL);
    tick(bench);
    ck_assert(redundancy(bench).first && redundancy(bench).second);
    act(bench, sql_body, "UPDATE document_versions SET version = version - 1");
    tick(bench);
    ck_assert(!redundancy(bench).first && !redundancy(bench).second);
    bench_free(bench);
}
END_TEST

START_TEST(a_pool_that_changes_has_its_own_configs_evaluated_and_no_others) {
    struct bench *bench = bench_with_two(3600);

    act(bench, break_unseen_body, NULL);
    act(bench, sql_body, "UPDATE replica_pools SET address = 'h:1' WHERE name = 'pool-e'");
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    ck_assert(redundancy(bench).first && !redundancy(bench).second);
    act(bench, sql_body, "UPDATE replica_pools SET address = 'h:1' WHERE name = 'pool-c'");
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    ck_assert(!redundancy(bench).first);
    bench_free(bench);
}
END_TEST

/* An agent that reports another state each time. */
START_TEST(a_pool_that_flips_has_its_configs_evaluated_a_few_times) {
    struct bench *bench = bench_with_two(3600);
    char query[] = "SELECT SUM(times) FROM document_events";
    int64_t before, changes = 0;

    act(bench, number_body, query);
    for (int i = 0; i < 5; i++) {
        before = number;
        act(bench, sql_body,
            i % 2 ? "UPDATE replica_pools SET state = 'Online' WHERE name = 'pool-a'"
                  : "UPDATE replica_pools SET state = 'Offline' WHERE name = 'pool-a'");
        bench->steady_us += 5 * SECOND_US;
        tick(bench);
        tick(bench);
        act(bench, number_body, query);
        changes += number > before;
    }
    ck_assert_int_eq(changes, 3);
    bench->steady_us += 30 * SECOND_US;
    tick(bench);
    ck_assert(!redundancy(bench).first && redundancy(bench).second);
    bench_free(bench);
}
END_TEST

static int publish_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return edit(work, first_config, "{\"publish\":{\"nodeId\":\"host-h\"}}", err);
}

static int served_body(struct work *work, void *arg, struct error *err) {
    (void)arg, (void)err;
    report_served(work, first_config, -1, NULL);
    return 0;
}

static bool first_is_available(struct bench *bench) {
    char query[] = "SELECT COUNT(*) FROM documents WHERE name = 'first' AND status LIKE "
                   "'%\"reason\":\"NodeSilent\"%' AND kind = 'CStorVolumeConfig'";

    act(bench, number_body, query);
    return number == 0;
}

START_TEST(a_node_that_stops_to_report_has_its_volumes_evaluated_though_its_pool_was_offline) {
    struct bench *bench = bench_with_two(3600);

    act(bench, sql_body, "UPDATE replica_pools SET state = 'Offline' WHERE name = 'pool-h'");
    act(bench, publish_body, NULL);
    tick(bench);
    act(bench, served_body, NULL);
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    ck_assert(first_is_available(bench));
    act(bench, sql_body, "UPDATE replica_pools SET seen_at = 1 WHERE name = 'pool-h'");
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    tick(bench);
    ck_assert(!first_is_available(bench));
    bench_free(bench);
}
END_TEST

static int touch_body(struct work *work, void *arg, struct error *err) {
    return edit(work, second_config, arg, err);
}

static bool second_is_at(struct bench *bench, const char *address) {
    char query[128];

    snprintf(query, sizeof query,
             "SELECT COUNT(*) FROM documents WHERE name = 'second' AND kind = 'CStorVolume' "
             "AND body LIKE '%%\"%s\"%%'",
             address);
    act(bench, number_body, query);
    return number > 0;
}

/* It stands as it did when the pools were read last, and a config was evaluated in between. */
START_TEST(a_pool_that_changes_there_and_back_leaves_no_config_as_it_was_in_between) {
    struct bench *bench = bench_with_two(3600);

    act(bench, sql_body, "UPDATE replica_pools SET address = 'h:2' WHERE name = 'pool-e'");
    act(bench, touch_body, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    tick(bench);
    ck_assert(second_is_at(bench, "h:2"));
    act(bench, sql_body, "UPDATE replica_pools SET address = NULL WHERE name = 'pool-e'");
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    bench->steady_us += 3601 * SECOND_US;
    tick(bench);
    ck_assert(!second_is_at(bench, "h:2"));
    bench_free(bench);
}
END_TEST

START_TEST(a_database_that_has_failed_has_all_configs_evaluated) {
    struct bench *bench = bench_with_two(30);

    act(bench, sql_body, "ALTER TABLE document_versions RENAME TO away");
    controller_tick(bench->controller);
    act(bench, sql_body, "ALTER TABLE away RENAME TO document_versions");
    act(bench, break_unseen_body, NULL);
    bench->steady_us += 31 * SECOND_US;
    tick(bench);
    ck_assert(!redundancy(bench).first && !redundancy(bench).second);
    bench_free(bench);
}
END_TEST

/* ---- drained pools ---- */

static int drain_body(struct work *work, void *arg, struct error *err) {
    struct replica_pool pool;

    ck_assert_int_eq(replica_pool_find(work, arg, &pool, err), 1);
    return pool_drain_set(work, &pool, true, err);
}

static int turn_free_body(struct work *work, void *arg, struct error *err) {
    (void)arg, (void)err;
    sql(work, "DELETE FROM replica_moves");
    return 0;
}

static int64_t replacing(struct bench *bench) {
    char query[] = "SELECT COUNT(*) FROM documents WHERE status LIKE '%\"newReplicaId\"%'";

    act(bench, number_body, query);
    return number;
}

START_TEST(a_drain_begins_at_once_and_goes_on_as_soon_as_a_replica_is_copied) {
    struct bench *bench = bench_with_two(3600);

    bench->fixture.settings.replica_replacements_most = 1;
    act(bench, drain_body, "pool-c");
    tick(bench);
    ck_assert_int_eq(replacing(bench), 1);
    bench->steady_us += 6 * SECOND_US;
    tick(bench);
    ck_assert_int_eq(replacing(bench), 1);
    act(bench, turn_free_body, NULL);
    tick(bench);
    ck_assert_int_eq(replacing(bench), 2);
    bench_free(bench);
}
END_TEST

static void wake(void *arg) {
    controller_wake(arg);
}

/* Until a query returns that number. Time passes meanwhile: a busy database is retried. */
static void wait_for(struct bench *bench, struct controller *second, char *query, int64_t wanted) {
    for (int i = 0; i < 30000; i++) {
        act(bench, number_body, query);
        if (number == wanted)
            return;
        controller_wake(second);
        controller_wake(bench->controller);
        __atomic_fetch_add(&bench->steady_us, 2000, __ATOMIC_RELAXED);
        usleep(2000);
    }
    ck_abort_msg("%s: %jd", query, (intmax_t)number);
}

static int all_made_body(struct work *work, void *arg, struct error *err) {
    struct db_rows *rows = db_query(work->tx, err, "SELECT id FROM documents WHERE kind = $1",
                                    DB_TEXT(kind_volume_replica.name));
    const char **ids = NULL;
    int count = query_all(work, rows, query_text, &ids, err);

    (void)arg;
    context_of(work)->is_admin = true;
    for (int i = 0; i < count; i++) {
        struct document replica = document_of(work, &kind_volume_replica, ids[i]);

        report(work, &replica, "{\"phase\":\"Healthy\"}");
    }
    return 0;
}

/* Each with a thread, and both woken by each change. */
START_TEST(two_threads_beside_each_other_do_each_thing_once) {
    struct bench *bench = bench_new(false);
    struct controller *second = controller_on(bench, 30);
    char documents[] = "SELECT COUNT(*) FROM documents";
    char bound[] = "SELECT COUNT(*) FROM documents WHERE status LIKE '%\"Bound\"%'";
    char twice[] = "SELECT COUNT(*) FROM document_events WHERE times > 1";
    unsigned many = 30;

    controller_start(bench->controller);
    controller_start(second);
    act(bench, many_body, &many);
    wait_for(bench, second, documents, 90);
    act(bench, all_made_body, NULL);
    wait_for(bench, second, bound, 30);
    wait_for(bench, second, documents, 90);
    wait_for(bench, second, twice, 0);
    controller_free(second);
    bench_free(bench);
}
END_TEST

START_TEST(a_change_wakes_its_thread) {
    struct bench *bench = bench_new(false);

    controller_start(bench->controller);
    db_on_event(bench->db, DB_DOCUMENTS, wake, bench->controller);
    act(bench, declare_body, &pools);
    for (int i = 0; i < 60000 && read_state(bench).documents < 5; i++)
        usleep(1000);
    ck_assert_int_eq(read_state(bench).documents, 5);
    act(bench, made_body, NULL);
    for (int i = 0; i < 60000 && strcmp(read_state(bench).phase, "\"Bound\"") != 0; i++)
        usleep(1000);
    ck_assert_str_eq(read_state(bench).phase, "\"Bound\"");
    db_on_event(bench->db, DB_DOCUMENTS, NULL, NULL);
    bench_free(bench);
}
END_TEST

CHECK_MAIN("controller", a_declared_volume_is_reconciled_step_by_step,
           the_first_document_of_another_process_is_noticed_as_soon_as_others,
           an_evaluation_without_changes_writes_nothing,
           a_pool_that_changes_its_state_has_its_configs_evaluated,
           a_started_controller_continues_pending_work,
           failing_configs_are_retried_with_growing_pauses,
           a_waiting_config_gets_the_first_suitable_pool, two_controllers_do_no_more_than_one,
           a_config_is_deleted_with_the_last_of_its_data, a_failed_database_is_retried,
           many_that_change_at_once_are_all_met,
           an_obstacle_in_the_documents_is_reported_as_an_event,
           a_project_over_its_quota_gets_its_volume_when_quota_is_available,
           a_policy_requeues_configs_of_its_project_alone, many_retries_do_not_delay_other_configs,
           varying_free_space_requeues_configs_at_a_limited_rate, a_change_wakes_its_thread,
           two_threads_beside_each_other_do_each_thing_once,
           a_resync_skips_settled_configs_and_each_is_evaluated_now_and_then,
           a_database_that_was_restored_has_all_configs_evaluated,
           a_pool_that_changes_has_its_own_configs_evaluated_and_no_others,
           a_pool_that_flips_has_its_configs_evaluated_a_few_times,
           a_node_that_stops_to_report_has_its_volumes_evaluated_though_its_pool_was_offline,
           a_pool_that_changes_there_and_back_leaves_no_config_as_it_was_in_between,
           a_database_that_has_failed_has_all_configs_evaluated,
           a_drain_begins_at_once_and_goes_on_as_soon_as_a_replica_is_copied)
