#include "compute/jobs/job.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/scoria_headers.h"
#include "common/thread.h"
#include "common/worker.h"
#include "compute/jobs/resize.h"
#include "compute/jobs/round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MOST       1024 /* bounds the memory used by events */
#define REQUEST_ID_ROOM 64
#define EXTEND_ROOM     64

/* The pending report to the volume API. */
enum job_report { REPORT_NOTHING, REPORT_GROWN, REPORT_FAILED };

struct job {
    struct jobs *jobs;
    char volume_id[UUID_SIZE];
    char instance_uuid[UUID_SIZE]; /* "": any */
    char request_id[REQUEST_ID_ROOM];
    struct log_context log; /* request_id: the same, or NULL */
    struct work_item item;
    struct job *next; /* jobs->lock */
    bool again;       /* jobs->lock: another event arrived */

    /* used by the job's rounds only, which never overlap: */
    enum job_report report;
    int64_t target_gb;        /* of the report */
    char extend[EXTEND_ROOM]; /* the API's id of the extend of the report; "": unknown */
    bool unwanted;            /* the API does not await a report of that extend */
    bool reported; /* a report was accepted: the volume has no target until the service has
                    * finished */
    struct round_pace pace;
    struct disk disk; /* as last seen */
    bool expected;    /* the disk may be here although the hypervisor does not know it yet */
};

struct jobs {
    struct job_settings settings;
    struct worker_pool *pool;
    pthread_mutex_t lock; /* guards the list, its count, `again` */
    struct job *first;
    unsigned count;
};

/* The waits for a busy disk and an unresponsive hypervisor have timeouts (A6, A10). */
static bool may_wait(struct job *job, enum resize_outcome outcome) {
    const struct job_settings *settings = &job->jobs->settings;

    return round_may_wait(&job->pace, outcome,
                          outcome == RESIZE_BUSY ? settings->busy_ms : settings->unreachable_ms);
}

static enum round_end extend_volume(struct job *job, struct arena *arena, struct resize *resize) {
    struct error err = { 0 };
    enum resize_outcome outcome = resize_to_target(resize, arena, &err);
    bool grown;

    /* libvirt responds before it has loaded its domains. */
    if (outcome == RESIZE_FAILED && err.kind == ERROR_NOT_FOUND && job->expected)
        outcome = RESIZE_BUSY;
    if (resize->disk.source[0])
        job->disk = resize->disk;
    job->expected |= resize->disk.state != DISK_NOT_HERE || outcome == RESIZE_UNREACHABLE;
    if (outcome == RESIZE_NOT_OURS) {
        log_info(&job->log, "disk is on another host", "volume_id", job->volume_id, NULL);
        return ROUND_ENDED;
    }
    if ((outcome == RESIZE_BUSY || outcome == RESIZE_UNREACHABLE) &&
        (resize->disk.moving || may_wait(job, outcome)))
        return ROUND_WAITS; /* during a migration the volume's status limits the wait */
    resize->disk = job->disk;
    grown = outcome == RESIZE_DONE ||
            (outcome == RESIZE_UNREACHABLE && resize_reached_target(resize, arena));
    job->report = grown ? REPORT_GROWN : REPORT_FAILED;
    if (grown) {
        job->target_gb = resize->volume->target_gb;
        log_info(&job->log, "disk has its new size", "volume_id", job->volume_id, "instance_uuid",
                 job->disk.instance_uuid, "size_gb", LOG_INT(job->target_gb), NULL);
    } else {
        log_error(&job->log, "disk cannot be extended", "volume_id", job->volume_id,
                  "instance_uuid", job->instance_uuid, "reason", err.message, NULL);
    }
    return ROUND_REPORTS;
}

static enum round_end follow_size(struct job *job, struct arena *arena, struct resize *resize) {
    struct error err = { 0 };
    enum resize_outcome outcome = resize_to_size(resize, arena, &err);

