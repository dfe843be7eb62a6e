/*
 * The snapshot jobs and their shared list (compute/jobs/assist_job.h).
 */
#pragma once

#include "common/log.h"
#include "common/worker.h"
#include "compute/jobs/assist_job.h"
#include "compute/jobs/round.h"
#include "compute/jobs/snapshot_set.h"

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
    struct snapshot_set set;
    struct log_context log; /* request_id: the same, or NULL */
    struct work_item item;
    /* guarded by assists->lock: */
    bool again;    /* requested again */
    bool included; /* included in the change of another job at the moment */
    bool failed;   /* failed, and reports so */

    /* used by the job's rounds only, which never overlap: */
    enum verdict verdict; /* of this round: a report that failed is not repeated without a new
                           * check */
    bool begun;           /* this job has started the block job */
    unsigned vanished;    /* checks since the block job was last seen */
    struct round_pace pace;
    unsigned percent, reported; /* progress, and the last reported progress */
    int64_t reported_us;        /* time of that report; 0: none */
};

LIST_HEAD(assist_jobs, assist_job);

struct assists {
    struct assist_settings settings;
    pthread_mutex_t lock; /* guards the list, its count and the jobs' shared fields */
    struct assist_jobs jobs;
    unsigned count;
};

/* The caller holds the lock. */
struct assist_job *assist_find(struct assists *assists, const char *snapshot_id);

/*
 * Includes the other jobs of the set in the change of `job`, until assist_release_others(): `ret`
 * has space for them, and their data is in the arena.  Returns their number; fewer than the set has
 * when one is not requested yet or has failed.
 */
unsigned assist_include_others(struct assist_job *job, struct arena *arena,
                               struct snapshot_member *ret);
void assist_release_others(struct assist_job *job);
/* False while another job includes this one: the result of that change has to be checked first. */
bool assist_may_fail(struct assist_job *job);

/* A round of the job `arg`. */
void assist_run(void *arg);
/* Ends and frees the job.  False: it was requested again meanwhile. */
bool assist_end(struct assist_job *job);
