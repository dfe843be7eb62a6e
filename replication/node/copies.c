#include "replication/node/copies.h"

#include "common/arena.h"
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

struct failure { /* the last one of a copy; without names: none */
    char replica[UUID_SIZE], snapshot[UUID_SIZE];
    struct error err;
    struct backoff backoff;
};

struct copies {
    struct arena *arena; /* of the one that is under way; NULL: none */
    struct copy copy;
    struct generation first;
    pthread_t thread;
    struct replica_copy progress;
    atomic_bool done;
    int outcome; /* once it is done */
    struct error err;
    struct failure failures[FAILURES];
};

struct copies *copies_new(void) {
    return heap_new(sizeof(struct copies));
}

void copies_free(struct copies *copies) {
    free(copies);
}

/* ---- the thread ---- */

static void *run(void *arg) {
    struct copies *copies = arg;
    const struct copy *copy = &copies->copy;

    if (copy->volume)
        copies->outcome = replica_snapshot_clone(&copy->source, copy->snapshot, &copy->target,
                                                 copy->volume, copy->maximum_bytes, copy->first,
                                                 &copies->progress, &copies->err);
    else
        copies->outcome = replica_snapshot_copy(&copy->source, copy->snapshot, &copy->target,
                                                &copies->progress, &copies->err);
    atomic_store(&copies->done, true);
    return NULL;
}

static int start(struct copies *copies, const struct copy *wanted, struct error *err) {
    struct arena *arena = copies->arena = arena_new();
    int code;

    copies->copy = *wanted;
    copies->copy.source = replica_keep(arena, &wanted->source);
    copies->copy.target = replica_keep(arena, &wanted->target);
    copies->copy.snapshot = arena_text(arena, wanted->snapshot);
    if (wanted->volume) {
        copies->copy.volume = arena_text(arena, wanted->volume);
        copies->first = *wanted->first;
        copies->copy.first = &copies->first;
    }
    atomic_store(&copies->progress.ends, false);
    atomic_store(&copies->progress.done_bytes, 0);
    atomic_store(&copies->progress.total_bytes, 0);
    atomic_store(&copies->done, false);
    code = thread_start(&copies->thread, "copy", run, copies);
    if (code == 0)
        return 1;
    copies->arena = NULL;
    arena_free(arena);
    return error_set(err, ERROR_INTERNAL, "cannot start a copy: %s", strerror(code));
}

/* ---- the pool's thread ---- */

/* NULL: it has not, as far as anybody remembers. */
static struct failure *failure_of(struct copies *copies, const char *replica,
                                  const char *snapshot) {
    for (unsigned i = 0; i < FAILURES; i++) {
        struct failure *failure = &copies->failures[i];

        if (strcmp(failure->replica, replica) == 0 && strcmp(failure->snapshot, snapshot) == 0)
            return failure;
    }
    return NULL;
}

/* In place of the one that was to be tried again first. */
static struct failure *forget_one(struct copies *copies) {
    struct failure *first = &copies->failures[0];

    for (unsigned i = 1; i < FAILURES; i++)
        if (copies->failures[i].backoff.due_us < first->backoff.due_us)
            first = &copies->failures[i];
    *first = (struct failure){ .replica = "" };
    return first;
}

/* A pool that is full is not filled again and again. */
static void note_failure(struct copies *copies) {
    const struct copy *copy = &copies->copy;
    struct failure *failure = failure_of(copies, copy->target.uid, copy->snapshot);

    if (!failure)
        failure = forget_one(copies);
    backoff_fail(&failure->backoff, &pauses, clock_monotonic_us());
    failure->err = copies->err;
    snprintf(failure->replica, UUID_SIZE, "%s", copy->target.uid);
    snprintf(failure->snapshot, UUID_SIZE, "%s", copy->snapshot);
}

static int collect(struct copies *copies, struct error *err) {
    pthread_join(copies->thread, NULL);
    if (copies->outcome < 0)
        note_failure(copies);
    arena_free(copies->arena);
    copies->arena = NULL;
    return copies->outcome < 0 ? error_pass(err, &copies->err) : 0;
}

static bool is_of(const struct copies *copies, const char *replica, const char *snapshot) {
    return copies->arena && strcmp(copies->copy.target.uid, replica) == 0 &&
           (!snapshot || strcmp(copies->copy.snapshot, snapshot) == 0);
}

bool copies_clones(const struct copies *copies, const char *replica) {
    return is_of(copies, replica, NULL) && copies->copy.volume && !atomic_load(&copies->done);
}

/* A file that grows while it is copied is not copied by more than all of it. */
bool copies_progress(const struct copies *copies, const char *replica, struct copy_progress *ret) {
    int64_t total = atomic_load(&copies->progress.total_bytes);
    int64_t done = atomic_load(&copies->progress.done_bytes);

    if (!is_of(copies, replica, NULL) || atomic_load(&copies->done) || total == 0)
        return false;
    *ret = (struct copy_progress){ .snapshot = copies->copy.snapshot,
                                   .is_clone = copies->copy.volume != NULL,
                                   .done_bytes = done < total ? done : total,
                                   .total_bytes = total };
    return true;
}

int copies_make(struct copies *copies, const struct copy *wanted, struct error *err) {
    const struct failure *failure;
    struct error ignored;

    if (copies->arena && !atomic_load(&copies->done))
        return 1;
    if (is_of(copies, wanted->target.uid, wanted->snapshot))
        return collect(copies, err);
    if (copies->arena)
        (void)collect(copies, &ignored); /* nobody asks for it any more */
    failure = failure_of(copies, wanted->target.uid, wanted->snapshot);
    if (failure && backoff_waits(&failure->backoff, clock_monotonic_us()))
        return error_pass(err, &failure->err);
    return start(copies, wanted, err);
}

void copies_end(struct copies *copies) {
    struct error ignored;

    if (!copies->arena)
        return;
    atomic_store(&copies->progress.ends, true);
    (void)collect(copies, &ignored);
}

void copies_stop(struct copies *copies, const char *replica, const char *snapshot) {
    if (is_of(copies, replica, snapshot))
        copies_end(copies);
}
