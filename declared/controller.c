#include "declared/controller.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/ticker.h"
#include "declared/changes.h"
#include "declared/document_store.h"
#include "declared/reconcile.h"
#include "declared/replica_pool.h"
#include "declared/retries.h"

#include <stdio.h>
#include <stdlib.h>

#define LOOK_MS    500 /* for what others changed, of whom nobody tells us */
#define FAILED_MS  1000
#define POOLS_US   SECOND_US        /* between two looks at pools while some config waits, */
#define CALM_US    (5 * SECOND_US)  /* and while none does */
#define ROOM_US    (10 * SECOND_US) /* between two tries for a little more room */
#define WALK_MOST  100              /* of a look at all, before those that changed come again */
#define RETRY_MOST 100              /* of those that failed, likewise */

/* Which pools take replicas, and how much they have free. */
struct room {
    uint64_t pools;  /* 0: not looked at yet */
    uint64_t health; /* which pools there are, and how each is */
    int64_t free_gib;
};

struct controller {
    struct controller_settings settings;
    struct ticker *ticker; /* NULL: no thread */

    /* Of the thread. */
    struct arena *arena; /* of one config, or of one list of them */
    struct retries *retries;
    bool began, busy, failing;
    int64_t seen;                             /* all changes up to this number are dealt with */
    int64_t walk_version, walk_last, walk_us; /* the look at all: where it is, its end, the next */
    struct room room;                         /* when those that failed were last hurried */
    int64_t room_us;                          /* before that a little more room hurries nobody */
    int64_t pools_us;                         /* when pools were looked at last */
};

/* clang-format off */
const struct option controller_options[] = {
    { .section = "DEFAULT", .key = "document_resync_interval", .type = OPTION_SECONDS, .fallback = "30", .min = 1, .max = 86400,
      .help = "Seconds between two looks at all declared volumes. A change is acted on at once; this finds what "
              "nobody told of." },
    OPTIONS_END,
};
/* clang-format on */

int64_t controller_resync_s(const struct config *config) {
    return config_int(config, "DEFAULT", "document_resync_interval");
}

static int64_t now_us(const struct controller *controller) {
    return clock_steady_us(controller->settings.settings->clock);
}

/* ---- a database that fails ---- */

static void hear_failure(struct controller *controller, const struct error *err) {
    if (!controller->failing)
        log_warning(NULL, "declared volumes wait for the database", "error", err->message, NULL);
    controller->failing = true;
}

static void hear_success(struct controller *controller) {
    if (controller->failing)
        log_info(NULL, "declared volumes are looked at again", NULL);
    controller->failing = false;
}

/* ---- one config ---- */

static int look_body(struct work *work, void *arg, struct error *err) {
    return reconcile_look(work, arg, err);
}

static int config_body(struct work *work, void *arg, struct error *err) {
    return reconcile_config(work, arg, err);
}

/* Looks before it asks for the right to write: most changes leave nothing to be done. */
static int reconcile(struct controller *controller, char *id, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct work base = work_own(controller->settings.settings, arena);
    struct db *db = controller->settings.db;
    int result = work_read(db, &base, look_body, id, err);

    return result == RECONCILE_WRITES ? work_transaction(db, &base, config_body, id, err) : result;
}

struct explanation {
    const char *id;
    const struct error *why;
};

static int explain_body(struct work *work, void *arg, struct error *err) {
    const struct explanation *explanation = arg;

    return reconcile_explain(work, explanation->id, explanation->why, err);
}

/* What the documents themselves are to blame for, their people can mend; the rest is ours. */
static void explain(struct controller *controller, const char *id, const struct error *why) {
    autoarena struct arena *arena = arena_new();
    struct work base = work_own(controller->settings.settings, arena);
    struct explanation explanation = { id, why };
    struct error err;

    if ((why->kind == ERROR_TOO_LARGE || why->kind == ERROR_OVER_QUOTA ||
         why->kind == ERROR_BAD_REQUEST) &&
        work_transaction(controller->settings.db, &base, explain_body, &explanation, &err) == 0)
        return;
    log_warning(NULL, "a declared volume waits", "config", id, "error", why->message, NULL);
}