    if ((outcome == RESIZE_BUSY || outcome == RESIZE_UNREACHABLE) && may_wait(job, outcome))
        return ROUND_WAITS;
    if (outcome != RESIZE_DONE)
        log_warning(&job->log, "disk cannot be resized to its volume's size", "volume_id",
                    job->volume_id, "reason", err.message, NULL);
    return ROUND_ENDED;
}

static enum round_end read_failed(struct job *job, const struct error *err) {
    if (err->kind == ERROR_NOT_FOUND) {
        log_warning(&job->log, "volume of an event does not exist", "volume_id", job->volume_id,
                    NULL);
        return ROUND_ENDED;
    }
    log_event(client_is_refusal(err->kind) ? LOG_ERROR : LOG_WARNING, &job->log,
              "volume cannot be read", "volume_id", job->volume_id, "reason", err->message, NULL);
    return client_is_refusal(err->kind) ? ROUND_RETRIES_SLOWLY : ROUND_RETRIES;
}

/* Is it the extend that the job read before? */
static bool is_same_extend(const struct job *job, const struct remote_volume *volume) {
    return strcmp(job->extend, volume->extend ? volume->extend : "") == 0;
}

static enum round_end follow_volume(struct job *job, struct arena *arena) {
    const struct job_settings *settings = &job->jobs->settings;
    struct resize resize = {
        .hypervisor = settings->hypervisor,
        .host = settings->host,
        .instance_uuid = job->instance_uuid[0] ? job->instance_uuid : NULL,
    };
    struct remote_volume volume;
    struct error err = { 0 };

    if (volumes_read(&settings->api, arena, job->volume_id, job->log.request_id, &volume, &err) < 0)
        return read_failed(job, &err);
    job->pace.tries = 0;
    resize.volume = &volume;
    if (strcmp(volume.status, "extending") != 0)
        return follow_size(job, arena, &resize);
    if ((job->reported || job->unwanted || job->report != REPORT_NOTHING) && !volume.has_target)
        return ROUND_ENDED; /* a report was accepted and is being processed */
    if (job->unwanted && is_same_extend(job, &volume))
        return ROUND_ENDED;
    if (job->report == REPORT_GROWN && volume.target_gb == job->target_gb &&
        is_same_extend(job, &volume))
        return ROUND_REPORTS;
    job->unwanted = false;
    /* Without a target no report is awaited yet: a report now must not end the next extend. */
    snprintf(job->extend, sizeof(job->extend), "%s",
             volume.extend       ? volume.extend
             : volume.has_target ? ""
                                 : EXTEND_NONE);
    return extend_volume(job, arena, &resize);
}

static enum round_end report(struct job *job, struct arena *arena) {
    bool failed = job->report == REPORT_FAILED;
    struct error err = { 0 };
    enum complete_outcome outcome =
        volumes_complete(&job->jobs->settings.api, arena, job->volume_id, job->log.request_id,
                         job->extend[0] ? job->extend : NULL, failed, &err);

    if (outcome == COMPLETE_UNWANTED)
        log_warning(&job->log, "extend is no longer awaited by the volume API", "volume_id",
                    job->volume_id, "reason", err.message, NULL);
    if (outcome == COMPLETE_UNWANTED && job->extend[0]) {
        job->report = REPORT_NOTHING;
        job->unwanted = true;
        return ROUND_WAITS; /* another extend may be pending: the volume is read again */
    }
    if (outcome >= 0) {
        job->reported = true;
        return ROUND_ENDED;
    }
    log_event(outcome == COMPLETE_REFUSED ? LOG_ERROR : LOG_WARNING, &job->log,
              "extend status cannot be reported", "volume_id", job->volume_id, "reason",
              err.message, NULL);
    return outcome == COMPLETE_REFUSED ? ROUND_RETRIES_SLOWLY : ROUND_RETRIES;
}

