#include "replication/node/pools.h"

#include "client/replica_pools.h"
#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "replication/node/health_probes.h"
#include "replication/node/pool_lock.h"
#include "replication/node/pool_states.h"

#include <string.h>

#define DEFAULT_HEARTBEAT_MS 10000
#define DEFAULT_LOOK_MS      1000
#define BEATS                3 /* heartbeats that may be missed */
#define HANG_MS              30000

struct pool {
    const struct pool_settings *settings;
    struct pools *all;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t changed;
    bool ends, has_update;
    struct assignment **pending; /* held */
    unsigned pending_count;
    /* Of its thread: */
    struct replicas *replicas;
    struct pool_status status;
    unsigned phase; /* enum pool_phase */
    bool reported;  /* the API has the current status */
    bool refused, set;
    /* Of the boottime clock: the last accepted and the last sent heartbeat; 0: none.  The time of a
     * suspend counts. */
    int64_t taken_us, heartbeat_us;
};

struct pools {
    struct pools_settings settings;
    unsigned count;
    struct pool pools[];
};

/* ---- the thread ---- */

/* An unresponsive pool is not accessed. */
static void probe_and_read(const struct pool *pool, struct pool_status *ret) {
    struct health_probes *health_probes = pool->all->settings.health_probes;
    const char *path = pool->settings->path;
    int64_t unresponsive_ms =
        health_probes ? health_probes_unresponsive_ms(health_probes, path) : 0;
    int code;

    if (unresponsive_ms != 0) {
        *ret = (struct pool_status){ .state = POOL_FAILING, .unresponsive_ms = unresponsive_ms };
        error_set(&ret->why, ERROR_UNAVAILABLE, "%s does not answer", path);
        return;
    }
    pool_status_read(path, pool->settings->name, ret);
    code =
        health_probes && ret->state == POOL_ONLINE ? health_probes_refusal(health_probes, path) : 0;
    if (code == 0)
        return;
    /* A mark that can be read, on a disk that fails each write. */
    ret->state = POOL_READ_ONLY;
    error_set(&ret->why, ERROR_UNAVAILABLE, "%s takes no writes: %s", path, strerror(code));
}

static void keep_lock(const struct pool *pool, struct pool_status *status) {
    struct pool_lock *lock = pool->settings->lock;

    if (!lock || status->unresponsive_ms > 0)
        return;
    if (!pool_is_marked(status) && status->state != POOL_FAILING)
        pool_lock_end(lock);
    if (!pool_is_marked(status) || pool_lock_keep(lock, pool->settings->path, &status->why) == 0)
        return;
    status->state = POOL_FOREIGN;
    status->in_use = true;
}

static enum pool_event event_of(const struct pool_status *status) {
    static const enum pool_event found[] = {
        [POOL_ONLINE] = POOL_FOUND_ONLINE,   [POOL_READ_ONLY] = POOL_FOUND_READ_ONLY,
        [POOL_GONE] = POOL_FOUND_GONE,       [POOL_FOREIGN] = POOL_FOUND_FOREIGN,
        [POOL_FAILING] = POOL_FOUND_FAILING,
    };

    assert(status->unresponsive_ms > 0 || status->state < LENGTH(found));
    if (status->unresponsive_ms == 0)
        return found[status->state];
    return status->unresponsive_ms < HANG_MS ? POOL_DOES_NOT_ANSWER : POOL_DOES_NOT_ANSWER_FOR_LONG;
}

static void read_status(struct pool *pool) {
    const char *name = pool->settings->name;
    enum pool_chance before = pool->status.chance;
    const struct state_row *row;

    probe_and_read(pool, &pool->status);
    keep_lock(pool, &pool->status);
    row = state_table_next(&pool_states, &pool->phase, event_of(&pool->status));
    if (row && (row->action == POOL_REPORTS || pool->status.chance != before)) {
        if (pool->phase == POOL_IS_ONLINE)
            log_info(NULL, "pool online", "pool", name, NULL);
        else
            log_warning(NULL, "pool not online", "pool", name, "state",
                        pool_states.states[row->next], "reason", pool->status.why.message, NULL);
        pool->reported = false;
        replicas_check_soon(pool->replicas);
    }
    pool->status.hangs = pool->phase == POOL_IS_ABANDONED;
}

