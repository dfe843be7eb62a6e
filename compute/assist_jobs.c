#include "compute/assist_job.private.h"

#include <string.h>

struct assist_job *assist_find(struct assists *assists, const char *snapshot_id) {
    struct assist_job *job;

    LIST_FOREACH(job, &assists->jobs, next) {
        if (strcmp(job->snapshot_id, snapshot_id) == 0)
            return job;
    }
    return NULL;
}

unsigned assist_carry_others(struct assist_job *job, struct arena *arena,
                             struct together_one *ret) {
    struct assists *assists = job->assists;
    unsigned count = 0;

    pthread_mutex_lock(&assists->lock);
    for (unsigned i = 0; i < job->together.count; i++) {
        struct assist_job *other = assist_find(assists, job->together.ids[i]);
        struct together_one *one = &ret[count];

        if (!other || other == job || other->over)
            continue;
        other->carried = true;
        *one = (struct together_one){ .change = other->change,
                                      .request_id = arena_text(arena, other->log.request_id) };
        memcpy(one->volume_id, other->volume_id, UUID_SIZE);
        memcpy(one->snapshot_id, other->snapshot_id, UUID_SIZE);
        memcpy(one->instance_uuid, other->instance_uuid, UUID_SIZE);
        count++;
    }
    pthread_mutex_unlock(&assists->lock);
    return count;
}

void assist_let_others_go(struct assist_job *job) {
    pthread_mutex_lock(&job->assists->lock);
    for (unsigned i = 0; i < job->together.count; i++) {
        struct assist_job *other = assist_find(job->assists, job->together.ids[i]);

        if (other)
            other->carried = false;
    }
    pthread_mutex_unlock(&job->assists->lock);
}

bool assist_may_fail(struct assist_job *job) {
    bool may;

    pthread_mutex_lock(&job->assists->lock);
    may = job->over = !job->carried;
    pthread_mutex_unlock(&job->assists->lock);
    return may;
}
