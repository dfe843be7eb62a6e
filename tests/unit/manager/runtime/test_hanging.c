/*
 * A backend that does not answer, or is slow, in a process of threads as it is served: its own
 * operations wait, and no others, and of its own no project waits for another's queue.
 */
#include "common/log.h"
#include "drivers/fault.h"
#include "manager/runtime/host.h"
#include "manager/runtime/job.h"
#include "manager/runtime/manager.h"
#include "model/scheduler/pool.h"
#include "model/type/type.h"
#include "model/volume/create.h"
#include "model/volume/extend.h"
#include "operation/service.h"
#include "rpc/relay.h"
#include "tests/lib/memory_guests.h"
#include "tests/unit/db/scratch.h"

#include <pthread.h>
#include <stdatomic.h>

/* One project has WORKERS at most, and the last thread is another's. */
enum { WORKERS = 3, THREADS = WORKERS + 1, LEASE_S = 30, DOWN_S = 60, AT_MOST_S = 40 };

enum hang { HANG_OPEN, HANG_POOLS, HANG_EXTEND, HANGS };

/* A backend whose calls hang as long as the test requests it. */
struct side {
    const char *name;
    struct driver driver;
    void *memory, *handle;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool hangs[HANGS], open_fails;
    bool moves_much;                 /* in each extend; it hangs then while it moves */
    int calls[HANGS], passes[HANGS]; /* so many of those that hang may go on */
    char last[HANGS][UUID_SIZE];     /* the volume of the last call */
};

struct stage {
    struct scratch scratch;
    struct db *db;
    struct clock clock;
    atomic_int_fast64_t ahead_us;
    struct settings settings;
    struct arena *arena;
    struct side good, bad;
    struct manager_backend backends[3];
    struct rpc *rpc;
    struct relay *relay;
    struct manager *manager;
    const char *project; /* the project of a request */
    struct error err;
};

#define ONE     "0123456789abcdef0123456789abcdef"
#define ANOTHER "fedcba9876543210fedcba9876543210"
#define THIRD   "00112233445566778899aabbccddeeff"

static struct stage *stage; /* of the one test that runs in this process */

/* ---- backends ---- */

static void call_side(struct side *side, enum hang call, const char *volume_id) {
    pthread_mutex_lock(&side->lock);
    side->calls[call]++;
    snprintf(side->last[call], sizeof side->last[call], "%s", volume_id);
    pthread_cond_broadcast(&side->changed);
    while (side->hangs[call] && side->passes[call] == 0)
        pthread_cond_wait(&side->changed, &side->lock);
    if (side->hangs[call])
        side->passes[call]--;
    pthread_mutex_unlock(&side->lock);
}