/* Only an operator's mark, or an answer of the API that it does not know the pool, makes a
 * directory the pool. */
static void try_marking(struct pool *pool) {
    const struct pool_settings *settings = pool->settings;
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    int known = 0;

    if (pool->status.chance == POOL_NO_CHANCE)
        return;
    if (pool->status.chance == POOL_EMPTY)
        known = replica_pools_knows(&pool->all->settings.api, arena, settings->name, &err);
    assert(!pool_is_marked(&pool->status)); /* or it is another pool's already */
    if (known == 0 && pool_mark(settings->path, settings->name, &err) == 0) {
        log_info(NULL, "directory marked as a pool", "pool", settings->name, "path", settings->path,
                 NULL);
        read_status(pool);
    }
}

static int report_pool(const struct pool *pool, struct error *err) {
    const struct pool_status *status = &pool->status;
    const bool marked = pool_is_marked(status);
    const struct remote_replica_pool sent = {
        .name = pool->settings->name,
        .node = pool->all->settings.node,
        .path = pool->settings->path,
        .address = pool->all->settings.address,
        .labels = pool->settings->labels,
        .read_only = status->state != POOL_ONLINE,
        .total_bytes = status->total_bytes,
        .free_bytes = marked ? status->free_bytes : 0,
        .state = pool_state_text(status->state),
    };
    autoarena struct arena *arena = arena_new();

    return replica_pools_report(&pool->all->settings.api, arena, &sent, err);
}

static void send_heartbeat(struct pool *pool) {
    int64_t now_us = clock_boottime_us(), pause_us = pool->all->settings.heartbeat_ms * 1000;
    struct error err = { 0 };
    int outcome;

    assert(pool->all->settings.heartbeat_ms > 0);
    if (pool->heartbeat_us > 0 && pool->reported && now_us < pool->heartbeat_us + pause_us)
        return;
    outcome = report_pool(pool, &err);
    pool->heartbeat_us = now_us;
    if (outcome < 0 && !pool->refused)
        log_warning(NULL, "pool heartbeat failed", "pool", pool->settings->name, "reason",
                    err.message, NULL);
    pool->refused = outcome < 0;
    pool->reported = outcome == 0 || err.kind != ERROR_UNAVAILABLE;
    if (pool->set && pool_is_marked(&pool->status))
        replicas_log_unknown(pool->replicas);
    if (outcome == 0)
        pool->taken_us = now_us;
    else if (err.kind != ERROR_UNAVAILABLE)
        pool->taken_us = 0;
}

static void take_update(struct pool *pool) {
    struct assignment **assignments = pool->pending;
    unsigned count = pool->pending_count;

    assert(pool->has_update);
    pool->pending = NULL;
    pool->pending_count = 0;
    pool->has_update = false;
    pthread_mutex_unlock(&pool->lock);
    replicas_set(pool->replicas, assignments, count);
    pool->set = true;
    for (unsigned i = 0; i < count; i++)
        assignment_release(assignments[i]);
    free(assignments);
    pthread_mutex_lock(&pool->lock);
}

static int64_t work(struct pool *pool) {
    int64_t next_us = clock_monotonic_us() + pool->all->settings.check_ms * 1000, due_us;
    int64_t trusted_us = BEATS * pool->all->settings.heartbeat_ms * 1000;
    bool accepted;

    read_status(pool);
    if (pool->status.in_use) {
        pool->taken_us = 0;
        return next_us;
    }
    try_marking(pool);
    send_heartbeat(pool);
    accepted = pool->taken_us > 0 && clock_boottime_us() < pool->taken_us + trusted_us;
    due_us = replicas_work(pool->replicas, &pool->status, accepted);
    return due_us < next_us ? due_us : next_us;
}

