#include "manager/runtime/taken.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "manager/runtime/host.h"
#include "manager/runtime/job.h"
#include "operation/query.h"
#include "operation/taker.h"

#include <stdlib.h>
#include <string.h>

#define WAITING_MOST 1024      /* of one backend; others get messages, which wait in the database */
#define NO_PROGRESS  SECOND_US /* of the workers */
#define RENEWED_EACH 3         /* times in a lease */

struct taken {
    struct db_sequel sequel;
    struct manager_lane *lane;
    TAILQ_ENTRY(taken) next;
    /* The manager's lock guards these: */
    bool waits;   /* it is in the manager's list */
    bool is_left; /* it was not handed over, and ends with its release */
    struct job_claim claim;
    const struct claims *counted_by; /* the transaction of another's begin */

    const char *key, *project, *operation_id; /* these follow this struct */
};

struct claims {
    const char *owner, **ids;
    unsigned count;
};

static struct taken *taken_of(struct db_sequel *sequel) {
    return (struct taken *)sequel; /* its first member */
}

/* Called with the manager's lock held. */
static void taken_leave(struct taken *taken) {
    struct manager *manager = taken->lane->host->manager;

    if (!taken->waits)
        return;
    TAILQ_REMOVE(&manager->taken, taken, next);
    taken->waits = false;
}

static void taken_join(struct taken *taken) {
    TAILQ_INSERT_TAIL(&taken->lane->host->manager->taken, taken, next);
    taken->waits = true;
}

/* The same: its work has ended, or is left to others. */
static void taken_uncount(struct taken *taken) {
    assert(taken->lane->taken > 0);
    taken->lane->taken--;
    pthread_cond_broadcast(&taken->lane->host->manager->changed);
}

static void taken_end(struct taken *taken) {
    struct manager *manager = taken->lane->host->manager;

    pthread_mutex_lock(&manager->lock);
    taken_leave(taken);
    taken_uncount(taken);
    pthread_mutex_unlock(&manager->lock);
    free(taken);
}

/* ---- attempts ---- */

static int attempts_body(struct work *work, void *arg, struct error *err) {
    const struct claims *attempts = arg;

    for (unsigned i = 0; i < attempts->count; i++)
        if (operation_begin_first(work, attempts->ids[i], attempts->owner, err) < 0)
            return -1;
    return 0;
}

static void claims_add(struct claims *claims, const char *id, struct arena *arena) {
    claims->ids = query_grow(arena, claims->ids, claims->count, sizeof *claims->ids);
    claims->ids[claims->count++] = arena_text(arena, id);
}

/* The next ones, when fewer than one for each worker are counted.  Called with the manager's lock
 * held. */
static void attempts_add_next(struct claims *attempts, const struct manager_lane *lane,
                              struct arena *arena) {
    struct manager *manager = lane->host->manager;
    unsigned workers = manager->settings.workers, counted = 0, added = 0;
    struct taken *other;

    TAILQ_FOREACH(other, &manager->taken, next) {
        if (counted >= workers || added == workers)
            break;
        if (other->lane != lane)
            continue;
        if (other->claim.counted || other->counted_by) {
            counted++;
            continue;
        }
        other->counted_by = attempts;
        claims_add(attempts, other->operation_id, arena);
        added++;
    }
}

/* A transaction for each would cost more than its other work, and each worker would wait for it. */
static int count_attempts(struct taken *taken, struct error *err) {
    struct manager *manager = taken->lane->host->manager;
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(manager->settings.settings, arena);
    struct claims attempts = { .owner = manager->settings.owner };
    struct taken *other;
    int result;

    pthread_mutex_lock(&manager->lock);
    if (!taken->claim.counted)
        claims_add(&attempts, taken->operation_id, arena);
    attempts_add_next(&attempts, taken->lane, arena);
    pthread_mutex_unlock(&manager->lock);
    if (attempts.count == 0)
        return 0;
    result = work_transaction_unsynced(manager->settings.db, &base, attempts_body, &attempts, err);
    pthread_mutex_lock(&manager->lock);
    taken->claim.counted |= result >= 0;
    TAILQ_FOREACH(other, &manager->taken, next) {
        if (other->counted_by != &attempts)
            continue;
        other->counted_by = NULL;
        other->claim.counted = result >= 0;
    }
    pthread_mutex_unlock(&manager->lock);
    return result;
}

/* ---- from the commit to a worker ---- */

/* A lost claim is no attempt: it is claimed anew. */
static bool claim_holds(const struct manager *manager, const struct job_claim *claim) {
    const struct settings *settings = manager->settings.settings;

    return claim->asked_us > 0 &&
           clock_steady_us(settings->clock) < operation_safe_until(settings, claim->asked_us);
}