static void let_one_pass(struct side *side, enum hang call) {
    pthread_mutex_lock(&side->lock);
    side->passes[call]++;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void hang(struct side *side, enum hang call, bool hangs) {
    pthread_mutex_lock(&side->lock);
    side->hangs[call] = hangs;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void wait_calls(struct side *side, enum hang call, int count) {
    pthread_mutex_lock(&side->lock);
    while (side->calls[call] < count)
        pthread_cond_wait(&side->changed, &side->lock);
    ck_assert_int_eq(side->calls[call], count);
    pthread_mutex_unlock(&side->lock);
}

static struct fault_decision decide(void *arg, const char *call, const char *volume_id) {
    struct side *side = arg;
    bool extends = strcmp(call, "extend_volume") == 0;

    if (extends && side->moves_much)
        return (struct fault_decision){ .action = FAULT_LONG };
    if (strcmp(call, "get_pools") == 0)
        call_side(side, HANG_POOLS, "");
    else if (extends)
        call_side(side, HANG_EXTEND, volume_id);
    return (struct fault_decision){ .action = FAULT_PASS };
}

static bool moves(void *side, enum memory_point point, const char *call, const char *name_id) {
    if (point == MEMORY_LOOKED && strcmp(call, "extend_volume") == 0)
        call_side(side, HANG_EXTEND, name_id);
    return true;
}

static void move_much(struct side *side) {
    side->moves_much = true;
    memory_watch(side->memory, moves, side);
}

static int side_open(const struct driver_backend *settings, void **ret, struct error *err) {
    struct side *side = strcmp(settings->name, "good") == 0 ? &stage->good : &stage->bad;
    bool fails;

    call_side(side, HANG_OPEN, "");
    pthread_mutex_lock(&side->lock);
    fails = side->open_fails;
    pthread_mutex_unlock(&side->lock);
    if (fails)
        return error_set(err, ERROR_BAD_REQUEST, "no such place");
    *ret = side->handle;
    return 0;
}

/* Its storage outlives the manager. */
static void side_close(void *handle) {
    (void)handle;
}

static void side_init(struct side *side, const char *name, struct manager_backend *backend) {
    side->name = name;
    pthread_mutex_init(&side->lock, NULL);
    pthread_cond_init(&side->changed, NULL);
    side->memory = memory_new("pool", 1000);
    side->handle = fault_new(&memory_driver, side->memory, decide, side);
    fault_describe(&memory_driver, &side->driver);
    side->driver.open = side_open;
    side->driver.close = side_close;
    *backend = (struct manager_backend){
        .name = name,
        .backend_name = name,
        .driver = &side->driver,
        .settings = { .name = name },
    };
}

/* ---- the stage ---- */

static int64_t read_time(void *arg) {
    (void)arg;
    return clock_now_us(&clock_system) + atomic_load(&stage->ahead_us);
}

static void draw(void *arg, void *bytes, size_t size) {
    (void)arg;
    clock_system.random(clock_system.arg, bytes, size);
}

static void transaction(work_body *body, void *arg) {
    const struct context context = {
        .request_id = "req-1",
        .user_id = "user",
        .project_id = stage->project,
        .is_admin = true,
    };
    const struct work base = { .arena = stage->arena,
                               .context = &context,
                               .settings = &stage->settings };
    struct error err = { 0 };

    ck_assert_msg(work_transaction(stage->db, &base, body, arg, &err) >= 0, "%s", err.message);
}

static int types_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    for (const struct manager_backend *backend = stage->backends; backend->name; backend++) {
        const struct pair spec = { "volume_backend_name", backend->name };
        const struct pairs specs = { &spec, 1 };
        struct volume_type type;

        if (volume_type_create(work, backend->name, NULL, true, &specs, &type, err) < 0)
            return -1;
    }
    return 0;
}

static void stage_new(void) {
    stage = calloc(1, sizeof *stage);
    ck_assert_ptr_nonnull(stage);
    stage->project = ONE;
    log_open(-1, LOG_ERROR, LOG_TEXT);
    scratch_make_tested(&stage->scratch);
    stage->clock = (struct clock){
        .now_us = read_time, .steady_us = read_time, .shared_us = read_time, .random = draw
    };
    stage->arena = arena_new();
    stage->settings = (struct settings){
        .clock = &stage->clock,
        .default_volume_type = "__DEFAULT__",
        .storage_availability_zone = "nova",
        .quota_volumes = -1,
        .quota_gigabytes = -1,
        .per_volume_size_limit = -1,
        .metadata_items = 128,
        .per_volume_attachments = 128,
        .per_project_messages = 1000,
        .operation_lease_s = LEASE_S,
        .message_ttl_s = 1000,
        .service_down_s = DOWN_S,
        .max_over_subscription_ratio = 20,
        .max_limit = 1000,
        .node = "node",
    };
    stage->db = scratch_open(stage->scratch.url, false);
    side_init(&stage->bad, "bad", &stage->backends[0]);
    side_init(&stage->good, "good", &stage->backends[1]);
    transaction(types_body, NULL);
}

static int start(int64_t patience_ms) {
    struct manager_settings settings = {
        .db = stage->db,
        .rpc = rpc_local_new(THREADS),
        .settings = &stage->settings,
        .node = "node",
        .owner = "node:1:1",
        .owner_prefix = "node:1:",
        .zone = "nova",
        .backends = stage->backends,
        .threaded = true,
        .workers = THREADS,
        .patience_ms = patience_ms,
    };

    stage->rpc = settings.rpc;
    if (manager_start(&settings, &stage->manager, &stage->err) < 0)
        return -1;
    stage->relay = relay_new(stage->db, stage->rpc, RELAY_SHARED);
    return 0;
}

static void stop(void) {
    manager_drain(stage->manager);
    relay_stop(stage->relay);
    stage->rpc->engine->stop(stage->rpc);
    manager_stop(stage->manager);
}

static void stage_free(void) {
    fault_driver.close(stage->bad.handle);
    fault_driver.close(stage->good.handle);
    db_close(stage->db);
    scratch_remove(&stage->scratch);
    arena_free(stage->arena);
    free(stage);
}

/* ---- requests ---- */

static int create_body(struct work *work, void *arg, struct error *err) {
    const struct side *side = arg;
    const struct volume_new request = { .size_gb = 1, .type = side->name };
    struct volume volume;

    if (volume_create(work, &request, &volume, err) < 0)
        return -1;
    ck_assert_int_eq(volume.status, VOLUME_CREATING);
    return 0;
}

/* Every volume of a side and the project that can be. */
static int extend_body(struct work *work, void *arg, struct error *err) {
    const struct side *side = arg;
    const struct db_value values[] = {
        DB_TEXT(arena_format(work->arena, "node@%s#pool", side->name)), DB_TEXT(stage->project)
    };
    const struct query query = {
        .where = "v.host = $1 AND v.project_id = $2 AND v.status = 'available'",
        .values = values,
        .value_count = LENGTH(values),
        .order = "v.id",
        .limit = -1,
        .with_details = true,
    };
    struct volume *volumes;
    int count = volume_list(work, &query, &volumes, err);

    for (int i = 0; i < count; i++)
        if (volume_extend(work, &volumes[i], volumes[i].size_gb + 1, true, false, err) < 0)
            return -1;
    return count;
}

/* ---- visible state ---- */

__attribute__((format(printf, 1, 2))) static int64_t count(const char *format, ...) {
    char sql[512];
    va_list values;

    va_start(values, format);
    vsnprintf(sql, sizeof sql, format, values);
    va_end(values);
    return sql_int(stage->db, sql);
}

/* Until it is so; fails when that takes too long. */
#define AWAIT(wanted)                                                                        \
    do {                                                                                     \
        int64_t until_us_ = clock_monotonic_us() + (int64_t)AT_MOST_S * 1000000;             \
                                                                                             \
        while (!(wanted)) {                                                                  \
            ck_assert_msg(clock_monotonic_us() < until_us_, "never came true: %s", #wanted); \
            usleep(2000);                                                                    \
        }                                                                                    \
    } while (0)

static int64_t available(const struct side *side, int size_gb) {
    return count("SELECT COUNT(*) FROM volumes WHERE host = 'node@%s#pool' AND "
                 "status = 'available' AND size_gb = %d",
                 side->name, size_gb);
}

struct sight {
    const char *binary, *host;
    bool up, pool_active;
};

static int sight_body(struct work *work, void *arg, struct error *err) {
    struct sight *sight = arg;
    const char *name = arena_format(work->arena, "%s#pool", sight->host);
    struct service service = { 0 };
    struct pool pool = { 0 };

    if (service_find(work, sight->binary, sight->host, &service, err) < 0 ||
        pool_find(work, name, &pool, err) < 0)
        return -1;
    sight->up = service.up;
    sight->pool_active = pool.active;
    return 0;
}

/* Is it up, and may new volumes come to its pool? Both or neither. */
static bool is_up(const struct side *side) {
    struct sight sight = { SERVICE_VOLUME, arena_format(stage->arena, "node@%s", side->name), false,
                           false };

    transaction(sight_body, &sight);
    ck_assert_int_eq(sight.up, sight.pool_active);
    return sight.up;
}

static bool node_is_up(void) {
    struct sight sight = { SERVICE_SCHEDULER, "node", false, false };

    transaction(sight_body, &sight);
    return sight.up;
}

/* Time passes, every responsive backend reports itself and a round of the manager has been made:
 * the leases of running operations are kept. */
static void pass(int seconds) {
    int64_t now_us;

    atomic_fetch_add(&stage->ahead_us, (int64_t)seconds * 1000000);
    now_us = clock_now_us(&stage->clock);
    ck_assert_int_eq(hosts_report(stage->manager, &stage->err), 0);
    AWAIT(count("SELECT COUNT(*) FROM operations WHERE lease_until < %jd",
                (intmax_t)now_us + (LEASE_S - 1) * 1000000) == 0);
}

/* ---- the promises ---- */

static int64_t count_outbox(void) {
    return count("SELECT COUNT(*) FROM outbox");
}

/* Their messages have gone, too, which is a moment later. */
static void have_volumes(struct side *side, int count) {
    for (int i = 0; i < count; i++)
        transaction(create_body, side);
    AWAIT(available(side, 1) == count);
    AWAIT(count_outbox() == 0);
}

START_TEST(an_unresponsive_backend_delays_only_its_own_operations) {
    enum { VOLUMES = WORKERS + 4 };

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes(&stage->bad, VOLUMES);
    have_volumes(&stage->good, 1);
    hang(&stage->bad, HANG_EXTEND, true);
    hang(&stage->bad, HANG_POOLS, true);
    transaction(extend_body, &stage->bad);
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS);

    for (int size_gb = 1; size_gb < 6; size_gb++) {
        pass(LEASE_S - 10);
        transaction(extend_body, &stage->good);
        AWAIT(available(&stage->good, size_gb + 1) == 1);
    }
    AWAIT(is_up(&stage->good));
    ck_assert(node_is_up());
    ck_assert(!is_up(&stage->bad));
    ck_assert(manager_alive(stage->manager));
    ck_assert_int_eq(count("SELECT COUNT(*) FROM operations WHERE owner = 'node:1:1'"), WORKERS);
    ck_assert_int_eq(count("SELECT COUNT(*) FROM volumes WHERE status = 'extending'"), VOLUMES);
    /* However long it takes, an operation that cannot be taken up is announced twice at most. */
    ck_assert_int_le(count("SELECT COUNT(*) FROM outbox WHERE topic = 'cinder-volume.node@bad'"),
                     2 * VOLUMES - WORKERS);

    hang(&stage->bad, HANG_POOLS, false);
    AWAIT(is_up(&stage->bad));
    hang(&stage->bad, HANG_EXTEND, false);
    AWAIT(available(&stage->bad, 2) == VOLUMES);
    wait_calls(&stage->bad, HANG_EXTEND, VOLUMES);
    stop();
    stage_free();
}
END_TEST

/* The last extend that has come to a side is of this project. */
static bool is_last_of(struct side *side, const char *project) {
    char id[UUID_SIZE];

    pthread_mutex_lock(&side->lock);
    memcpy(id, side->last[HANG_EXTEND], sizeof id);
    pthread_mutex_unlock(&side->lock);
    return count("SELECT COUNT(*) FROM volumes WHERE id = '%s' AND project_id = '%s'", id,
                 project) == 1;
}

static void have_volumes_of_three(int many, int few) {
    have_volumes(&stage->bad, many);
    stage->project = ANOTHER;
    for (int i = 0; i < few; i++)
        transaction(create_body, &stage->bad);
    stage->project = THIRD;
    transaction(create_body, &stage->bad);
    AWAIT(available(&stage->bad, 1) == many + few + 1);
    AWAIT(count_outbox() == 0);
}

/* As a manager queries which projects a broker's queue may keep waiting: those with a worker, and
 * those without. */
static int unserved_body(struct work *work, void *arg, struct error *err) {
    struct operation *found;

    (void)arg;
    ck_assert_int_eq(
        operation_unserved(work, "node@bad", false, work->clock_us, work->clock_us, 9, &found, err),
        1);
    ck_assert_str_eq(found->project_id, ANOTHER);
    ck_assert_int_eq(operation_note_announced(work, found, err), 1);
    ck_assert_int_eq(operation_unserved(work, "node@bad", false, work->clock_us, 0, 9, &found, err),
                     0);
    return 0;
}

/* A project has all that it can have, and more is there: a second one's begins at once.  Then all
 * workers are taken: a third one's waits for one that runs, and no more. */
static void assert_waits_for_one(int many, int few) {
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS);
    ck_assert(is_last_of(&stage->bad, ONE));
    stage->project = THIRD;
    transaction(extend_body, &stage->bad);
    wait_calls(&stage->bad, HANG_EXTEND, THREADS);
    ck_assert(is_last_of(&stage->bad, THIRD));
    stage->project = ANOTHER;
    transaction(extend_body, &stage->bad);
    AWAIT(rpc_local_waiting(stage->rpc) == (unsigned)(many + few + 1));
    ck_assert(is_last_of(&stage->bad, THIRD));
    transaction(unserved_body, NULL);
    let_one_pass(&stage->bad, HANG_EXTEND);
    wait_calls(&stage->bad, HANG_EXTEND, THREADS + 1);
    ck_assert(is_last_of(&stage->bad, ANOTHER));

    hang(&stage->bad, HANG_EXTEND, false);
    AWAIT(available(&stage->bad, 2) == many + few + 1);
    wait_calls(&stage->bad, HANG_EXTEND, many + few + 1);
    AWAIT(count_outbox() == 0);
    stop();
    stage_free();
}