static void work_on(struct controller *controller, const char *id) {
    char copy[UUID_SIZE]; /* the queue may move */
    struct error err;
    int result;

    snprintf(copy, sizeof copy, "%s", id);
    result = reconcile(controller, copy, &err);
    if (result == RECONCILE_SETTLED) {
        retries_forget(controller->retries, copy);
        return;
    }
    if (result < 0)
        explain(controller, copy, &err);
    retries_fail(controller->retries, copy, now_us(controller));
}

/* ---- those that changed ---- */

struct change_call {
    int64_t version;
    struct changes changes;
};

static int changes_body(struct work *work, void *arg, struct error *err) {
    struct change_call *call = arg;

    return changes_read(work, call->version, &call->changes, err);
}

/* What is written here changes documents, too: the next round finds nothing in them to be done. */
static int follow_changes(struct controller *controller, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    struct change_call call = { .version = controller->seen };

    if (work_read(controller->settings.db, &base, changes_body, &call, err) < 0)
        return -1;
    for (unsigned i = 0; i < call.changes.waiting_count; i++)
        retries_hurry(controller->retries, call.changes.waiting[i], now_us(controller));
    for (unsigned i = 0; i < call.changes.count; i++)
        work_on(controller, call.changes.configs[i]);
    controller->seen = call.changes.version;
    controller->busy = call.changes.count > 0;
    return 0;
}

/* ---- those that failed ---- */

