/*
 * A keeper from inside: keeper.c has its thread and what it is told, keeper_work.c does what its
 * assignment says, keeper_mend.c sees to the replicas of a volume that is served, keeper_scrub.c
 * compares them, keeper_gates.c lets other hosts in, keeper_hang.c sees to pools that do not answer,
 * keeper_revert.c puts a volume back, keeper_salvage.c makes it of one replica, keeper_report.c
 * reports it; what follows on what is controller_states.c's.
 */
#pragma once

#include "common/backoff.h"
#include "replication/engine/replica_access.h"
#include "replication/node/controller_states.h"
#include "replication/node/forced_recovery.h"
#include "replication/node/gates.h"
#include "replication/node/keeper.h"
#include "replication/node/pool_calls.h"
#include "replication/node/rebuild_failures.h"

#define SCRUB_TIME_SIZE 24

struct keeper {
    const struct keeper_settings *settings;
    char uid[UUID_SIZE];
    pthread_t thread;
    int news_fd;             /* readable: there is something below */
    pthread_mutex_t lock;    /* guards what follows */
    struct assignment *news; /* held; NULL: none */
    bool ends, unnamed;
    unsigned state; /* enum controller_state; its own thread reads it without the lock */
    /* The thread's own: */
    struct arena *arena;
    const char *run;
    struct assignment *assignment, *opened; /* what the target was opened with; held */
    struct pool_calls *calls;               /* to pools of this node, */
    struct replica_access here;             /* and the target's */
    struct target *target;
    bool hangs[REPLICAS_MOST];   /* the pools of its assignment, as far as was seen last */
    unsigned waits;              /* of those so many voters, whom its clients wait for */
    unsigned ports[GATES_MOST];  /* of its assignment's clients; 0: not let in */
    bool elsewhere;              /* replicas are reached otherwise from its next start on */
    struct target_status status; /* what it names is the target's */
    const char *phase;
    int64_t generation; /* that has been made true */
    struct error trouble;
    struct backoff backoff; /* nothing is opened and started before it is due */
    unsigned work;          /* enum replica_work_state */
    struct rebuild_failures rebuild_failures;
    int64_t scrub_us;                    /* no scrub before that */
    struct target_scrub scrub, scrubbed; /* that goes on, and the last that ended, */
    unsigned resyncs;                    /* of the target, when the one that goes on began */
    char scrubbed_at[SCRUB_TIME_SIZE];   /* then; "": none has */
    char snapshot[UUID_SIZE];            /* that is being taken, or was last */
    struct error snapshot_trouble;
    struct backoff snapshot_backoff; /* none is taken before it is due */
    unsigned revert;                 /* enum node_revert_state, of the target */
    int64_t attempt;                 /* at a revert, in the document's count; 0: none yet */
    struct {
        int64_t number;
        unsigned state;     /* enum forced_state */
        const char *reason; /* NULL: none */
        struct error why;
    } recovery; /* what has become of the one that was wanted last */
};

/* Changes its state; NULL: the table has no row for that event. */
const struct state_row *keeper_take(struct keeper *keeper, enum controller_event event);
/* One step towards what the assignment says; how long to wait until the next, at most. */
int64_t keeper_work(struct keeper *keeper);
/* Lets the target go as it is. */
void keeper_let_go(struct keeper *keeper);
bool keeper_is_wanted(const struct keeper *keeper);
/* Reports how its volume is. */
void keeper_report(struct keeper *keeper);

/* 0: its pools answer, or it does without those that do not; -1: nothing is to be touched. */
int keeper_heed_pools(struct keeper *keeper, struct error *err);
/* The same of calls since: -1: one was left, and nothing more is to be touched in this step. */
int keeper_heed_calls(const struct keeper *keeper, struct error *err);
/* The same of what a daemon may serve that is about to be found again. */
int keeper_look_before(struct keeper *keeper, struct error *err);

bool keeper_is_remote(const struct keeper *keeper, unsigned i);
/* The i-th of its assignment, as this node reaches it. */
struct replica keeper_replica(const struct keeper *keeper, unsigned i);

/* How its target is; its state is then that of a target that serves, or does not. */
void keeper_look(struct keeper *keeper);
/* The next step of rebuilding, repairing, adding or removing a replica: one at a time, and within
 * the limit of the node (`rebuilds`). */
void keeper_mend(struct keeper *keeper);
/* The next step of comparing them, if that is due; `soon`, or an interval from now on. */
void keeper_scrub(struct keeper *keeper);
void keeper_scrub_soon(struct keeper *keeper);
void keeper_scrub_later(struct keeper *keeper);
/* Blocks without a majority, which are refused to clients, as the last comparison found them. */
int64_t keeper_undecided(const struct keeper *keeper);
/* It makes room for others, and goes on when it can. */
void keeper_scrub_end(struct keeper *keeper);
/* The next snapshot that is wanted and that no replica holds. */
void keeper_snap(struct keeper *keeper);
/* 0: none is being taken that is wanted no more; 1: one ends, come again. */
int keeper_give_up_snapshot(struct keeper *keeper, struct error *err);
/* The next step of the revert that is wanted; 1: it goes on.  `outcome`: of the look before. */
int keeper_revert(struct keeper *keeper, int outcome, struct error *err);
void keeper_forget_revert(struct keeper *keeper); /* with its target */
/* A replica is to be believed, and that does not stand yet: nobody is let in. */
bool keeper_weighs(const struct keeper *keeper);
/* Finds out whether it can be; -1: it is told. */
int keeper_weigh(struct keeper *keeper, struct error *err);
/* What has become of it is known. */
bool keeper_is_judged(const struct keeper *keeper);
/* Of one that serves: a voter that it needs has failed, and nothing was told of the word. */
bool keeper_has_to_weigh(const struct keeper *keeper);
/* With its target. */
void keeper_forget_judgement(struct keeper *keeper);
/* It serves: so the replica need not be believed, or it is. */
void keeper_judge_served(struct keeper *keeper);
/* Those that are wanted, for the status; the caller's. */
json_t *keeper_snapshots_json(const struct keeper *keeper);
/* The daemon copies something. */
bool keeper_has_job(const struct keeper *keeper);

/* ---- keeper_jobs.c ---- */

/* Changes what is copied or compared. */
void keeper_take_work(struct keeper *keeper, enum replica_work_event event);
/* A rebuild or snapshot that the daemon has ended is noted, before another one begins. */
void keeper_end_jobs(struct keeper *keeper);
void keeper_end_rebuild(struct keeper *keeper);
void keeper_end_snapshot(struct keeper *keeper);

/* ---- keeper_gates.c ---- */

/* Of one that serves: those hosts are let in that its assignment names, and no others. */
int keeper_open_gates(struct keeper *keeper, struct error *err);
int keeper_shut_gates(struct keeper *keeper, struct error *err); /* until it serves again */
int keeper_end_gates(struct keeper *keeper, struct error *err);
