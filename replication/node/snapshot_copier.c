#include "replication/node/snapshot_copier.h"

#include "common/arena.h"
#include "common/assert.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "replication/engine/replica_snapshot.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES 32

static const struct backoff_limits pauses = { .first_us = 2 * SECOND_US,
                                              .most_us = 256 * SECOND_US };

struct failure { /* last failure of a copy; without names: unused */
    char replica[UUID_SIZE], snapshot[UUID_SIZE];
    struct error err;
    struct backoff backoff;
};

struct snapshot_copier {
    struct arena *arena; /* of the running copy; NULL: none */
    struct copy copy;
    struct generation first;
    pthread_t thread;
    struct replica_copy progress;
    atomic_bool done;
    int outcome; /* when done */
    struct error err;
    struct failure failures[FAILURES];
};

struct snapshot_copier *snapshot_copier_new(void) {
    return heap_new(sizeof(struct snapshot_copier));
}

void snapshot_copier_free(struct snapshot_copier *copier) {
    free(copier);
}

/* ---- the thread ---- */

static void *run(void *arg) {
    struct snapshot_copier *copier = arg;
    const struct copy *copy = &copier->copy;

    if (copy->volume)
        copier->outcome = replica_snapshot_clone(&copy->source, copy->snapshot, &copy->target,
                                                 copy->volume, copy->maximum_bytes, copy->first,
                                                 &copier->progress, &copier->err);
    else
        copier->outcome = replica_snapshot_copy(&copy->source, copy->snapshot, &copy->target,
                                                &copier->progress, &copier->err);
    atomic_store(&copier->done, true);
    return NULL;
}

static int start(struct snapshot_copier *copier, const struct copy *copy, struct error *err) {
    struct arena *arena = copier->arena = arena_new();
    int code;

    assert(!copy->volume || copy->first); /* of a clone, which begins with a generation */
    copier->copy = *copy;
    copier->copy.source = replica_keep(arena, &copy->source);
    copier->copy.target = replica_keep(arena, &copy->target);
    copier->copy.snapshot = arena_text(arena, copy->snapshot);
    if (copy->volume) {
        copier->copy.volume = arena_text(arena, copy->volume);
        copier->first = *copy->first;
        copier->copy.first = &copier->first;
    }
    atomic_store(&copier->progress.ends, false);
    atomic_store(&copier->progress.done_bytes, 0);
    atomic_store(&copier->progress.total_bytes, 0);
    atomic_store(&copier->done, false);
    code = thread_start(&copier->thread, "copy", run, copier);
    if (code == 0)
        return 1;
    copier->arena = NULL;
    arena_free(arena);
    return error_set(err, ERROR_INTERNAL, "cannot start a copy: %s", strerror(code));
}

/* ---- the pool's thread ---- */

/* NULL: no failure is recorded. */
static struct failure *failure_of(struct snapshot_copier *copier, const char *replica,
                                  const char *snapshot) {
    for (unsigned i = 0; i < FAILURES; i++) {
        struct failure *failure = &copier->failures[i];

        if (strcmp(failure->replica, replica) == 0 && strcmp(failure->snapshot, snapshot) == 0)
            return failure;
    }
    return NULL;
}

/* Retries into a full pool have growing pauses. */
static void note_failure(struct snapshot_copier *copier) {
    const struct copy *copy = &copier->copy;
    struct failure *failure = failure_of(copier, copy->target.uid, copy->snapshot);

    if (!failure) { /* it replaces the one that is due first */
        failure = &copier->failures[0];
        for (unsigned i = 1; i < FAILURES; i++) {
            if (copier->failures[i].backoff.due_us < failure->backoff.due_us)
                failure = &copier->failures[i];
        }
        *failure = (struct failure){ .replica = "" };
    }
    backoff_fail(&failure->backoff, &pauses, clock_monotonic_us());
    failure->err = copier->err;
    snprintf(failure->replica, UUID_SIZE, "%s", copy->target.uid);
    snprintf(failure->snapshot, UUID_SIZE, "%s", copy->snapshot);
}

static int collect(struct snapshot_copier *copier, struct error *err) {
    assert(copier->arena);
    pthread_join(copier->thread, NULL);
    if (copier->outcome < 0)
        note_failure(copier);
    arena_free(copier->arena);
    copier->arena = NULL;
    return copier->outcome < 0 ? error_pass(err, &copier->err) : 0;
}

static bool is_of(const struct snapshot_copier *copier, const char *replica, const char *snapshot) {
    return copier->arena && strcmp(copier->copy.target.uid, replica) == 0 &&
           (!snapshot || strcmp(copier->copy.snapshot, snapshot) == 0);
}

bool snapshot_copier_clones(const struct snapshot_copier *copier, const char *replica) {
    return is_of(copier, replica, NULL) && copier->copy.volume && !atomic_load(&copier->done);
}

/* A source may grow meanwhile. */
bool snapshot_copier_progress(const struct snapshot_copier *copier, const char *replica,
                              struct snapshot_copy_progress *ret) {
    int64_t total = atomic_load(&copier->progress.total_bytes);
    int64_t done = atomic_load(&copier->progress.done_bytes);

    if (!is_of(copier, replica, NULL) || atomic_load(&copier->done) || total == 0)
        return false;
    *ret = (struct snapshot_copy_progress){ .snapshot = copier->copy.snapshot,
                                            .is_clone = copier->copy.volume != NULL,
                                            .done_bytes = done < total ? done : total,
                                            .total_bytes = total };
    return true;
}

int snapshot_copier_run(struct snapshot_copier *copier, const struct copy *copy,
                        struct error *err) {
    const struct failure *failure;
    struct error ignored;

    if (copier->arena && !atomic_load(&copier->done))
        return 1;
    if (is_of(copier, copy->target.uid, copy->snapshot))
        return collect(copier, err);
    if (copier->arena)
        (void)collect(copier, &ignored); /* its result is not requested any more */
    failure = failure_of(copier, copy->target.uid, copy->snapshot);
    if (failure && backoff_waits(&failure->backoff, clock_monotonic_us()))
        return error_pass(err, &failure->err);
    assert(!copier->arena); /* one at a time */
    return start(copier, copy, err);
}

void snapshot_copier_end(struct snapshot_copier *copier) {
    struct error ignored;

    if (!copier->arena)
        return;
    atomic_store(&copier->progress.ends, true);
    (void)collect(copier, &ignored);
}

void snapshot_copier_stop(struct snapshot_copier *copier, const char *replica,
                          const char *snapshot) {
    if (is_of(copier, replica, snapshot))
        snapshot_copier_end(copier);
}
