/*
 * The controller's work on pools: configs of changed pools are evaluated, configs waiting for a
 * pool are retried, and replicas are replaced, a few at a time.
 */
#include "declared/controller.private.h"

#include "declared/changes.h"
#include "declared/replica_replacement.h"

#include <stdio.h>
#include <string.h>

#define POOLS_US SECOND_US        /* between two reads of the pools while some config waits, */
#define CALM_US  (5 * SECOND_US)  /* and while none does */
#define SPACE_US (10 * SECOND_US) /* between two retries after a small increase of free space */

/* Reads the pools; changed ones are noted. */
struct pools_call {
    struct controller *controller;
    int64_t free_gib, draining;
};

static int pools_body(struct work *work, void *arg, struct error *err) {
    struct pools_call *call = arg;
    struct replica_pool *pools;
    int count = replica_pool_list(work, &pools, err);

    if (count < 0)
        return -1;
    call->free_gib = call->draining = 0;
    for (int i = 0; i < count; i++) {
        call->draining += pools[i].draining;
        if (replica_pool_accepts_replicas(&pools[i]))
            call->free_gib += pools[i].free_bytes >> 30;
    }
    pool_changes_note(call->controller->pool_changes, pools, (unsigned)count);
    return 0;
}

struct pool_call {
    const struct pool_change *change;
    int64_t *versions;
};

static int configs_body(struct work *work, void *arg, struct error *err) {
    struct pool_call *call = arg;

    return changes_of_pool(work, call->change, &call->versions, err);
}

int controller_unsettle(struct controller *controller, bool all, bool *ret, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    struct pool_change change;

    *ret = false;
    while (
        pool_changes_take(controller->pool_changes, controller_now_us(controller), all, &change)) {
        struct pool_call call = { .change = &change };
        int count = work_read(controller->settings.db, &base, configs_body, &call, err);

        for (int i = 0; i < count; i++)
            settled_put(controller->settled, call.versions[i], false);
        if (count < 0) {
            settled_clear(controller->settled);
            return -1;
        }
        *ret = true;
    }
    return 0;
}

/* Failed configs become due when other pools accept replicas, or when there is more free space. */
static void requeue_waiting(struct controller *controller, int64_t free_gib, bool waits) {
    bool accepting =
        pool_changes_take_accepting(controller->pool_changes, controller_now_us(controller), waits);

    if (free_gib < controller->free_gib || !waits)
        controller->free_gib = free_gib;
    if (!accepting &&
        (free_gib <= controller->free_gib || controller_now_us(controller) < controller->space_us))
        return;
    retries_requeue_all(controller->retries, controller_now_us(controller));
    controller->free_gib = free_gib;
    controller->space_us = controller_now_us(controller) + SPACE_US;
}

/* A config waiting for a pool is retried soon after one is available; and a pool that is added,
 * removed or fails changes the state of its volumes. */
int controller_read_pools(struct controller *controller, struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    bool waits = !retries_is_empty(controller->retries), changed;
    struct pools_call call = { .controller = controller };
    bool is_first = controller->pools_us == 0;

    if (controller->knows_pools &&
        controller_now_us(controller) < controller->pools_us + (waits ? POOLS_US : CALM_US))
        return 0;
    if (work_read(controller->settings.db, &base, pools_body, &call, err) < 0 ||
        controller_unsettle(controller, is_first, &changed, err) < 0)
        return -1;
    controller->knows_pools = true;
    controller->pools_us = controller_now_us(controller);
    controller->draining = call.draining;
    if (changed && !is_first)
        controller->walk_us = controller_now_us(controller);
    requeue_waiting(controller, call.free_gib, waits && !is_first);
    return 0;
}

/* ---- pending replacements ---- */

void controller_wait_for_slot(struct controller *controller, const char *id) {
    struct waiting *waiting = &controller->waiting;

    for (unsigned i = 0; i < waiting->count; i++)
        if (strcmp(waiting->ids[i], id) == 0)
            return;
    if (waiting->count == WAITING_MOST)
        waiting->has_more = true;
    else
        snprintf(waiting->ids[waiting->count++], UUID_SIZE, "%s", id);
}

static int count_body(struct work *work, void *arg, struct error *err) {
    return replica_replacement_count(work, arg, err);
}

/* A walk finds the configs beyond the limit of the list. */
int controller_next_for_slot(struct controller *controller, char ret[static UUID_SIZE],
                             struct error *err) {
    struct work base = work_own(controller->settings.settings, controller->arena);
    struct waiting *waiting = &controller->waiting;
    int64_t copied, most = controller->settings.settings->replica_replacements_most;

    if (waiting->count == 0) {
        if (waiting->has_more)
            controller->walk_us = controller_now_us(controller);
        waiting->has_more = false;
        return 0;
    }
    if (work_read(controller->settings.db, &base, count_body, &copied, err) < 0)
        return -1;
    if (copied >= most)
        return 0;
    memcpy(ret, waiting->ids[0], UUID_SIZE);
    memmove(waiting->ids[0], waiting->ids[1], --waiting->count * UUID_SIZE);
    return 1;
}
