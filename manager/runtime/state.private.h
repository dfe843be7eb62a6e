/*
 * Shared state of a manager, and the lock that guards it.
 */
#pragma once

#include "manager/runtime/known.h"
#include "manager/runtime/settings.h"

#include <pthread.h>
#include <sys/queue.h>

/* The two queues of a backend, each with its own workers: for operations that move much data, and
 * for all others. */
enum { LANE_SHORT, LANE_LONG, LANES };

struct manager_lane {
    struct manager_host *host;
    bool is_long;
    char *topic;

    /* Guarded by the manager's lock: */
    unsigned busy;        /* workers with a message of it */
    uint64_t left;        /* number of finished ones, and */
    uint64_t left_before; /* at the last call of lane_load() */
    int64_t heard_at;     /* the steady clock: last arrival or end of a message, or the start */
    unsigned taken;       /* of taken.h, until their work has ended */
    unsigned overtaking;  /* messages sent past the queue that have not arrived */
    int64_t looked_at;    /* and when lane_misses_messages() was last true, or the start */
    int64_t overtook_at;  /* and the last check by overtake() */
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
    bool late;            /* the start has continued without it */
    bool reclaims;        /* a reclamation is running */
};

/* An operation in progress in a thread of this process: its lease is renewed. */
struct running {
    const char *operation_id;
    /* manager->lock; steady: until then no other worker starts it.  0: not claimed yet, or lost to
     * another. */
    int64_t safe_until_us;
    /* The same lock, once claimed; the texts are valid until it leaves. */
    const char *kind, *volume_id;
    int64_t begun_us; /* steady */
    int percent;      /* -1: unknown */
    struct running *next;
};

struct manager {
    struct manager_settings settings;
    pthread_mutex_t lock;   /* guards running, taken, draining, round_us and parts of the hosts */
    pthread_cond_t changed; /* draining, or a backend is open */
    pthread_mutex_t
        sending; /* held while `settings.rpc` is used, which is gone soon after draining */
    struct running *running;
    TAILQ_HEAD(taken_list, taken) taken; /* committed, and not begun yet; oldest first */
    bool draining;
    int64_t round_us;           /* monotonic: end of the last round */
    struct manager_host *hosts; /* one for each backend */
    unsigned host_count;
    struct ticker *ticker;           /* NULL without threads */
    int64_t reported_at, expired_at; /* by the ticker thread; steady */
    bool rests;                      /* the same: its last round found no operation */
    int64_t recount_at;              /* the same; 0: not known yet */
    int64_t started_at;              /* of the database's clock */
    char *unserved;                  /* of unserved.c: hosts that were logged */
};

/* It stops: nothing starts, and interruptible work ends. */
static inline bool manager_is_draining(struct manager *manager) {
    bool draining;

    pthread_mutex_lock(&manager->lock);
    draining = manager->draining;
    pthread_mutex_unlock(&manager->lock);
    return draining;
}
