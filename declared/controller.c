#include "declared/controller.private.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "common/ticker.h"
#include "declared/changes.h"
#include "declared/document_store.h"
#include "declared/reconcile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* between checks for changes by other processes, which send no notification; and while there has
 * never been a document, if no other process of the service can write the first */
#define POLL_MS    500
#define EMPTY_MS   5000
#define FAILED_MS  1000
#define WALK_MOST  100 /* configs of a walk, before changed ones are processed again */
#define RETRY_MOST 100 /* failed configs, likewise */

/* Each walk evaluates one in so many of the settled configs nevertheless. */
#define SETTLED_EACH 20

/* clang-format off */
const struct option controller_options[] = {
    { .section = "DEFAULT", .key = "document_resync_interval", .type = OPTION_SECONDS, .fallback = "30", .min = 1, .max = 86400,
      .help = "Seconds between two reconciliations of all declared volumes. A change is reconciled at once; this "
              "covers changes without a notification." },
    OPTIONS_END,
};
/* clang-format on */

int64_t controller_resync_s(const struct config *config) {
    return config_int(config, "DEFAULT", "document_resync_interval");
}

/* ---- one config ---- */

struct evaluation {
    const char *id;
    struct reconcile_evaluation found;
};

static int evaluate_body(struct work *work, void *arg, struct error *err) {
    struct evaluation *evaluation = arg;

    return reconcile_evaluate(work, evaluation->id, &evaluation->found, err);
}

/* When the documents could not be read, it is unknown which config has changed. */
static void note_evaluation(struct controller *controller, const struct evaluation *evaluation,
                            int result) {
    const struct reconcile_evaluation *found = &evaluation->found;
    bool is_settled = result == RECONCILE_SETTLED && found->is_settled &&
                      pool_changes_know(controller->pool_changes, found->pools, found->pool_count);

    if (result < 0 && found->version == 0)
        settled_clear(controller->settled);
    else
        settled_put(controller->settled, found->version, is_settled);
    if (found->waits_for_slot)
        controller_wait_for_slot(controller, evaluation->id);
}

static int config_body(struct work *work, void *arg, struct error *err) {
    return reconcile_config(work, arg, err);
}

struct failure_report {
    const char *id;
    const struct error *why;
};

static int report_body(struct work *work, void *arg, struct error *err) {
    const struct failure_report *failure_report = arg;

    return reconcile_report_failure(work, failure_report->id, failure_report->why, err);
}

/* Errors in the documents are reported to their owners, other errors are logged. */
static void report_failure(struct controller *controller, const char *id, const struct error *why) {
    autoarena struct arena *arena = arena_new();
    struct work base = work_own(controller->settings.settings, arena);
    struct failure_report failure_report = { id, why };
    static struct log_limit waits = LOG_LIMIT;
    struct error err;
    unsigned others;

    if ((why->kind == ERROR_TOO_LARGE || why->kind == ERROR_OVER_QUOTA ||
         why->kind == ERROR_BAD_REQUEST) &&
        work_transaction(controller->settings.db, &base, report_body, &failure_report, &err) == 0)
        return;
    if (log_limit_allows(&waits, id, clock_monotonic_us(), &others))
        log_warning(NULL, "declared volume reconciliation failed, retrying", "config", id, "error",
                    why->message, "others", LOG_INT(others), NULL);
}

/* Evaluates in a read transaction first: most changes require no write. */
static void work_on(struct controller *controller, const char *id) {
    autoarena struct arena *arena = arena_new();
    struct work base = work_own(controller->settings.settings, arena);
    struct db *db = controller->settings.db;
    char copy[UUID_SIZE]; /* the queue may be reallocated */
    struct evaluation evaluation = { .id = copy };
    struct error err;
    int result;

    snprintf(copy, sizeof copy, "%s", id);
    result = work_read(db, &base, evaluate_body, &evaluation, &err);
    note_evaluation(controller, &evaluation, result);
    if (result == RECONCILE_WRITES)
        result = work_transaction(db, &base, config_body, copy, &err);
    if (result == RECONCILE_SETTLED) {
        retries_forget(controller->retries, copy);
        return;
    }
    if (result < 0)
        report_failure(controller, copy, &err);
    retries_fail(controller->retries, copy, controller_now_us(controller));
}

/* ---- changed configs ---- */

struct change_call {
    int64_t version;
    struct changes changes;
};

static int changes_body(struct work *work, void *arg, struct error *err) {
    struct change_call *call = arg;

    return changes_read(work, call->version, &call->changes, err);
}

