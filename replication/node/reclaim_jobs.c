#include "replication/node/reclaim_jobs.h"

#include "common/arena.h"
#include "common/assert.h"
#include "common/heap.h"
#include "common/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reclaim_jobs {
    struct arena *arena; /* of the running job; NULL: none */
    struct replica replica;
    bool cancelled;       /* its result is not requested any more */
    char next[UUID_SIZE]; /* the longest waiting replica; "": none */
    pthread_t thread;
    atomic_bool ends, done;
    atomic_int_least64_t at_byte;
    int outcome; /* when done */
    struct replica_reclaimed reclaimed;
    struct error err;
};

struct reclaim_jobs *reclaim_jobs_new(void) {
    return heap_new(sizeof(struct reclaim_jobs));
}

void reclaim_jobs_free(struct reclaim_jobs *jobs) {
    free(jobs);
}

static void *run(void *arg) {
    struct reclaim_jobs *jobs = arg;
    const struct replica_reclaim how = { .ends = &jobs->ends, .at_byte = &jobs->at_byte };

    jobs->outcome = replica_reclaim(&jobs->replica, &how, &jobs->reclaimed, &jobs->err);
    atomic_store(&jobs->done, true);
    return NULL;
}

static int start(struct reclaim_jobs *jobs, const struct replica *replica,
                 const struct replica_reclaimed *reclaimed, struct error *err) {
    struct arena *arena = jobs->arena = arena_new();
    int code;

    jobs->replica = replica_keep(arena, replica);
    jobs->err = (struct error){ .kind = ERROR_NONE };
    jobs->cancelled = false;
    jobs->reclaimed = *reclaimed;
    atomic_store(&jobs->ends, false);
    atomic_store(&jobs->done, false);
    atomic_store(&jobs->at_byte, reclaimed->at_byte);
    code = thread_start(&jobs->thread, "reclaim", run, jobs);
    if (code == 0)
        return 1;
    jobs->arena = NULL;
    arena_free(arena);
    return error_set(err, ERROR_UNAVAILABLE, "cannot start a thread: %s", strerror(code));
}

static int collect(struct reclaim_jobs *jobs, struct replica_reclaimed *reclaimed,
                   struct error *err) {
    assert(jobs->arena);
    pthread_join(jobs->thread, NULL);
    arena_free(jobs->arena);
    jobs->arena = NULL;
    *reclaimed = jobs->reclaimed;
    return jobs->outcome < 0 ? error_pass(err, &jobs->err) : 0;
}

static void discard(struct reclaim_jobs *jobs) {
    struct replica_reclaimed ignored;
    struct error ignored_error;

    if (jobs->arena)
        (void)collect(jobs, &ignored, &ignored_error);
}

static bool is_of(const struct reclaim_jobs *jobs, const char *replica) {
    return jobs->arena && !jobs->cancelled && strcmp(jobs->replica.uid, replica) == 0;
}

/* The result of a job is returned once, to its requester; until then no other one starts. */
int reclaim_jobs_run(struct reclaim_jobs *jobs, const struct replica *replica,
                     struct replica_reclaimed *reclaimed, struct error *err) {
    bool taken;

    if (is_of(jobs, replica->uid))
        return atomic_load(&jobs->done) ? collect(jobs, reclaimed, err) : 1;
    taken = jobs->arena && !(jobs->cancelled && atomic_load(&jobs->done));
    if (taken || (*jobs->next && strcmp(jobs->next, replica->uid) != 0)) {
        if (!*jobs->next)
            snprintf(jobs->next, sizeof(jobs->next), "%s", replica->uid);
        return 1;
    }
    discard(jobs);
    jobs->next[0] = '\0';
    assert(!jobs->arena); /* one at a time */
    return start(jobs, replica, reclaimed, err);
}

bool reclaim_jobs_have(const struct reclaim_jobs *jobs, const char *replica) {
    return is_of(jobs, replica) || strcmp(jobs->next, replica) == 0;
}

int64_t reclaim_jobs_done_bytes(const struct reclaim_jobs *jobs, const char *replica) {
    return is_of(jobs, replica) ? atomic_load(&jobs->at_byte) : 0;
}

void reclaim_jobs_cancel(struct reclaim_jobs *jobs, const char *replica) {
    if (strcmp(jobs->next, replica) == 0)
        jobs->next[0] = '\0';
    if (!is_of(jobs, replica))
        return;
    atomic_store(&jobs->ends, true);
    jobs->cancelled = true;
}

void reclaim_jobs_end(struct reclaim_jobs *jobs) {
    atomic_store(&jobs->ends, true);
    discard(jobs);
}

void reclaim_jobs_stop(struct reclaim_jobs *jobs, const char *replica) {
    bool works = jobs->arena && strcmp(jobs->replica.uid, replica) == 0;

    reclaim_jobs_cancel(jobs, replica);
    if (works)
        reclaim_jobs_end(jobs);
}