START_TEST(a_project_waits_for_no_other_projects_queue) {
    enum { MANY = 20, FEW = 2 };

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes_of_three(MANY, FEW);
    hang(&stage->bad, HANG_EXTEND, true);
    stage->project = ONE;
    transaction(extend_body, &stage->bad);
    assert_waits_for_one(MANY, FEW);
}
END_TEST

/* As when its guest has not reported by its time: no message is on its way. */
static int overdue_body(struct work *work, void *arg, struct error *err) {
    if (extend_body(work, arg, err) < 0)
        return -1;
    return db_run(work->tx, err, "DELETE FROM outbox") < 0 ||
                   db_run(work->tx, err,
                          "UPDATE operations SET phase = 'waiting', deadline = created_at "
                          "WHERE project_id = $1",
                          DB_TEXT(stage->project)) < 0
               ? -1
               : 0;
}

START_TEST(due_operations_are_worked_on_beside_a_project_at_its_share) {
    enum { MANY = WORKERS, FEW = 1 };

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes_of_three(MANY, FEW);
    hang(&stage->bad, HANG_EXTEND, true);
    stage->project = ONE;
    transaction(extend_body, &stage->bad);
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS);
    for (int i = 0; i < 2; i++) /* no worker has ended anything in the meantime */
        pass(LEASE_S - 10);
    stage->project = ANOTHER;
    transaction(overdue_body, &stage->bad);
    for (int i = 0; i < 3; i++)
        pass(LEASE_S - 10);
    AWAIT(count("SELECT COUNT(*) FROM operations WHERE project_id = '" ANOTHER "' AND "
                "phase = 'waiting' AND attempts = 0") == 0);
    hang(&stage->bad, HANG_EXTEND, false);
    AWAIT(count("SELECT COUNT(*) FROM operations") == 0);
    stop();
    stage_free();
}
END_TEST

