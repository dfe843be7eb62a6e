/*
 * The list of snapshot jobs and the fields that they share.
 */
#include "compute/jobs/assist_job.h"

#include "common/heap.h"
#include "common/thread.h"
#include "compute/jobs/assist_job.private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MOST 1024 /* bounds the memory used by requests */

/* ---- jobs of a set ---- */

struct assist_job *assist_find(struct assists *assists, const char *snapshot_id) {
    struct assist_job *job;

    LIST_FOREACH(job, &assists->jobs, next) {
        if (strcmp(job->snapshot_id, snapshot_id) == 0)
            return job;
    }
    return NULL;
}

unsigned assist_include_others(struct assist_job *job, struct arena *arena,
                               struct snapshot_member *ret) {
    struct assists *assists = job->assists;
    unsigned count = 0;

    scoped_lock(&assists->lock);
    for (unsigned i = 0; i < job->set.count; i++) {
        struct assist_job *other = assist_find(assists, job->set.ids[i]);
        struct snapshot_member *one = &ret[count];

        if (!other || other == job || other->failed)
            continue;
        other->included = true;
        *one = (struct snapshot_member){ .change = other->change,
                                         .request_id = arena_text(arena, other->log.request_id) };
        memcpy(one->volume_id, other->volume_id, UUID_SIZE);
        memcpy(one->snapshot_id, other->snapshot_id, UUID_SIZE);
        memcpy(one->instance_uuid, other->instance_uuid, UUID_SIZE);
        count++;
    }
    return count;
}

void assist_release_others(struct assist_job *job) {
    scoped_lock(&job->assists->lock);
    for (unsigned i = 0; i < job->set.count; i++) {
        struct assist_job *other = assist_find(job->assists, job->set.ids[i]);

        if (other)
            other->included = false;
    }
}

bool assist_may_fail(struct assist_job *job) {
    scoped_lock(&job->assists->lock);
    return job->failed = !job->included;
}

/* ---- the list ---- */

struct assists *assists_new(const struct assist_settings *settings) {
    struct assists *assists = heap_new(sizeof(*assists));

    assists->settings = *settings;
    pthread_mutex_init(&assists->lock, NULL);
    LIST_INIT(&assists->jobs);
    return assists;
}

static struct assist_job *new_job(struct assists *assists, const struct assist *assist) {
    struct assist_job *job = heap_new(sizeof(*job));

    job->assists = assists;
    snprintf(job->volume_id, sizeof(job->volume_id), "%s", assist->volume_id);
    snprintf(job->snapshot_id, sizeof(job->snapshot_id), "%s", assist->snapshot_id);
    snprintf(job->instance_uuid, sizeof(job->instance_uuid), "%s", assist->instance_uuid);
    snprintf(job->request_id, sizeof(job->request_id), "%s",
             assist->request_id ? assist->request_id : "");
    job->log.request_id = job->request_id[0] ? job->request_id : NULL;
    job->change = assist->change;
    snapshot_set_copy(&job->set, assist->set_ids, assist->set_count);
    job->item = (struct work_item){ .key = job->volume_id, .run = assist_run, .arg = job };
    LIST_INSERT_HEAD(&assists->jobs, job, next);
    assists->count++;
    return job;
}

static bool is_same(const struct assist_job *job, const struct assist *assist) {
    const struct overlay_change *one = &job->change, *other = &assist->change;

    return strcmp(job->volume_id, assist->volume_id) == 0 &&
           snapshot_set_equals(&job->set, assist->set_ids, assist->set_count) &&
           one->remove == other->remove && strcmp(one->new_file, other->new_file) == 0 &&
           strcmp(one->file_to_merge, other->file_to_merge) == 0 &&
           strcmp(one->merge_target, other->merge_target) == 0;
}

int assists_put(struct assists *assists, const struct assist *assist, struct error *err) {
    struct assist_job *job, *fresh = NULL;
    bool same = true;

    pthread_mutex_lock(&assists->lock);
    job = assist_find(assists, assist->snapshot_id);
    if (job && (same = is_same(job, assist)))
        job->again = true;
    if (!job && assists->count < JOBS_MOST)
        job = fresh = new_job(assists, assist);
    pthread_mutex_unlock(&assists->lock);
    if (!same)
        return error_set(err, ERROR_CONFLICT,
                         "Snapshot %s is already being processed with other files.",
                         assist->snapshot_id);
    if (!job)
        return error_set(err, ERROR_UNAVAILABLE, "%d snapshots are already being processed",
                         JOBS_MOST);
    if (fresh)
        worker_pool_put(assists->settings.pool, &fresh->item);
    return 0;
}

static void free_job(struct assist_job *job) {
    free(job->set.ids);
    free(job);
}

bool assist_end(struct assist_job *job) {
    struct assists *assists = job->assists;
    bool again;

    pthread_mutex_lock(&assists->lock);
    again = job->again;
    job->again = false;
    if (!again) {
        LIST_REMOVE(job, next);
        assists->count--;
    }
    pthread_mutex_unlock(&assists->lock);
    if (!again)
        free_job(job);
    return !again;
}

unsigned assists_open(struct assists *assists) {
    scoped_lock(&assists->lock);
    return assists->count;
}

void assists_free(struct assists *assists) {
    struct assist_job *job;

    while ((job = LIST_FIRST(&assists->jobs))) {
        LIST_REMOVE(job, next);
        free_job(job);
    }
    pthread_mutex_destroy(&assists->lock);
    free(assists);
}