static void *run(void *arg) {
    struct pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->ends) {
        int64_t next_us;

        if (pool->has_update)
            take_update(pool);
        pthread_mutex_unlock(&pool->lock);
        next_us = work(pool);
        pthread_mutex_lock(&pool->lock);
        while (!pool->ends && !pool->has_update &&
               thread_cond_wait(&pool->changed, &pool->lock, next_us))
            ;
    }
    pthread_mutex_unlock(&pool->lock);
    replicas_end(pool->replicas);
    return NULL;
}

/* ---- other threads ---- */

static void drop_pending(struct pool *pool) {
    for (unsigned i = 0; i < pool->pending_count; i++)
        assignment_release(pool->pending[i]);
    free(pool->pending);
    pool->pending = NULL;
    pool->pending_count = 0;
}

static void set(struct pool *pool, struct assignment *const *assignments, unsigned count) {
    pthread_mutex_lock(&pool->lock);
    drop_pending(pool);
    pool->pending = heap_new((count + 1) * sizeof(struct assignment *));
    for (unsigned i = 0; i < count; i++) {
        assert(assignments[i]->kind == ASSIGNMENT_REPLICA);
        if (strcmp(assignments[i]->replica.pool, pool->settings->name) == 0)
            pool->pending[pool->pending_count++] = assignment_hold(assignments[i]);
    }
    pool->has_update = true;
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void pools_set(struct pools *pools, struct assignment *const *assignments, unsigned count) {
    for (unsigned i = 0; i < pools->count; i++)
        set(&pools->pools[i], assignments, count);
}

static void pool_begin(struct pool *pool, struct pools *pools,
                       const struct pool_settings *settings) {
    const struct replicas_settings of = {
        .pool = settings->name,
        .path = settings->path,
        .reports = pools->settings.reports,
        .sessions = pools->settings.sessions,
        .run_directory = pools->settings.run_directory,
        .check_ms = pools->settings.heartbeat_ms,
    };

    pool->all = pools;
    pool->settings = settings;
    pool->replicas = replicas_new(&of);
    pthread_mutex_init(&pool->lock, NULL);
    thread_cond_init(&pool->changed);
}

int pools_start(const struct pools_settings *settings, struct pools **ret, struct error *err) {
    struct pools *pools = heap_new(sizeof(*pools) + settings->count * sizeof(pools->pools[0]));
    int code = 0;

    pools->settings = *settings;
    if (pools->settings.heartbeat_ms <= 0)
        pools->settings.heartbeat_ms = DEFAULT_HEARTBEAT_MS;
    if (pools->settings.check_ms <= 0)
        pools->settings.check_ms = DEFAULT_LOOK_MS;
    for (unsigned i = 0; i < settings->count && code == 0; i++) {
        struct pool *pool = &pools->pools[pools->count++];

        pool_begin(pool, pools, &settings->pools[i]);
        code = thread_start(&pool->thread, settings->pools[i].name, run, pool);
        pool->started = code == 0;
    }
    if (code != 0) {
        pools_stop(pools, INT64_MAX / 1000000);
        return error_set(err, ERROR_INTERNAL, "cannot start a thread: %s", strerror(code));
    }
    *ret = pools;
    return 0;
}

bool pools_stop(struct pools *pools, int64_t ms) {
    int64_t until_us = clock_monotonic_us() + ms * 1000;
    bool all = true;

    for (unsigned i = 0; pools && i < pools->count; i++) {
        struct pool *pool = &pools->pools[i];

        pthread_mutex_lock(&pool->lock);
        pool->ends = true;
        pthread_cond_signal(&pool->changed);
        pthread_mutex_unlock(&pool->lock);
    }
    for (unsigned i = 0; pools && i < pools->count; i++) {
        int64_t left_ms = (until_us - clock_monotonic_us()) / 1000;

        if (pools->pools[i].started && !thread_join_within(pools->pools[i].thread, left_ms))
            all = false;
    }
    for (unsigned i = 0; all && pools && i < pools->count; i++) {
        drop_pending(&pools->pools[i]);
        replicas_free(pools->pools[i].replicas);
        pthread_mutex_destroy(&pools->pools[i].lock);
        pthread_cond_destroy(&pools->pools[i].changed);
    }
    if (all)
        free(pools);
    return all;
}