/* All workers for that have work of one project, and more of it waits. */
START_TEST(data_copies_delay_no_other_operation) {
    enum { MANY = 20 };

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes(&stage->bad, MANY);
    move_much(&stage->bad);
    hang(&stage->bad, HANG_EXTEND, true);
    transaction(extend_body, &stage->bad);
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS);
    AWAIT(count("SELECT COUNT(*) FROM operations WHERE is_long = 1") == MANY);

    /* Not even of the same project. */
    transaction(create_body, &stage->bad);
    stage->project = ANOTHER;
    transaction(create_body, &stage->bad);
    AWAIT(available(&stage->bad, 1) == 2);
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS);

    /* Of that work, too, a worker is left to another project. */
    transaction(extend_body, &stage->bad);
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS + 1);
    ck_assert(is_last_of(&stage->bad, ANOTHER));
    AWAIT(count("SELECT COUNT(*) FROM operations WHERE is_long = 1") == MANY + 1);
    AWAIT(rpc_local_waiting(stage->rpc) == MANY + 1);

    hang(&stage->bad, HANG_EXTEND, false);
    AWAIT(available(&stage->bad, 2) == MANY + 1);
    AWAIT(count_outbox() == 0);
    stop();
    stage_free();
}
END_TEST

static int forget_projects_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return db_run(work->tx, err, "UPDATE outbox SET project_id = NULL") < 0 ? -1 : 0;
}

