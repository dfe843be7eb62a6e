/*
 * Queued bodies of both engines' writers.  The groups of jobs take turns, the jobs of a group keep
 * their order: however many jobs one group has, another's next one is taken second.
 *
 * Not thread-safe: guarded as its owner says.  It allocates nothing.
 */
#pragma once

#include "db/db.h"

struct job_queue {               /* all zero: empty */
    struct db_job *first, *last; /* the first job of each group, in turn */
    unsigned count;              /* of all jobs */
};

void job_queue_put(struct job_queue *queue, struct db_job *job);
/* Removes the next one; not from an empty queue. */
struct db_job *job_queue_take(struct job_queue *queue);
