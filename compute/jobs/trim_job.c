#include "compute/jobs/trim_job.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/worker.h"
#include "compute/jobs/round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define JOBS_MOST       1024 /* bounds the memory used by requests */
#define REQUEST_ID_ROOM 64
#define PROJECT_ID_ROOM 256
#define REPORT_IDLE     10 /* between two progress reports, in first pauses */
#define PERCENT_TRIMS   50 /* the guest reports no progress */

struct trim_job {
    LIST_ENTRY(trim_job) next; /* trims->lock */
    struct trims *trims;
    char id[UUID_SIZE], volume_id[UUID_SIZE], instance_uuid[UUID_SIZE];
    char request_id[REQUEST_ID_ROOM];
    struct log_context log; /* request_id: the same, or NULL */
    struct work_item item;

    /* used by the job's rounds only, which never overlap: */
    struct disk disk;                 /* as checked; DISK_NOT_HERE before */
    char project_id[PROJECT_ID_ROOM]; /* "": unknown */
    bool project_queried;
    bool ended;
    struct error failure; /* after the end; ERROR_NONE: the guest has trimmed */
    struct round_pace pace;
    unsigned percent;
    int64_t reported_us; /* last accepted progress report; 0: none */
};

LIST_HEAD(trim_jobs, trim_job);

struct trims {
    struct trim_settings settings;
    pthread_mutex_t lock; /* guards the list and its count */
    struct trim_jobs jobs;
    unsigned count;
};

/* ---- reports to the volume API ---- */

static struct reclaim_said report_of(const struct trim_job *job) {
    enum error_kind kind = job->failure.kind;

    if (!job->ended)
        return (struct reclaim_said){ .status = "running", .progress = job->percent };
    if (kind == ERROR_NONE)
        return (struct reclaim_said){ .status = "done" };
    return (struct reclaim_said){ .status = "error",
                                  .reason = kind == ERROR_BAD_REQUEST ? "unsupported"
                                            : kind == ERROR_CONFLICT  ? "busy"
                                                                      : "failed",
                                  .message = job->failure.message };
}

/* ROUND_WAITS: the report was accepted, the trim is still awaited. */
static enum round_end report_status(struct trim_job *job, struct arena *arena) {
    const struct reclaim_said report = report_of(job);
    struct error err = { 0 };
    enum complete_outcome outcome =
        volumes_report_reclaim(&job->trims->settings.api, arena, job->volume_id, job->id,
                               job->log.request_id, &report, &err);

    if (outcome == COMPLETE_TAKEN) {
        job->pace.tries = 0;
        job->reported_us = clock_monotonic_us();
        return job->ended ? ROUND_ENDED : ROUND_WAITS;
    }
    log_event(outcome == COMPLETE_REFUSED    ? LOG_ERROR
              : outcome == COMPLETE_UNWANTED ? LOG_INFO
                                             : LOG_WARNING,
              &job->log,
              outcome == COMPLETE_UNWANTED ? "trim is no longer awaited by the volume API"
                                           : "trim status cannot be reported",
              "volume_id", job->volume_id, "reason", err.message, NULL);
    if (outcome == COMPLETE_UNWANTED)
        return ROUND_ENDED;
    return outcome == COMPLETE_REFUSED ? ROUND_RETRIES_SLOWLY : ROUND_RETRIES;
}

/* ---- the trim ---- */

int trim_check_disk(struct hypervisor *hypervisor, struct arena *arena, const struct trim *trim,
                    struct disk *ret, struct error *err) {
    struct disk disk = { .state = DISK_NOT_HERE };

    if (hypervisor->find_disk(hypervisor, arena, trim->instance_uuid, trim->volume_id, &disk, err) <
        0)
        return -1;
    if (disk.state == DISK_NOT_HERE)
        return error_set(err, ERROR_CONFLICT,
                         "The volume is not a disk of an instance of this host.");
    if (disk.state == DISK_OFF)
        return error_set(
            err, ERROR_CONFLICT,
            "The instance is not running: the free space of its file systems is unknown.");
    if (disk.read_only)
        return error_set(err, ERROR_BAD_REQUEST, "The instance's disk is read-only.");
    if (!disk.discards)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The disk has no discard='unmap': discards of its guest free no space.");
    if (disk.moving)
        return error_set(err, ERROR_CONFLICT, "The instance is being migrated.");
    *ret = disk;
    return 0;
}

static enum round_end end_with(struct trim_job *job, const struct error *failure) {
    job->ended = true;
    if (failure)
        job->failure = *failure;
    if (failure)
        log_error(&job->log, "guest trim failed", "volume_id", job->volume_id, "instance_uuid",
                  job->instance_uuid, "reason", failure->message, NULL);
    else
        log_info(&job->log, "guest trim completed", "volume_id", job->volume_id, "instance_uuid",
                 job->instance_uuid, NULL);
    return ROUND_REPORTS;
}

/* The waits for another trim of the guest and an unresponsive hypervisor have timeouts. */
static enum round_end wait_or_end(struct trim_job *job, const struct error *why) {
    const struct trim_settings *settings = &job->trims->settings;
    bool waits = why->kind == ERROR_CONFLICT || why->kind == ERROR_UNAVAILABLE;

