/*
 * The jobs on snapshots below guests, as they know of each other (compute/assist_job.h).
 */
#pragma once

#include "common/log.h"
#include "common/worker.h"
#include "compute/assist_job.h"
#include "compute/round.h"
#include "compute/together.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#define REQUEST_ID_ROOM 64

enum verdict { VERDICT_NONE, VERDICT_DONE, VERDICT_FAILED };

struct assist_job {
    LIST_ENTRY(assist_job) next; /* assists->lock */
    struct assists *assists;
    char volume_id[UUID_SIZE], snapshot_id[UUID_SIZE];
    char instance_uuid[UUID_SIZE]; /* "": any */
    char request_id[REQUEST_ID_ROOM];
    struct overlay_change change;
    struct together together;
    struct log_context log; /* request_id: the same, or NULL */
    struct work_item item;
    /* assists->lock guards these. */
    bool again;   /* it was asked for again */
    bool carried; /* another job is at it for this one just now */
    bool over;    /* it has failed, and says so */

    /* The round's alone: rounds of a job never overlap. */
    enum verdict verdict; /* of this round: a report that did not get through is not sent again
                             without another look */
    bool begun;           /* the job on the disk is, or was, ours */
    unsigned vanished;    /* looks since it was seen last */
    struct round_pace pace;
    unsigned percent, told; /* how far it is, and what was reported of it */
    int64_t told_us;        /* when; 0: never */
};

LIST_HEAD(assist_jobs, assist_job);

struct assists {
    struct assist_settings settings;
    pthread_mutex_t lock; /* guards the list, its count, what jobs say of it */
    struct assist_jobs jobs;
    unsigned count;
};

/* With the lock. */
struct assist_job *assist_find(struct assists *assists, const char *snapshot_id);

/*
 * Those that go together with the job, for it alone until assist_let_others_go(): `ret` has room
 * for them, all that is in them is of the arena.  How many there are; fewer than there should be
 * when one was not asked for, or has failed.
 */
unsigned assist_carry_others(struct assist_job *job, struct arena *arena, struct together_one *ret);
void assist_let_others_go(struct assist_job *job);
/* Not while another job is at it: then what that has done has to be seen first. */
bool assist_may_fail(struct assist_job *job);

/* A round of the job; `arg` is it. */
void assist_run(void *arg);
/* The job is through, and gone. False: it was asked for again meanwhile. */
bool assist_end(struct assist_job *job);
