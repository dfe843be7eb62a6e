#include "manager/runtime/manager.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/thread.h"
#include "common/ticker.h"
#include "manager/runtime/call.h"
#include "manager/runtime/host.h"
#include "manager/runtime/job.h"
#include "manager/runtime/overtake.h"
#include "manager/runtime/recount.h"
#include "manager/runtime/report.h"
#include "manager/runtime/taken.h"
#include "manager/runtime/unserved.h"
#include "model/notification.h"
#include "operation/message.h"
#include "operation/query.h"
#include "json/json.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define TICK_MS         1000
#define REST_MOST_MS    5000 /* while there is no operation */
#define REST_LEASES     4    /* rests in a lease, which a new operation needs renewed */
#define HANGS_US        (120 * SECOND_US)
#define REPORT_US       (10 * SECOND_US)
#define EXPIRE_US       (60 * SECOND_US)
#define ORPHAN_GRACE_US (15 * SECOND_US)
#define ORPHANS_AT_ONCE 256
#define ANSWER_AGE_US   (120 * SECOND_US)
#define GENERAL_TOPIC   "cinder-volume"

/* ---- messages ---- */

static int consume_operation(struct manager_lane *lane, const struct rpc_message *message,
                             struct error *err) {
    autoarena struct arena *arena = arena_new();
    const json_t *payload = json_parse(arena, message->payload, strlen(message->payload), err);
    const char *operation_id = json_string_value(json_object_get(payload, "operation_id"));
    int result;

    if (!operation_id) {
        error_set(err, ERROR_BAD_REQUEST, "operation_id is missing or not a text");
        return RPC_BAD_ARGUMENTS;
    }
    if (lane_enter(lane, err) < 0)
        return -1;
    result = job_run(lane, operation_id, message->own, NULL, err);
    lane_leave(lane);
    return result;
}

static int consume(void *arg, const struct rpc_message *message, struct error *err) {
    struct manager_lane *lane = arg;

    return message->version ? call_handle(lane->host->manager, message, err)
                            : consume_operation(lane, message, err);
}

/* Messages to any manager, or to all of them; operations go to those of their backend. */
static int consume_general(void *arg, const struct rpc_message *message, struct error *err) {
    return message->version ? call_handle(arg, message, err) : RPC_NO_METHOD;
}

/* The log is an ordinary listener: it gets each committed notification at least once. */
static int log_notification(void *arg, const struct rpc_message *message, struct error *err) {
    (void)arg, (void)err;
    log_info(NULL, message->method, "payload", message->payload, NULL);
    return 0;
}