    if (waits &&
        round_may_wait(&job->pace, why->kind,
                       why->kind == ERROR_CONFLICT ? settings->busy_ms : settings->unreachable_ms))
        return ROUND_WAITS;
    return end_with(job, why);
}

/* Slots are shared by project.  Volumes of unknown projects share as one. */
static void read_project(struct trim_job *job, struct arena *arena) {
    struct remote_volume volume;
    struct error err = { 0 };

    if (job->project_queried)
        return;
    job->project_queried = true;
    if (volumes_read(&job->trims->settings.api, arena, job->volume_id, job->log.request_id, &volume,
                     &err) == 0 &&
        volume.project_id)
        snprintf(job->project_id, sizeof(job->project_id), "%s", volume.project_id);
    else
        log_warning(&job->log, "project of a volume is unknown", "volume_id", job->volume_id,
                    "reason", err.message, NULL);
}

static enum round_end follow(struct trim_job *job, struct arena *arena) {
    struct hypervisor *hypervisor = job->trims->settings.hypervisor;
    const struct trim trim = { .id = job->id,
                               .volume_id = job->volume_id,
                               .instance_uuid = job->instance_uuid };
    int64_t idle_us = job->trims->settings.retry_ms * 1000 * REPORT_IDLE;
    enum round_end reported = ROUND_WAITS;
    struct error err = { 0 };
    int more;

    /* verifies that the trim is still awaited: before it starts, and periodically */
    if (job->reported_us == 0 || clock_monotonic_us() - job->reported_us >= idle_us)
        reported = report_status(job, arena);
    if (reported != ROUND_WAITS)
        return reported;
    if (job->disk.state == DISK_NOT_HERE &&
        trim_check_disk(hypervisor, arena, &trim, &job->disk, &err) < 0)
        return wait_or_end(job, &err);
    read_project(job, arena);
    more = hypervisor->trim_disk(hypervisor, arena, &job->disk,
                                 &(struct disk_trim){ job->id, job->project_id }, &err);
    if (more < 0)
        return wait_or_end(job, &err);
    if (more == 0)
        return end_with(job, NULL);
    /* A started trim may still turn out as unsupported: the failure is reported later. */
    job->percent = PERCENT_TRIMS;
    return ROUND_WAITS;
}

/* ---- rounds ---- */

static void run_job(void *arg) {
    struct trim_job *job = arg;
    struct trims *trims = job->trims;
    autoarena struct arena *arena = arena_new();
    enum round_end end = job->ended ? ROUND_REPORTS : follow(job, arena);

    if (end == ROUND_REPORTS)
        end = report_status(job, arena);
    if (end != ROUND_ENDED) {
        worker_pool_put_later(trims->settings.pool, &job->item,
                              round_pause_ms(&job->pace, end, trims->settings.retry_ms));
        return;
    }
    pthread_mutex_lock(&trims->lock);
    LIST_REMOVE(job, next);
    trims->count--;
    pthread_mutex_unlock(&trims->lock);
    free(job);
}

struct trims *trims_new(const struct trim_settings *settings) {
    struct trims *trims = heap_new(sizeof(*trims));

    trims->settings = *settings;
    pthread_mutex_init(&trims->lock, NULL);
    LIST_INIT(&trims->jobs);
    return trims;
}

static struct trim_job *new_job(struct trims *trims, const struct trim *trim) {
    struct trim_job *job = heap_new(sizeof(*job));

    job->trims = trims;
    snprintf(job->id, sizeof(job->id), "%s", trim->id);
    snprintf(job->volume_id, sizeof(job->volume_id), "%s", trim->volume_id);
    snprintf(job->instance_uuid, sizeof(job->instance_uuid), "%s", trim->instance_uuid);
    snprintf(job->request_id, sizeof(job->request_id), "%s",
             trim->request_id ? trim->request_id : "");
    job->log.request_id = job->request_id[0] ? job->request_id : NULL;
    job->item = (struct work_item){ .key = job->volume_id, .run = run_job, .arg = job };
    LIST_INSERT_HEAD(&trims->jobs, job, next);
    trims->count++;
    return job;
}

int trims_put(struct trims *trims, const struct trim *trim, struct error *err) {
    struct trim_job *job, *fresh = NULL;
    bool known = false;

    pthread_mutex_lock(&trims->lock);
    LIST_FOREACH(job, &trims->jobs, next) {
        known |= strcmp(job->id, trim->id) == 0;
    }
    if (!known && trims->count < JOBS_MOST)
        fresh = new_job(trims, trim);
    pthread_mutex_unlock(&trims->lock);
    if (fresh)
        worker_pool_put(trims->settings.pool, &fresh->item);
    return known || fresh ? 0
                          : error_set(err, ERROR_UNAVAILABLE,
                                      "%d trims are already being processed", JOBS_MOST);
}

unsigned trims_open(struct trims *trims) {
    scoped_lock(&trims->lock);
    return trims->count;
}

void trims_free(struct trims *trims) {
    struct trim_job *job;

    while ((job = LIST_FIRST(&trims->jobs))) {
        LIST_REMOVE(job, next);
        free(job);
    }
    pthread_mutex_destroy(&trims->lock);
    free(trims);
}