/* By a release that did not record the project of each, still in the table at the start: nothing is
 * lost, and messages with a project wait for those no longer than for a project's. */
START_TEST(operations_of_an_older_release_are_worked_on_beside_others) {
    enum { MANY = 20, FEW = 2 };

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes_of_three(MANY, FEW);
    stop();
    hang(&stage->bad, HANG_EXTEND, true);
    stage->project = ONE;
    transaction(extend_body, &stage->bad);
    transaction(forget_projects_body, NULL);
    ck_assert_int_eq(start(60000), 0);
    assert_waits_for_one(MANY, FEW);
}
END_TEST

static int repeat_messages_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return db_run(work->tx, err,
                  "INSERT INTO outbox (topic, method, key, payload, created_at) "
                  "SELECT topic, method, '', payload, created_at FROM outbox") < 0 ||
                   db_run(work->tx, err,
                          "INSERT INTO outbox (topic, method, key, payload, created_at) "
                          "SELECT topic, method, key, payload, created_at FROM outbox") < 0
               ? -1
               : 0;
}

static int only_operation_body(struct work *work, void *arg, struct error *err) {
    struct operation *list;
    const char **id = arg;

    ck_assert_int_eq(operation_list(work, &list, err), 1);
    *id = list->id;
    return 0;
}

