/*
 * The whole service in one process and one thread: API, manager, in-process rpc, SQLite in memory,
 * memory driver, a compute side with scripted responses, a clock that the test moves.  Nothing
 * happens by itself: world_settle() delivers messages until none is left, world_advance() lets time
 * pass and the periodic work run.  A world is made from a seed, so a run repeats.
 */
#pragma once

#include "client/compute_events.h"
#include "common/clock.h"
#include "db/db.h"
#include "drivers/driver.h"
#include "drivers/fault.h"
#include "manager/runtime/manager.h"
#include "operation/settings.h"
#include "operation/taker.h"
#include "rest/router.h"
#include "rpc/relay.h"
#include "rpc/rpc.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define WORLD_PROJECT   "0123456789abcdef0123456789abcdef"
#define WORLD_OTHER     "fedcba9876543210fedcba9876543210"
#define WORLD_INSTANCE  "11111111-1111-4111-8111-111111111111"
#define WORLD_INSTANCE2 "22222222-2222-4222-8222-222222222222"
#define WORLD_NODE      "node"

struct world_settings {
    uint64_t seed;
    int64_t quota_volumes, quota_gigabytes, per_volume_size_limit; /* 0: 1000, 100000, -1 */
    int64_t capacity_gb;                                           /* of the backend; 0: 1000000 */
    bool at_once; /* its manager takes operations of its API's transactions (operation/taker.h) */
};

struct world_event {
    char volume_id[37];
    char instance_uuid[37];
    char host[64];
    bool wants_completion;
    char name[32]; /* "": volume-extended */
    bool failed;
};

/* The request to the host of a guest about a snapshot. */
struct world_assist {
    char snapshot_id[37];
    char host[64];
    char together[160]; /* snapshots, with a blank behind each */
    bool deletes, again;
};

/* The request to have its guest trim a volume. */
struct world_trim {
    char id[37], volume_id[37], instance_uuid[37];
    char host[64], endpoint[80];
    bool again;
};

#define WORLD_EVENTS 64

struct world {
    struct db *db;
    struct clock clock;
    int64_t now_us;        /* time that passes; the database's clock */
    int64_t wall_ahead_us; /* how far the wall's clock is ahead of it */
    uint64_t random;
    struct settings settings;
    struct operation_taker taker;
    struct rpc *rpc;
    struct relay *relay;
    struct policy *policy;
    struct api *api;
    struct manager *manager;
    void *memory; /* handle of the memory driver below the fault filter */
    struct driver filter;
    void *filter_handle;
    struct manager_backend backends[2];
    struct images *images; /* of the manager from its next start on; NULL: none */
    unsigned incarnation;
    char owner[64];

    /* The compute side: its responses to the next events, and the events that it got. */
    struct compute_sender sender;
    enum event_verdict verdict;
    struct world_event events[WORLD_EVENTS];
    unsigned event_count;
    void (*on_event)(struct world *world, const struct world_event *event);
    struct world_assist assists[WORLD_EVENTS]; /* with the same verdict */
    unsigned assist_count;
    void (*on_assist)(struct world *world, const struct world_assist *assist);
    struct world_trim trims[WORLD_EVENTS]; /* the same */
    unsigned trim_count;
    void (*on_trim)(struct world *world, const struct world_trim *trim);
    enum error_kind refusal; /* ERROR_NONE: an error that does not mean that nothing was accepted
                              * before */

    /* Death: after so many effects (commits, driver calls, events) nothing has an effect any
     * more. */
    bool counting;
    int64_t effects_left;
    bool dead;
    const char *died_at;             /* "before_commit", … */
    struct test_exchange *abandoned; /* a request that the death cut off, or one that waits */

    /* Called before each call of the driver, besides death; NULL: none. */
    struct fault_decision (*decide)(void *world, const char *call, const char *volume_id);

    /* This many commits fail from now on, as on a full disk; nothing dies. */
    unsigned hiccups;

    /* The caller of the next requests, and the answer to the last one. */
    const char *token;        /* "user:project" */
    const char *path_project; /* in the paths of the next requests: NULL the token's, "" none */
    unsigned minor;           /* microversion 3.minor; 71 at first */
    const char *extend;       /* X-Scoria-Extend of the next requests; NULL: none */
    const char *retry;        /* X-Scoria-Retry, when there is no other; NULL: none */
    const char *header, *header_value; /* when there is none of these two; NULL: none */
    char named_extend[64]; /* X-Scoria-Extend of the last answer, "" when there was none */
    bool may_wait;         /* a request that waits for a worker is answered later, in `abandoned` */
    int status;            /* 0: died before the answer, or it waits */
    json_t *answer;        /* NULL when there was no JSON */
    char answer_text[4096];
    char answer_headers[1024]; /* "name: value" in lines, but for ids of requests */
    struct arena *arena;       /* for ids the world hands out */
    unsigned notes;            /* of the last world_check() */
};

struct world *world_new(const struct world_settings *settings); /* NULL: defaults */
/* For a process that has worlds at the same time as others of its program, before its first. */
void world_beside_others(void);
/* The next world opens databases of its own, not those of its process's parent. */
void world_open_anew(void);
void world_free(struct world *world);
static inline void cleanup_world(struct world **world) {
    world_free(*world);
}
#define autoworld __attribute__((cleanup(cleanup_world)))

/* Sends a request (path behind /v3/<project>); returns the status. body NULL: none. */
int world_call(struct world *world, const char *method, const char *path, const char *body);
__attribute__((format(printf, 3, 4))) int world_action(struct world *world, const char *volume_id,
                                                       const char *format, ...);

/* The id of the object under `wrapper` in the last answer; lives as the world does; NULL: none. */
const char *world_answer_id(struct world *world, const char *wrapper);

/* Delivers everything that waits. */
void world_settle(struct world *world);
/* One message, the index-th waiting; false when there is none. */
bool world_step(struct world *world, unsigned index);
/* Publishes the rows of the outbox; how many messages wait then. */
unsigned world_relay(struct world *world);
/* Time passes, the periodic work runs once. */
void world_advance(struct world *world, int64_t seconds);
/* The wall's clock is set: no time passes. */
void world_step_wall(struct world *world, int64_t seconds);

/* The configuration of its API and its manager; the rpc engine stands out. */
struct api_settings world_api_settings(struct world *world);
struct manager_settings world_manager_settings(struct world *world);

/* From now on the n-th effect is the last one. */
void world_die_after(struct world *world, int64_t effects);
/* The process is gone and starts again (also when it is not dead yet). */
void world_restart(struct world *world);

/* A volume of size_gb that is available; its id lives as long as the world. */
const char *world_volume(struct world *world, int64_t size_gb);
/* Attaches it to an instance on the node; the guest holds the image. */
const char *world_attach(struct world *world, const char *volume_id, const char *instance);
/* GET /volumes/{id} with an admin's eyes: status text in the answer. */
const json_t *world_show(struct world *world, const char *volume_id);
const char *world_status(struct world *world, const char *volume_id);
int64_t world_size(struct world *world, const char *volume_id);
int64_t world_real_gb(struct world *world, const char *volume_id);
/* Quota of WORLD_PROJECT. */
int64_t world_in_use(struct world *world, const char *resource);
int64_t world_reserved(struct world *world, const char *resource);
int64_t world_count(struct world *world, const char *sql); /* a query of one number */
void world_sql(struct world *world, const char *sql);      /* a change by another process */
bool world_has_message(struct world *world, const char *volume_id, const char *event_id);

/* Findings of check_run(), printed to stderr; 0 is good.  Its notes are counted in `notes`. */
int world_check(struct world *world);
