/*
 * What the parts of a manager share, and the lock that guards it.
 */
#pragma once

#include "manager/known.h"
#include "manager/settings.h"

#include <pthread.h>

/* The two queues of a backend, each with workers of its own: for operations that move much data,
 * and for all others. */
enum { LANE_SHORT, LANE_LONG, LANES };

struct manager_lane {
    struct manager_host *host;
    bool is_long;
    char *topic;

    /* Guarded by the manager's lock: */
    unsigned busy;        /* workers that have a message of it in their hands */
    uint64_t left;        /* how often one was done with it, and */
    uint64_t left_before; /* at the last call of lane_load() */
    int64_t heard_at;     /* the steady clock: when the last message came, or one was done with, or
                           * the start */
    unsigned overtaking;  /* messages that were sent past the queue and have not arrived */
    int64_t looked_at;    /* and when lane_misses_messages() was last true, or the start */
    int64_t overtook_at;  /* and when overtake() last looked */
};

struct manager_host {
    struct manager *manager;
    struct manager_backend backend;
    struct known known;
    char *host; /* node@backend */
    struct manager_lane lanes[LANES];
    struct ticker *ticker; /* NULL: no thread */
    bool opened_here;      /* by `ticker`; closed at the end */

    /* Guarded by the manager's lock: */
    bool open;
    struct error failure; /* of the last attempt to open it */
    bool late;            /* the start has gone on without it */
    bool reclaims;        /* a volume gives back room */
};

/* An operation that a thread of this process has in its hands: its lease is kept alive. */
struct running {
    const char *operation_id;
    /* manager->lock; steady: until then no other worker begins with it.  0: it is not claimed yet,
     * or another's by now. */
    int64_t safe_until_us;
    /* The same lock, of one that is claimed; what the texts are in lives until it leaves. */
    const char *kind, *volume_id;
    int64_t begun_us; /* steady */
    int percent;      /* -1: not known */
    struct running *next;
};

struct manager {
    struct manager_settings settings;
    pthread_mutex_t lock;   /* guards running, draining, round_us and parts of the hosts */
    pthread_cond_t changed; /* draining, or a backend is open */
    pthread_mutex_t
        sending; /* held by who uses `settings.rpc`, which is gone soon after draining */
    struct running *running;
    bool draining;
    int64_t round_us;           /* monotonic: when the last round ended */
    struct manager_host *hosts; /* one for each backend */
    unsigned host_count;
    struct ticker *ticker;           /* NULL when nothing runs by itself */
    int64_t reported_at, expired_at; /* by the thread that ticks; steady */
    int64_t recount_at;              /* the same; 0: not known yet */
    int64_t started_at;              /* of the database's clock */
    char *unserved;                  /* of unserved.c: hosts that were logged */
};

/* It ends: nothing new begins, and what may end anywhere does. */
static inline bool manager_is_draining(struct manager *manager) {
    bool draining;

    pthread_mutex_lock(&manager->lock);
    draining = manager->draining;
    pthread_mutex_unlock(&manager->lock);
    return draining;
}