static uint64_t hash(uint64_t before, const char *text) {
    for (; *text; text++)
        before = (before ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (before ^ ' ') * UINT64_C(0x100000001b3);
}

static int room_body(struct work *work, void *arg, struct error *err) {
    const uint64_t none = UINT64_C(0xcbf29ce484222325);
    struct room *ret = arg, room = { none, none, 0 };
    struct replica_pool *pools;
    int count = replica_pool_list(work, &pools, err);

    for (int i = 0; i < count; i++) {
        room.health = hash(hash(room.health, pools[i].id), pools[i].up ? pools[i].state : "");
        if (!pools[i].up || pools[i].read_only || pools[i].draining)
            continue;
        room.free_gib += pools[i].free_bytes >> 30;
        room.pools = hash(room.pools, pools[i].id);
    }
    *ret = room;
    return count < 0 ? -1 : 0;
}

/* A pool that comes, goes or fails changes what its volumes are: all are looked at. */
static void heed_health(struct controller *controller, const struct room *room) {
    bool changed = controller->room.health && controller->room.health != room->health;

    controller->room.health = room->health;
    if (changed)
        controller->walk_us = now_us(controller);
}

/* What waits for a place need not wait much longer than until there is one. */
static int look_at_pools(struct controller *controller, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    bool waits = !retries_is_empty(controller->retries);
    struct room before, room;

    if (now_us(controller) < controller->pools_us + (waits ? POOLS_US : CALM_US))
        return 0;
    if (work_read(controller->settings.db, &base, room_body, &room, err) < 0)
        return -1;
    controller->pools_us = now_us(controller);
    heed_health(controller, &room);
    before = controller->room;
    if (!waits)
        return 0;
    if (room.free_gib < before.free_gib)
        controller->room.free_gib = room.free_gib;
    if (room.pools == before.pools &&
        (room.free_gib <= before.free_gib || now_us(controller) < controller->room_us))
        return 0;
    if (before.pools)
        retries_hurry_all(controller->retries, now_us(controller));
    controller->room = room;
    controller->room_us = now_us(controller) + ROOM_US;
    return 0;
}

static void retry(struct controller *controller) {
    int64_t due_us = now_us(controller);
    const char *id;

    for (unsigned i = 0; i < RETRY_MOST && (id = retries_due(controller->retries, due_us)); i++)
        work_on(controller, id);
}

/* ---- all ---- */

struct walk {
    struct controller *controller;
    int64_t version;
    const char **todo;
    unsigned count;
    int read;
};

/* On one snapshot: the next configs, and of them those that want something. */
static int walk_body(struct work *work, void *arg, struct error *err) {
    struct walk *walk = arg;
    struct controller *controller = walk->controller;
    autoarena struct arena *arena = arena_new();
    struct work look = *work;
    const char **ids = NULL;

    walk->version = controller->walk_version;
    walk->count = 0;
    walk->read = changes_walk(work, &walk->version, controller->walk_last, WALK_MOST, &ids, err);
    walk->todo = arena_alloc(work->arena, WALK_MOST * sizeof *walk->todo);
    look.arena = arena;
    for (int i = 0; i < walk->read; i++) {
        int result = retries_waits(controller->retries, ids[i], now_us(controller))
                         ? RECONCILE_SETTLED
                         : reconcile_look(&look, ids[i], err);

        if (result < 0 || result == RECONCILE_WRITES)
            walk->todo[walk->count++] = ids[i];
        arena_reset(arena);
    }
    return walk->read < 0 ? -1 : 0;
}

static bool is_walking(const struct controller *controller) {
    return controller->walk_version < controller->walk_last;
}

static int walk_on(struct controller *controller, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    struct walk walk = { .controller = controller };

    if (work_read(controller->settings.db, &base, walk_body, &walk, err) < 0)
        return -1;
    for (unsigned i = 0; i < walk.count; i++)
        work_on(controller, walk.todo[i]);
    controller->walk_version = walk.read < WALK_MOST ? controller->walk_last : walk.version;
    return 0;
}

static int version_body(struct work *work, void *arg, struct error *err) {
    return document_last_version(work, arg, err);
}

/* What changes from now on is told by its number; the rest is met on the way. */
static int begin_walk(struct controller *controller, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    int64_t version;

    if (work_read(controller->settings.db, &base, version_body, &version, err) < 0)
        return -1;
    if (!controller->began)
        controller->seen = version;
    controller->began = true;
    controller->walk_version = 0;
    controller->walk_last = version;
    controller->walk_us = now_us(controller) + controller->settings.resync_s * SECOND_US;
    return 0;
}

/* ---- a round ---- */

static int round_run(struct controller *controller, struct error *err) {
    if (now_us(controller) >= controller->walk_us && !is_walking(controller) &&
        begin_walk(controller, err) < 0)
        return -1;
    if (follow_changes(controller, err) < 0 || look_at_pools(controller, err) < 0)
        return -1;
    retry(controller);
    return is_walking(controller) ? walk_on(controller, err) : 0;
}

static int64_t pause_ms(const struct controller *controller) {
    int64_t now = now_us(controller), next = retries_next_us(controller->retries);
    int64_t pause = LOOK_MS;

    if (is_walking(controller) || controller->busy)
        return 0;
    if (controller->walk_us < next)
        next = controller->walk_us;
    if (next < now + pause * 1000)
        pause = next <= now ? 0 : (next - now + 999) / 1000;
    return pause;
}

int64_t controller_tick(struct controller *controller) {
    struct error err;
    int result = round_run(controller, &err);

    arena_reset(controller->arena);
    if (result < 0) {
        hear_failure(controller, &err);
        return FAILED_MS;
    }
    hear_success(controller);
    return pause_ms(controller);
}

static int64_t tick(void *arg) {
    return controller_tick(arg);
}

/* ---- start and end ---- */

struct controller *controller_new(const struct controller_settings *settings) {
    struct controller *controller = heap_new(sizeof *controller);

    controller->settings = *settings;
    controller->arena = arena_new();
    controller->retries = retries_new();
    return controller;
}

void controller_start(struct controller *controller) {
    controller->ticker = ticker_start("controller", tick, controller);
}

void controller_wake(struct controller *controller) {
    ticker_wake(controller->ticker);
}

void controller_free(struct controller *controller) {
    if (!controller)
        return;
    if (controller->ticker)
        ticker_stop(controller->ticker);
    retries_free(controller->retries);
    arena_free(controller->arena);
    free(controller);
}