/* In its turn, out of turn, and to a manager of another place. */
START_TEST(a_message_that_comes_again_meanwhile_starts_nothing) {
    struct manager_settings settings;
    const char *operation_id = NULL;
    struct manager *second;

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes(&stage->bad, 1);
    hang(&stage->bad, HANG_EXTEND, true);
    transaction(extend_body, &stage->bad);
    wait_calls(&stage->bad, HANG_EXTEND, 1);
    transaction(only_operation_body, &operation_id);
    transaction(repeat_messages_body, NULL);
    AWAIT(count("SELECT COUNT(*) FROM outbox WHERE key = ''") == 0);
    ck_assert_int_eq(count_outbox(), 2);

    settings = stage->manager->settings;
    settings.threaded = false;
    settings.rpc = rpc_local_new(0);
    settings.owner = "other:1:1";
    settings.owner_prefix = "other:1:";
    for (struct manager_backend *backend = stage->backends; backend->name; backend++)
        backend->handle =
            backend->driver == &stage->good.driver ? stage->good.handle : stage->bad.handle;
    ck_assert_int_eq(manager_start(&settings, &second, &stage->err), 0);
    for (int i = 0; i < 3; i++) {
        pass(LEASE_S - 10);
        ck_assert_int_eq(manager_tick(second, &stage->err), 0);
        ck_assert_int_eq(
            job_run(&second->hosts[0].lanes[LANE_SHORT], operation_id, false, NULL, &stage->err),
            0);
    }
    settings.rpc->engine->stop(settings.rpc);
    manager_stop(second);
    ck_assert_int_eq(count("SELECT COUNT(*) FROM operations WHERE owner = 'node:1:1' AND "
                           "attempts = 1"),
                     1);
    wait_calls(&stage->bad, HANG_EXTEND, 1);

    hang(&stage->bad, HANG_EXTEND, false);
    AWAIT(available(&stage->bad, 2) == 1);
    AWAIT(count_outbox() == 0);
    wait_calls(&stage->bad, HANG_EXTEND, 1);
    stop();
    stage_free();
}
END_TEST