static void unlink_job(struct jobs *jobs, const struct job *job) {
    struct job **place = &jobs->first;

    while (*place != job)
        place = &(*place)->next;
    *place = job->next;
    jobs->count--;
}

static void end_job(struct job *job) {
    struct jobs *jobs = job->jobs;
    bool again;

    pthread_mutex_lock(&jobs->lock);
    again = job->again;
    job->again = false;
    if (!again)
        unlink_job(jobs, job);
    pthread_mutex_unlock(&jobs->lock);
    if (!again) {
        free(job);
        return;
    }
    job->report = REPORT_NOTHING;
    job->unwanted = false;
    job->pace = (struct round_pace){ 0 };
    worker_pool_put(jobs->pool, &job->item);
}

/*
 * A failed report is not simply repeated: the volume is read first, because meanwhile the extend
 * may have been reset and another one started, which an old report must not end.
 */
static void run_job(void *arg) {
    struct job *job = arg;
    autoarena struct arena *arena = arena_new();
    enum round_end end = follow_volume(job, arena);

    if (end == ROUND_REPORTS)
        end = report(job, arena);
    if (end == ROUND_ENDED)
        end_job(job);
    else
        worker_pool_put_later(job->jobs->pool, &job->item,
                              round_pause_ms(&job->pace, end, job->jobs->settings.retry_ms));
}

struct jobs *jobs_new(const struct job_settings *settings) {
    struct jobs *jobs = heap_new(sizeof(*jobs));

    jobs->settings = *settings;
    pthread_mutex_init(&jobs->lock, NULL);
    jobs->pool = worker_pool_new("extend", settings->workers);
    return jobs;
}

static int put(struct jobs *jobs, const char *volume_id, const char *instance_uuid,
               const char *request_id, bool resumed, struct error *err) {
    const char *instance = instance_uuid ? instance_uuid : "";
    struct job *job, *fresh = NULL;

    pthread_mutex_lock(&jobs->lock);
    job = jobs->first;
    while (job &&
           (strcmp(job->volume_id, volume_id) != 0 || strcmp(job->instance_uuid, instance) != 0))
        job = job->next;
    if (job)
        job->again = true;
    else if (jobs->count < JOBS_MOST) {
        job = fresh = heap_new(sizeof(*job));
        job->jobs = jobs;
        snprintf(job->volume_id, sizeof(job->volume_id), "%s", volume_id);
        snprintf(job->instance_uuid, sizeof(job->instance_uuid), "%s", instance);
        snprintf(job->request_id, sizeof(job->request_id), "%s", request_id ? request_id : "");
        job->log.request_id = job->request_id[0] ? job->request_id : NULL;
        job->item = (struct work_item){ .key = job->volume_id, .run = run_job, .arg = job };
        job->expected = resumed;
        job->next = jobs->first;
        jobs->first = job;
        jobs->count++;
    }
    pthread_mutex_unlock(&jobs->lock);
    if (!job)
        return error_set(err, ERROR_UNAVAILABLE, "%d volumes are already being processed",
                         JOBS_MOST);
    if (fresh)
        worker_pool_put(jobs->pool, &fresh->item);
    return 0;
}

int jobs_put(struct jobs *jobs, const char *volume_id, const char *instance_uuid,
             const char *request_id, struct error *err) {
    return put(jobs, volume_id, instance_uuid, request_id, false, err);
}

int jobs_resume(struct jobs *jobs, const char *volume_id, const char *instance_uuid,
                struct error *err) {
    return put(jobs, volume_id, instance_uuid, NULL, true, err);
}

unsigned jobs_open(struct jobs *jobs) {
    scoped_lock(&jobs->lock);
    return jobs->count;
}

struct worker_pool *jobs_pool(struct jobs *jobs) {
    return jobs->pool;
}

void jobs_stop(struct jobs *jobs) {
    worker_pool_stop(jobs->pool);
    while (jobs->first) {
        struct job *job = jobs->first;

        unlink_job(jobs, job);
        free(job);
    }
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}
