/*
 * The controller: its thread, and what that does about pools (controller_pools.c).
 */
#pragma once

#include "declared/controller.h"

#include "declared/pool_changes.h"
#include "declared/retries.h"
#include "declared/settled.h"

#define WAITING_MOST 64

/* Configs of which a replica is to be replaced as soon as fewer are being copied. */
struct waiting {
    char ids[WAITING_MOST][UUID_SIZE];
    unsigned count;
    bool has_more; /* a walk met more than these */
};

struct controller {
    struct controller_settings settings;
    struct ticker *ticker; /* NULL: no thread */

    /* Of the thread. */
    struct arena *arena; /* of one config, or of one list of them */
    struct retries *retries;
    struct settled *settled;
    struct pool_changes *pool_changes;
    struct waiting waiting;
    bool began, busy, failing, knows_pools;
    int64_t seen;                             /* all changes up to this number are dealt with */
    int64_t walk_version, walk_last, walk_us; /* the look at all: where it is, its end, the next */
    unsigned walks;                           /* how many have begun */
    int64_t draining;                         /* pools, when they were read last */
    int64_t free_gib; /* of all pools, when those that failed were hurried */
    int64_t space_us; /* before that a little more room hurries nobody */
    int64_t pools_us; /* when pools were looked at last */
};

static inline int64_t controller_now_us(const struct controller *controller) {
    return clock_steady_us(controller->settings.settings->clock);
}

/* One config: evaluated, and where it has work, taken further. */
void controller_work_on(struct controller *controller, const char *id);

/* Configs of pools that have changed are not settled; *ret: there are pools that have.  `all`:
 * whatever their rate. */
int controller_unsettle(struct controller *controller, bool all, bool *ret, struct error *err);
/* Reads the pools when it is time. */
int controller_read_pools(struct controller *controller, struct error *err);

/* A replica of it is to be replaced when fewer are being copied. */
void controller_wait_for_slot(struct controller *controller, const char *id);
/* The next of these, when it may. */
int controller_replace_next(struct controller *controller, struct error *err);
