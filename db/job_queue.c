#include "db/job_queue.h"

#include "common/assert.h"

#include <string.h>

static bool is_of(const struct db_job *job, const char *group) {
    return job->group && group ? strcmp(job->group, group) == 0 : job->group == group;
}

static void put_group(struct job_queue *queue, struct db_job *first) {
    first->next_group = NULL;
    if (queue->last)
        queue->last->next_group = first;
    else
        queue->first = first;
    queue->last = first;
}

void job_queue_put(struct job_queue *queue, struct db_job *job) {
    struct db_job *first = queue->first;

    job->next = NULL;
    queue->count++;
    while (first && !is_of(first, job->group))
        first = first->next_group;
    if (first) {
        first->group_last->next = job;
        first->group_last = job;
    } else {
        job->group_last = job;
        put_group(queue, job);
    }
}

struct db_job *job_queue_take(struct job_queue *queue) {
    struct db_job *job = queue->first, *behind;

    assert(job && queue->count > 0);
    behind = job->next;
    queue->count--;
    queue->first = job->next_group;
    if (!queue->first)
        queue->last = NULL;
    if (behind) {
        behind->group_last = job->group_last;
        put_group(queue, behind);
    }
    job->next = NULL;
    return job;
}