static int begin(void *arg, const struct rpc_message *message, struct error *err) {
    struct taken *taken = arg;
    struct manager_lane *lane = taken->lane;
    struct manager *manager = lane->host->manager;
    struct job_claim claim;
    bool drains;
    int result = 0;

    if (lane_enter(lane, err) < 0)
        return -1;
    pthread_mutex_lock(&manager->lock);
    drains = manager->draining;
    claim = taken->claim;
    if (!drains)
        taken_leave(taken);
    pthread_mutex_unlock(&manager->lock);
    if (drains)
        result = error_set(err, ERROR_UNAVAILABLE, "the manager is stopping");
    else if (claim_holds(manager, &claim)) {
        result = count_attempts(taken, err);
        claim.counted |= result == 0;
    }
    if (result == 0)
        result = job_run(lane, taken->operation_id, message->own, &claim, err);
    if (!drains && result < 0) { /* once it has begun, another attempt is that of a message */
        pthread_mutex_lock(&manager->lock);
        taken->claim = claim;
        taken->counted_by = NULL;
        if (claim.asked_us > 0)
            taken_join(taken);
        pthread_mutex_unlock(&manager->lock);
    }
    lane_leave(lane);
    return result;
}

static void confirm(void *arg, bool done) {
    (void)done;
    taken_end(arg);
}

static bool hand_over(struct taken *taken) {
    struct manager *manager = taken->lane->host->manager;
    struct rpc *rpc = manager->settings.rpc;
    const struct rpc_message message = { .topic = taken->lane->topic,
                                         .method = "",
                                         .key = taken->key,
                                         .project = taken->project,
                                         .payload = "",
                                         .own = true };
    const struct rpc_receiver receiver = { begin, confirm, taken };
    bool given;

    scoped_lock(&manager->sending);
    given = !manager_is_draining(manager) &&
            rpc->engine->hand_over(rpc, &message, &receiver, NULL) == 0;
    return given;
}

/* One that is not handed over is released by the next round, or by the stop. */
static void behind_commit(struct db_sequel *sequel, bool committed) {
    struct taken *taken = taken_of(sequel);
    struct manager *manager = taken->lane->host->manager;

    if (!committed) {
        taken_end(taken);
        return;
    }
    pthread_mutex_lock(&manager->lock);
    taken_join(taken);
    pthread_mutex_unlock(&manager->lock);
    if (hand_over(taken))
        return;
    pthread_mutex_lock(&manager->lock);
    taken->is_left = taken->waits;
    taken_uncount(taken);
    if (!taken->is_left) /* a drain has released it already */
        free(taken);
    pthread_mutex_unlock(&manager->lock);
}

/* ---- the claim ---- */

static struct manager_lane *lane_of(struct manager *manager, const char *host) {
    for (unsigned i = 0; i < manager->host_count; i++)
        if (strcmp(manager->hosts[i].host, host) == 0)
            return &manager->hosts[i].lanes[LANE_SHORT];
    return NULL;
}

/* `*ret_free`: a worker has nothing else to do. */
static bool lane_accepts(struct manager_lane *lane, int64_t now_us, bool *ret_free) {
    struct manager *manager = lane->host->manager;
    unsigned workers = manager->settings.workers;
    bool accepts;

    scoped_lock(&manager->lock);
    accepts = lane->host->open && !manager->draining && lane->taken < WAITING_MOST &&
              (lane->taken <= workers || now_us - lane->heard_at < NO_PROGRESS);
    *ret_free = workers == 0 || (lane->taken < workers && lane->busy < workers);
    if (accepts)
        lane->taken++;
    return accepts;
}

static const char *text_put(char **place, const char *text) {
    char *copy = *place;

    *place = stpcpy(copy, text ? text : "") + 1;
    return copy;
}

static void accept_operation(void *arg, struct work *work, struct operation *operation) {
    struct manager *manager = arg;
    const struct outbox_message message = operation_message(work->arena, operation, NULL);
    const char *project = message.project ? message.project : "";
    size_t size = strlen(message.key) + strlen(project) + strlen(operation->id) + 3;
    struct job_claim claim = { .asked_us = clock_steady_us(manager->settings.settings->clock) };
    struct manager_lane *lane = lane_of(manager, operation->host);
    struct taken *taken;
    char *texts;

    assert(!operation->is_long && operation->attempts == 0);
    if (!lane || !lane_accepts(lane, claim.asked_us, &claim.counted))
        return;
    taken = heap_new(sizeof(*taken) + size);
    texts = (char *)(taken + 1);
    taken->sequel.run = behind_commit;
    taken->lane = lane;
    taken->claim = claim;
    taken->key = text_put(&texts, message.key);
    taken->project = text_put(&texts, project);
    taken->operation_id = text_put(&texts, operation->id);
    db_tx_continues(work->tx, &taken->sequel);
    operation->owner = manager->settings.owner;
    operation->attempts = claim.counted;
}