static int subscribe(struct manager *manager, struct error *err) {
    struct rpc *rpc = manager->settings.rpc;

    if (manager->settings.settings->notifications &&
        !manager->settings.settings->notifications_whole &&
        rpc->engine->subscribe(rpc, NOTIFICATION_TOPIC, log_notification, manager, err) < 0)
        return -1;
    if (rpc->engine->subscribe(rpc, GENERAL_TOPIC, consume_general, manager, err) < 0)
        return -1;
    for (unsigned i = 0; i < manager->host_count * LANES; i++) {
        struct manager_lane *lane = &manager->hosts[i / LANES].lanes[i % LANES];

        if (rpc->engine->subscribe(rpc, lane->topic, consume, lane, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- periodic work ---- */

struct round {
    struct manager *manager;
    bool expire;
    const char **ids; /* of the operations to renew */
    bool *renewed;
    unsigned count;
    int64_t asked_us; /* the steady clock, before the renewal */
};

struct hand_out {
    const char *host;
    struct orphan_rule rule;
    struct operation *orphans;
    int count;
};

/* The ids of operations claimed by this process, copied: their owners may end at any moment. */
static const char **running_ids(struct manager *manager, struct arena *arena, unsigned *ret_count) {
    const char **ids = NULL;
    unsigned count = 0;

    pthread_mutex_lock(&manager->lock);
    for (const struct running *running = manager->running; running; running = running->next) {
        if (running->safe_until_us == 0)
            continue;
        assert(running->operation_id);
        ids = query_grow(arena, ids, count, sizeof *ids);
        ids[count++] = arena_text(arena, running->operation_id);
    }
    pthread_mutex_unlock(&manager->lock);
    *ret_count = count;
    return ids;
}

unsigned manager_running(struct manager *manager, struct arena *arena, struct manager_work **ret) {
    int64_t now_us = clock_steady_us(manager->settings.settings->clock);
    struct manager_work *list = NULL;
    unsigned count = 0;

    pthread_mutex_lock(&manager->lock);
    for (const struct running *running = manager->running; running; running = running->next) {
        if (!running->kind)
            continue;
        list = query_grow(arena, list, count, sizeof *list);
        list[count++] =
            (struct manager_work){ .operation_id = arena_text(arena, running->operation_id),
                                   .kind = arena_text(arena, running->kind),
                                   .volume_id = arena_text(arena, running->volume_id),
                                   .for_us = now_us - running->begun_us,
                                   .percent = running->percent };
    }
    pthread_mutex_unlock(&manager->lock);
    *ret = list;
    return count;
}

static int round_body(struct work *work, void *arg, struct error *err) {
    struct round *round = arg;

    assert(round->manager->settings.owner && *round->manager->settings.owner);
    for (unsigned i = 0; i < round->count; i++) {
        int renewed = operation_renew(work, round->manager->settings.owner, round->ids[i], err);

        if (renewed < 0)
            return -1;
        round->renewed[i] = renewed > 0;
    }
    if (!round->expire)
        return 0;
    if (operation_expire(work, ANSWER_AGE_US, err) < 0 || message_expire(work, err) < 0)
        return -1;
    return 0;
}

static int orphans_body(struct work *work, void *arg, struct error *err) {
    struct hand_out *hand_out = arg;

    hand_out->count = operation_orphans(work, hand_out->host, &hand_out->rule, ORPHANS_AT_ONCE,
                                        &hand_out->orphans, err);
    return hand_out->count;
}

static int hand_out_body(struct work *work, void *arg, struct error *err) {
    const struct hand_out *hand_out = arg;

    assert(hand_out->count <= ORPHANS_AT_ONCE);
    for (int i = 0; i < hand_out->count; i++)
        if (operation_redeliver(work, &hand_out->orphans[i], &hand_out->rule, err) < 0)
            return -1;
    return 0;
}

/*
 * While messages of a backend arrive, that of a queued operation is still waiting, and a second one
 * would only be more work.  An operation that cannot start is not announced repeatedly either: with
 * a backend unresponsive for days the messages would fill the memory, and so they would with a slow
 * one and a long queue.  While any operation is in progress, each is announced again after twice
 * the time it had waited before.  While a project uses all the workers it may, queued operations
 * are not announced, those of dead workers are once, and one that is due is after twice the time:
 * it may be of another project, with a reserved worker.
 */
static int hand_out_orphans_of(struct manager_lane *lane, const struct work *base, bool any,
                               struct error *err) {
    struct manager *manager = lane->host->manager;
    int64_t since_us = clock_shared_us(manager->settings.settings->clock) - ORPHAN_GRACE_US;
    struct hand_out hand_out = { .host = lane->host->host, .rule.is_long = lane->is_long };
    enum lane_load load;
    bool surely = false;

    if (any && overtake(lane, base, err) < 0)
        return -1;
    load = lane_load(lane);
    if (load == LANE_STUCK)
        return 0;
    hand_out.rule.waiting_since_us = since_us;
    if (load == LANE_MOVES)
        hand_out.rule.queued_since_us = lane_misses_messages(lane, &surely) ? since_us : 0;
    hand_out.rule.patient = !surely;
    hand_out.rule.sparing = load == LANE_SHARE_TAKEN;
    if (!any)
        return 0;
    do { /* in portions: a transaction with thousands would block every other one */
        if (work_read(manager->settings.db, base, orphans_body, &hand_out, err) < 0)
            return -1;
        if (hand_out.count > 0 &&
            work_transaction(manager->settings.db, base, hand_out_body, &hand_out, err) < 0)
            return -1;
    } while (hand_out.count == ORPHANS_AT_ONCE);
    return 0;
}

/* At rest there is none: one short look for all backends. */
static int any_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return operation_any(work, err);
}

/* Those that wait for a worker in this process: few, or their leases are recent. */
static int renew_taken(struct manager *manager, const struct work *base, struct error *err) {
    struct round round = { .manager = manager,
                           .asked_us = clock_steady_us(manager->settings.settings->clock) };

    round.count = taken_due(manager, base->arena, &round.ids);
    if (round.count == 0)
        return 0;
    round.renewed = arena_alloc(base->arena, round.count * sizeof *round.renewed);
    if (work_transaction(manager->settings.db, base, round_body, &round, err) < 0)
        return -1;
    taken_renewed(manager, round.ids, round.renewed, round.count, round.asked_us);
    return 0;
}

static int do_round(struct manager *manager, bool expire, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(manager->settings.settings, arena);
    struct round round = { .manager = manager, .expire = expire };
    int64_t safe_until_us;
    int any;

    round.asked_us = clock_steady_us(manager->settings.settings->clock);
    round.ids = running_ids(manager, arena, &round.count);
    round.renewed = arena_alloc(arena, (round.count + 1) * sizeof *round.renewed);
    if ((round.count > 0 || expire) &&
        work_transaction(manager->settings.db, &base, round_body, &round, err) < 0)
        return -1;
    taken_release(manager);
    if (renew_taken(manager, &base, err) < 0)
        return -1;
    /* Renewed operations continue; those lost to another worker get no more side effects. */
    safe_until_us = operation_safe_until(manager->settings.settings, round.asked_us);
    pthread_mutex_lock(&manager->lock);
    for (struct running *running = manager->running; running; running = running->next)
        for (unsigned i = 0; i < round.count; i++)
            if (strcmp(running->operation_id, round.ids[i]) == 0)
                running->safe_until_us = round.renewed[i] ? safe_until_us : 0;
    pthread_mutex_unlock(&manager->lock);
    any = work_read(manager->settings.db, &base, any_body, NULL, err);
    if (any < 0)
        return -1;
    manager->rests = any == 0;
    for (unsigned i = 0; i < manager->host_count * LANES; i++)
        if (hand_out_orphans_of(&manager->hosts[i / LANES].lanes[i % LANES], &base, any, err) < 0)
            return -1;
    return 0;
}

int manager_report(struct manager *manager, struct error *err) {
    return hosts_report(manager, err);
}

static int tick(struct manager *manager, struct error *err) {
    int64_t now = clock_steady_us(manager->settings.settings->clock);
    bool expire = now - manager->expired_at >= EXPIRE_US;

    if (now - manager->reported_at >= REPORT_US) {
        int reported =
            manager->settings.threaded ? report_node(manager, err) : hosts_report(manager, err);

        if (reported < 0)
            return -1;
        manager->reported_at = now;
    }
    if (do_round(manager, expire, err) < 0 || (expire && unserved_report(manager, err) < 0))
        return -1;
    if (expire)
        manager->expired_at = now;
    return recount_pools(manager, err);
}

int manager_tick(struct manager *manager, struct error *err) {
    int result = tick(manager, err);

    pthread_mutex_lock(&manager->lock);
    manager->round_us = clock_monotonic_us();
    pthread_mutex_unlock(&manager->lock);
    return result;
}

static int64_t tick_again(void *arg) {
    const struct manager *manager = arg;
    int64_t rest_ms = manager->settings.settings->operation_lease_s * 1000 / REST_LEASES;
    struct error err;

    if (manager_tick(arg, &err) < 0)
        log_error(NULL, "periodic work failed", "reason", err.message, NULL);
    if (!manager->rests || rest_ms < TICK_MS)
        return TICK_MS;
    return rest_ms < REST_MOST_MS ? rest_ms : REST_MOST_MS;
}

/* ---- start and stop ---- */

/* Former incarnations of this manager are dead: their leases end now. */
static int disown_body(struct work *work, void *arg, struct error *err) {
    const struct manager *manager = arg;

    return operation_end_stale_leases(work, manager->settings.owner_prefix, manager->settings.owner,
                                      err);
}

static struct manager *manager_new(const struct manager_settings *settings) {
    struct manager *manager = heap_new(sizeof *manager);

    assert(*settings->owner &&
           strncmp(settings->owner, settings->owner_prefix, strlen(settings->owner_prefix)) == 0);
    pthread_mutex_init(&manager->lock, NULL);
    pthread_mutex_init(&manager->sending, NULL);
    thread_cond_init(&manager->changed);
    TAILQ_INIT(&manager->taken);
    manager->settings = *settings;
    manager->started_at = clock_shared_us(settings->settings->clock);
    manager->reported_at = clock_steady_us(settings->settings->clock) - REPORT_US;
    manager->expired_at = clock_steady_us(settings->settings->clock) - EXPIRE_US;
    while (settings->backends[manager->host_count].name)
        manager->host_count++;
    manager->hosts = heap_new(manager->host_count * sizeof *manager->hosts);
    for (unsigned i = 0; i < manager->host_count; i++)
        host_init(&manager->hosts[i], manager, &settings->backends[i]);
    return manager;
}

int manager_start(const struct manager_settings *settings, struct manager **ret,
                  struct error *err) {
    struct manager *manager = *ret = manager_new(settings);
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(settings->settings, arena);
    int64_t until_us;

    if (work_transaction(settings->db, &base, disown_body, manager, err) < 0 ||
        manager_tick(manager, err) < 0 || subscribe(manager, err) < 0)
        return -1;
    taken_start(manager);
    if (!settings->threaded)
        return 0;
    /* In parallel.  Backends that respond are ready before the first request; others are not
     * awaited. */
    until_us = clock_monotonic_us() + settings->patience_ms * 1000;
    for (unsigned i = 0; i < manager->host_count; i++)
        host_start(&manager->hosts[i]);
    for (unsigned i = 0; i < manager->host_count; i++)
        if (host_wait(&manager->hosts[i], until_us, err) < 0)
            return -1;
    manager->ticker = ticker_start("manager-tick", tick_again, manager);
    return 0;
}

bool manager_alive(struct manager *manager) {
    scoped_lock(&manager->lock);
    return clock_monotonic_us() - manager->round_us < HANGS_US;
}

void manager_drain(struct manager *manager) {
    taken_stop(manager);
    pthread_mutex_lock(&manager->sending);
    pthread_mutex_lock(&manager->lock);
    manager->draining = true;
    pthread_cond_broadcast(&manager->changed);
    pthread_mutex_unlock(&manager->lock);
    pthread_mutex_unlock(&manager->sending);
    taken_release(manager);
}

void manager_stop(struct manager *manager) {
    taken_stop(manager);
    if (manager->ticker)
        ticker_stop(manager->ticker);
    taken_wait(manager);
    for (unsigned i = 0; i < manager->host_count; i++)
        host_free(&manager->hosts[i]);
    pthread_cond_destroy(&manager->changed);
    pthread_mutex_destroy(&manager->lock);
    pthread_mutex_destroy(&manager->sending);
    free(manager->hosts);
    free(manager->unserved);
    free(manager);
}