/* Writes made here change documents, too: the next round finds nothing to do in them. */
static int follow_changes(struct controller *controller, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    struct change_call call = { .version = controller->seen };

    if (work_read(controller->settings.db, &base, changes_body, &call, err) < 0)
        return -1;
    for (unsigned i = 0; i < call.changes.waiting_count; i++)
        retries_requeue(controller->retries, call.changes.waiting[i],
                        controller_now_us(controller));
    for (unsigned i = 0; i < call.changes.count; i++)
        work_on(controller, call.changes.configs[i]);
    if (call.changes.version < controller->seen) { /* restored, or another server */
        settled_clear(controller->settled);
        controller->walk_us = controller_now_us(controller);
    }
    if (call.changes.draining >= 0 && call.changes.draining != controller->draining)
        controller->knows_pools = false;
    controller->seen = call.changes.version;
    controller->busy = call.changes.count > 0;
    return 0;
}

/* ---- all configs ---- */

struct walk {
    struct controller *controller;
    int64_t version;
    const char **todo;
    unsigned count;
    int read;
};

/* On one snapshot: the next configs, and of these those with something to do. */
static int walk_body(struct work *work, void *arg, struct error *err) {
    struct walk *walk = arg;
    struct controller *controller = walk->controller;
    autoarena struct arena *arena = arena_new();
    struct work config_work = *work;
    struct changes_config *configs;

    walk->count = 0;
    walk->read = changes_walk(work, controller->walk_version, controller->walk_last, WALK_MOST,
                              &configs, err);
    walk->todo = arena_alloc(work->arena, WALK_MOST * sizeof *walk->todo);
    config_work.arena = arena;
    for (int i = 0; i < walk->read; i++) {
        struct evaluation evaluation = { .id = configs[i].id };
        int64_t version = configs[i].version;
        bool is_settled = settled_meet(controller->settled, version, controller->walks);
        bool is_due = (version + controller->walks) % SETTLED_EACH == 0;
        int result;

        walk->version = version;
        if ((is_settled && !is_due) ||
            retries_waits(controller->retries, evaluation.id, controller_now_us(controller)))
            continue;
        result = evaluate_body(&config_work, &evaluation, err);
        note_evaluation(controller, &evaluation, result);
        if (result < 0 || result == RECONCILE_WRITES)
            walk->todo[walk->count++] = evaluation.id;
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
    if (walk.read < WALK_MOST)
        settled_prune(controller->settled, controller->walk_last, controller->walks);
    controller->walk_version = walk.read < WALK_MOST ? controller->walk_last : walk.version;
    return 0;
}

static int version_body(struct work *work, void *arg, struct error *err) {
    return document_last_version(work, arg, err);
}

/* Later changes are found by their version; the rest by the walk. */
static int begin_walk(struct controller *controller, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    int64_t version;
    bool changed;

    if (work_read(controller->settings.db, &base, version_body, &version, err) < 0 ||
        controller_unsettle(controller, true, &changed, err) < 0)
        return -1;
    if (!controller->began)
        controller->seen = version;
    controller->began = true;
    controller->walks++;
    controller->walk_version = 0;
    controller->walk_last = version;
    controller->walk_us = controller_now_us(controller) + controller->settings.resync_s * SECOND_US;
    return 0;
}

/* ---- a round ---- */

static int round_run(struct controller *controller, struct error *err) {
    char slot[UUID_SIZE];
    int64_t due_us;
    const char *id;
    int found;

    if (controller_now_us(controller) >= controller->walk_us && !is_walking(controller) &&
        begin_walk(controller, err) < 0)
        return -1;
    if (follow_changes(controller, err) < 0 || controller_read_pools(controller, err) < 0)
        return -1;
    while ((found = controller_next_for_slot(controller, slot, err)) > 0)
        work_on(controller, slot);
    if (found < 0)
        return -1;
    due_us = controller_now_us(controller);
    for (unsigned i = 0; i < RETRY_MOST && (id = retries_due(controller->retries, due_us)); i++)
        work_on(controller, id);
    return is_walking(controller) ? walk_on(controller, err) : 0;
}

static int64_t pause_ms(const struct controller *controller) {
    int64_t now = controller_now_us(controller), next = retries_next_us(controller->retries);
    bool awaits_tools = controller->seen == 0 && controller->settings.settings->one_process;
    int64_t pause = awaits_tools ? EMPTY_MS : POLL_MS;

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
        /* The next connection may reach another server, which lacks the last changes. */
        settled_clear(controller->settled);
        if (!controller->failing)
            log_warning(NULL, "reconciliation of declared volumes paused, database unavailable",
                        "error", err.message, NULL);
        controller->failing = true;
        return FAILED_MS;
    }
    if (controller->failing)
        log_info(NULL, "reconciliation of declared volumes resumed", NULL);
    controller->failing = false;
    return pause_ms(controller);
}

static int64_t tick(void *arg) {
    return controller_tick(arg);
}

/* ---- start and stop ---- */

struct controller *controller_new(const struct controller_settings *settings) {
    struct controller *controller = heap_new(sizeof *controller);

    controller->settings = *settings;
    controller->arena = arena_new();
    controller->retries = retries_new();
    controller->settled = settled_new();
    controller->pool_changes = pool_changes_new();
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
    settled_free(controller->settled);
    pool_changes_free(controller->pool_changes);
    arena_free(controller->arena);
    free(controller);
}
