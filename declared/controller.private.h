/*
 * The controller: its thread, and its work on pools (controller_pools.c).
 */
#pragma once

#include "declared/controller.h"

#include "declared/pool_changes.h"
#include "declared/retries.h"
#include "declared/settled.h"

#define WAITING_MOST 64

/* Configs with a replica to be replaced as soon as fewer replicas are being copied. */
struct waiting {
    char ids[WAITING_MOST][UUID_SIZE];
    unsigned count;
    bool has_more; /* a walk found more than these */
};

struct controller {
    struct controller_settings settings;
    struct ticker *ticker; /* NULL: no thread */

    /* Used by the thread alone. */
    struct arena *arena; /* of one config, or of a list of them */
    struct retries *retries;
    struct settled *settled;
    struct pool_changes *pool_changes;
    struct waiting waiting;
    bool began, busy, failing, knows_pools;
    int64_t seen; /* all changes up to this version are processed */
    /* the walk over all configs: its position, its end, the start of the next */
    int64_t walk_version, walk_last, walk_us;
    unsigned walks;   /* number of walks begun */
    int64_t draining; /* number of draining pools, as last read */
    int64_t free_gib; /* of all pools, when failed configs were last requeued */
    int64_t space_us; /* before this time a small increase of free space requeues nothing */
    int64_t pools_us; /* when the pools were last read */
};

static inline int64_t controller_now_us(const struct controller *controller) {
    return clock_steady_us(controller->settings.settings->clock);
}

/* Marks configs of changed pools as not settled; *ret: there are changed pools. `all`: regardless
 * of their rate. */
int controller_unsettle(struct controller *controller, bool all, bool *ret, struct error *err);
/* Reads the pools when it is time. */
int controller_read_pools(struct controller *controller, struct error *err);

/* A replica of it is to be replaced when fewer are being copied. */
void controller_wait_for_slot(struct controller *controller, const char *id);
/* 1 with the next waiting config while fewer replicas are being copied than permitted, or 0. */
int controller_next_for_slot(struct controller *controller, char ret[static UUID_SIZE],
                             struct error *err);