/* ---- leases ---- */

/* Of ids of the list, copied in its order; some have left it since, and others have joined the end:
 * `count` when it is not among those from `at` on. */
static unsigned place_of(const char *const *ids, unsigned count, unsigned at,
                         const struct taken *taken) {
    while (at < count && strcmp(ids[at], taken->operation_id) != 0)
        at++;
    return at;
}

static int release_body(struct work *work, void *arg, struct error *err) {
    const struct claims *release = arg;

    for (unsigned i = 0; i < release->count; i++)
        if (operation_put_back(work, release->ids[i], release->owner, work->clock_us, err) < 0)
            return -1;
    return 0;
}

void taken_release(struct manager *manager) {
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(manager->settings.settings, arena);
    struct claims release = { .owner = manager->settings.owner };
    struct taken *taken, *following;
    struct error err;
    unsigned at = 0;

    pthread_mutex_lock(&manager->lock);
    TAILQ_FOREACH(taken, &manager->taken, next) {
        if (manager->draining || taken->is_left)
            claims_add(&release, taken->operation_id, arena);
    }
    pthread_mutex_unlock(&manager->lock);
    if (release.count == 0)
        return;
    if (work_transaction(manager->settings.db, &base, release_body, &release, &err) < 0) {
        log_warning(NULL, "operations not released, their leases run out", "count",
                    LOG_INT(release.count), "reason", err.message, NULL);
        return;
    }
    pthread_mutex_lock(&manager->lock);
    for (taken = TAILQ_FIRST(&manager->taken); taken; taken = following) {
        unsigned place = place_of(release.ids, release.count, at, taken);

        following = TAILQ_NEXT(taken, next);
        if (place == release.count)
            continue;
        at = place + 1;
        taken_leave(taken);
        if (taken->is_left)
            free(taken);
    }
    pthread_mutex_unlock(&manager->lock);
}

unsigned taken_due(struct manager *manager, struct arena *arena, const char ***ret) {
    int64_t lease_us = manager->settings.settings->operation_lease_s * SECOND_US;
    int64_t now_us = clock_steady_us(manager->settings.settings->clock);
    const char **ids = NULL;
    const struct taken *taken;
    unsigned count = 0;

    pthread_mutex_lock(&manager->lock);
    TAILQ_FOREACH(taken, &manager->taken, next) {
        if (now_us - taken->claim.asked_us < lease_us / RENEWED_EACH ||
            now_us - taken->lane->heard_at >= lease_us)
            continue;
        ids = query_grow(arena, ids, count, sizeof *ids);
        ids[count++] = arena_text(arena, taken->operation_id);
    }
    pthread_mutex_unlock(&manager->lock);
    *ret = ids;
    return count;
}

/* One that is not renewed keeps its last lease: it may be cancelled, and its worker closes it. */
void taken_renewed(struct manager *manager, const char *const *ids, const bool *renewed,
                   unsigned count, int64_t asked_us) {
    struct taken *taken;
    unsigned at = 0;

    scoped_lock(&manager->lock);
    TAILQ_FOREACH(taken, &manager->taken, next) {
        unsigned place = place_of(ids, count, at, taken);

        if (place == count)
            continue;
        if (renewed[place])
            taken->claim.asked_us = asked_us;
        at = place + 1;
    }
}

/* ---- start and stop ---- */

void taken_start(struct manager *manager) {
    const struct rpc_engine *engine = manager->settings.rpc->engine;

    if (!db_has_sequels(manager->settings.db))
        return;
    for (unsigned i = 0; i < manager->host_count; i++)
        if (!engine->hand_over ||
            engine->reaches(manager->settings.rpc, manager->hosts[i].lanes[LANE_SHORT].topic) !=
                RPC_HERE)
            return;
    if (manager->settings.settings->taker)
        operation_taker_set(manager->settings.settings->taker, accept_operation, manager);
}

void taken_stop(struct manager *manager) {
    if (manager->settings.settings->taker)
        operation_taker_set(manager->settings.settings->taker, NULL, NULL);
}

void taken_wait(struct manager *manager) {
    struct taken *taken;

    pthread_mutex_lock(&manager->lock);
    for (unsigned i = 0; i < manager->host_count; i++)
        while (manager->hosts[i].lanes[LANE_SHORT].taken > 0)
            pthread_cond_wait(&manager->changed, &manager->lock);
    pthread_mutex_unlock(&manager->lock);
    taken_release(manager);
    while ((taken = TAILQ_FIRST(&manager->taken))) {
        taken_leave(taken);
        free(taken);
    }
}
