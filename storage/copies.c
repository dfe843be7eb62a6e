#include "storage/copies.h"

#include "common/arena.h"
#include "common/heap.h"
#include "common/thread.h"
#include "engine/replica_snapshot.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct copies {
    struct arena *arena; /* of the one that is under way; NULL: none */
    struct copy copy;
    struct generation first;
    pthread_t thread;
    atomic_bool ends, done;
    int outcome; /* once it is done */
    struct error err;
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
        copies->outcome =
            replica_snapshot_clone(&copy->source, copy->snapshot, &copy->target, copy->volume,
                                   copy->maximum_bytes, copy->first, &copies->ends, &copies->err);
    else
        copies->outcome = replica_snapshot_copy(&copy->source, copy->snapshot, &copy->target,
                                                &copies->ends, &copies->err);
    atomic_store(&copies->done, true);
    return NULL;
}

static struct replica keep_replica(struct arena *arena, const struct replica *replica) {
    return (struct replica){ .pool = arena_text(arena, replica->pool),
                             .uid = arena_text(arena, replica->uid) };
}

static int start(struct copies *copies, const struct copy *wanted, struct error *err) {
    struct arena *arena = copies->arena = arena_new();
    int code;

    copies->copy = *wanted;
    copies->copy.source = keep_replica(arena, &wanted->source);
    copies->copy.target = keep_replica(arena, &wanted->target);
    copies->copy.snapshot = arena_text(arena, wanted->snapshot);
    if (wanted->volume) {
        copies->copy.volume = arena_text(arena, wanted->volume);
        copies->first = *wanted->first;
        copies->copy.first = &copies->first;
    }
    atomic_store(&copies->ends, false);
    atomic_store(&copies->done, false);
    code = thread_start(&copies->thread, "copy", run, copies);
    if (code == 0)
        return 1;
    copies->arena = NULL;
    arena_free(arena);
    return error_set(err, ERROR_INTERNAL, "cannot start a copy: %s", strerror(code));
}

/* ---- the pool's thread ---- */

static int collect(struct copies *copies, struct error *err) {
    pthread_join(copies->thread, NULL);
    arena_free(copies->arena);
    copies->arena = NULL;
    return copies->outcome < 0 ? error_pass(err, &copies->err) : 0;
}

static bool is_of(const struct copies *copies, const char *replica, const char *snapshot) {
    return copies->arena && strcmp(copies->copy.target.uid, replica) == 0 &&
           (!snapshot || strcmp(copies->copy.snapshot, snapshot) == 0);
}

int copies_make(struct copies *copies, const struct copy *wanted, struct error *err) {
    struct error ignored;

    if (copies->arena && !atomic_load(&copies->done))
        return 1;
    if (is_of(copies, wanted->target.uid, wanted->snapshot))
        return collect(copies, err);
    if (copies->arena)
        (void)collect(copies, &ignored); /* nobody asks for it any more */
    return start(copies, wanted, err);
}

void copies_end(struct copies *copies) {
    struct error ignored;

    if (!copies->arena)
        return;
    atomic_store(&copies->ends, true);
    (void)collect(copies, &ignored);
}

void copies_stop(struct copies *copies, const char *replica, const char *snapshot) {
    if (is_of(copies, replica, snapshot))
        copies_end(copies);
}