/* At its start the backend hangs when it is opened, or later, when its pools are queried. */
static void start_beside(enum hang hanging) {
    int64_t begin_us;

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes(&stage->bad, 1);
    have_volumes(&stage->good, 1);
    stop();
    atomic_fetch_add(&stage->ahead_us, (int64_t)(DOWN_S + 1) * 1000000);

    hang(&stage->bad, hanging, true);
    begin_us = clock_monotonic_us();
    ck_assert_int_eq(start(200), 0);
    ck_assert_int_ge(clock_monotonic_us() - begin_us, 200000);
    AWAIT(is_up(&stage->good)); /* on a slow machine it is late, too */
    ck_assert(!is_up(&stage->bad));

    transaction(extend_body, &stage->bad);
    transaction(extend_body, &stage->good);
    AWAIT(available(&stage->good, 2) == 1);
    pass(LEASE_S - 10);
    ck_assert(!is_up(&stage->bad));
    if (hanging == HANG_OPEN) /* else its volumes can be worked on */
        ck_assert_int_eq(count("SELECT COUNT(*) FROM operations WHERE phase = 'queued'"), 1);

    hang(&stage->bad, hanging, false);
    AWAIT(available(&stage->bad, 2) == 1);
    AWAIT(is_up(&stage->bad));
    wait_calls(&stage->bad, HANG_EXTEND, 1);
    stop();
    stage_free();
}

START_TEST(a_start_does_not_wait_for_a_backend_that_cannot_be_opened_yet) {
    start_beside(HANG_OPEN);
}
END_TEST

START_TEST(a_start_does_not_wait_for_a_backend_without_pools) {
    start_beside(HANG_POOLS);
}
END_TEST

static void set_failing(struct side *side, bool fails) {
    pthread_mutex_lock(&side->lock);
    side->open_fails = fails;
    pthread_mutex_unlock(&side->lock);
}

START_TEST(a_backend_that_cannot_be_opened_ends_the_start) {
    stage_new();
    set_failing(&stage->good, true);
    ck_assert_int_eq(start(60000), -1);
    ck_assert_int_eq(stage->err.kind, ERROR_BAD_REQUEST);
    ck_assert_str_eq(stage->err.message, "backend good: no such place");
    stage->rpc->engine->stop(stage->rpc);
    manager_stop(stage->manager);
    stage_free();
}
END_TEST

/* Too late to end the start: it stays down, and is tried again. */
START_TEST(a_late_backend_that_cannot_be_opened_is_tried_again) {
    stage_new();
    hang(&stage->bad, HANG_OPEN, true);
    set_failing(&stage->bad, true);
    ck_assert_int_eq(start(50), 0);
    hang(&stage->bad, HANG_OPEN, false);
    ck_assert_int_eq(hosts_report(stage->manager, &stage->err), 0);
    wait_calls(&stage->bad, HANG_OPEN, 2);
    ck_assert(!is_up(&stage->bad));

    set_failing(&stage->bad, false);
    ck_assert_int_eq(hosts_report(stage->manager, &stage->err), 0);
    AWAIT(is_up(&stage->bad));
    have_volumes(&stage->bad, 1);
    stop();
    stage_free();
}
END_TEST

static atomic_bool ended;

static void *stop_all(void *arg) {
    stop();
    atomic_store(&ended, true);
    return arg;
}

static bool drains(void) {
    bool draining;

    pthread_mutex_lock(&stage->manager->lock);
    draining = stage->manager->draining;
    pthread_mutex_unlock(&stage->manager->lock);
    return draining;
}

/* It has begun, and has not ended after a while. */
static void assert_goes_on(void) {
    AWAIT(drains());
    usleep(100000);
    ck_assert(!atomic_load(&ended));
}

static void await_end(pthread_t thread) {
    AWAIT(atomic_load(&ended));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* Begun work is waited for (cmd/run.c knows how long) and keeps its lease; nothing more begins, and
 * waiting work stays for the next start. */
START_TEST(a_stop_begins_no_operation) {
    enum { VOLUMES = WORKERS + 4 };
    pthread_t thread;

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes(&stage->bad, VOLUMES);
    hang(&stage->bad, HANG_EXTEND, true);
    transaction(extend_body, &stage->bad);
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS);
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_all, NULL), 0);
    assert_goes_on();
    pass(LEASE_S - 10);
    ck_assert_int_eq(count("SELECT COUNT(*) FROM operations WHERE owner = 'node:1:1'"), WORKERS);

    hang(&stage->bad, HANG_EXTEND, false);
    await_end(thread);
    wait_calls(&stage->bad, HANG_EXTEND, WORKERS);
    ck_assert_int_eq(available(&stage->bad, 2), WORKERS);
    ck_assert_int_eq(count("SELECT COUNT(*) FROM operations WHERE phase = 'queued'"),
                     VOLUMES - WORKERS);

    ck_assert_int_eq(start(60000), 0);
    AWAIT(available(&stage->bad, 2) == VOLUMES);
    wait_calls(&stage->bad, HANG_EXTEND, VOLUMES);
    stop();
    stage_free();
}
END_TEST

static void *stop_manager(void *arg) {
    manager_stop(stage->manager);
    atomic_store(&ended, true);
    return arg;
}

static unsigned messages_in_hands(unsigned i) {
    unsigned busy;

    pthread_mutex_lock(&stage->manager->lock);
    busy = stage->manager->hosts[i].lanes[LANE_SHORT].busy;
    pthread_mutex_unlock(&stage->manager->lock);
    return busy;
}

/* Only the thread that opens it is left; workers that waited for it are not. */
START_TEST(a_stop_does_not_wait_for_a_backend_that_never_opened) {
    pthread_t thread;

    stage_new();
    ck_assert_int_eq(start(60000), 0);
    have_volumes(&stage->bad, 1);
    stop();
    hang(&stage->bad, HANG_OPEN, true);
    ck_assert_int_eq(start(50), 0);
    transaction(extend_body, &stage->bad);
    AWAIT(messages_in_hands(0) == 1);
    manager_drain(stage->manager);
    relay_stop(stage->relay);
    stage->rpc->engine->stop(stage->rpc);
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_manager, NULL), 0);
    assert_goes_on();
    hang(&stage->bad, HANG_OPEN, false);
    await_end(thread);
    ck_assert_int_eq(count("SELECT COUNT(*) FROM operations WHERE attempts = 0"), 1);
    wait_calls(&stage->bad, HANG_EXTEND, 0);
    stage_free();
}
END_TEST

CHECK_MAIN("hanging backends", an_unresponsive_backend_delays_only_its_own_operations,
           a_project_waits_for_no_other_projects_queue,
           due_operations_are_worked_on_beside_a_project_at_its_share,
           data_copies_delay_no_other_operation,
           operations_of_an_older_release_are_worked_on_beside_others,
           a_message_that_comes_again_meanwhile_starts_nothing,
           a_start_does_not_wait_for_a_backend_that_cannot_be_opened_yet,
           a_start_does_not_wait_for_a_backend_without_pools,
           a_backend_that_cannot_be_opened_ends_the_start,
           a_late_backend_that_cannot_be_opened_is_tried_again, a_stop_begins_no_operation,
           a_stop_does_not_wait_for_a_backend_that_never_opened)
