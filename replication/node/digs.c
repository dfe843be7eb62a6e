#include "replication/node/digs.h"

#include "common/arena.h"
#include "common/heap.h"
#include "common/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct digs {
    struct arena *arena; /* of the one that is under way; NULL: none */
    struct replica replica;
    bool unwanted;        /* nobody comes for what came of it */
    char next[UUID_SIZE]; /* who waits longest, and begins before others; "": nobody */
    pthread_t thread;
    atomic_bool ends, done;
    atomic_int_least64_t at_byte;
    int outcome; /* once it is done */
    struct replica_dug dug;
    struct error err;
};

struct digs *digs_new(void) {
    return heap_new(sizeof(struct digs));
}

void digs_free(struct digs *digs) {
    free(digs);
}

static void *run(void *arg) {
    struct digs *digs = arg;
    const struct replica_dig how = { .ends = &digs->ends, .at_byte = &digs->at_byte };

    digs->outcome = replica_dig(&digs->replica, &how, &digs->dug, &digs->err);
    atomic_store(&digs->done, true);
    return NULL;
}

static int start(struct digs *digs, const struct replica *replica, const struct replica_dug *dug,
                 struct error *err) {
    struct arena *arena = digs->arena = arena_new();
    int code;

    digs->replica = replica_keep(arena, replica);
    digs->err = (struct error){ .kind = ERROR_NONE };
    digs->unwanted = false;
    digs->dug = *dug;
    atomic_store(&digs->ends, false);
    atomic_store(&digs->done, false);
    atomic_store(&digs->at_byte, dug->at_byte);
    code = thread_start(&digs->thread, "dig", run, digs);
    if (code == 0)
        return 1;
    digs->arena = NULL;
    arena_free(arena);
    return error_set(err, ERROR_UNAVAILABLE, "cannot start a thread: %s", strerror(code));
}

static int collect(struct digs *digs, struct replica_dug *dug, struct error *err) {
    pthread_join(digs->thread, NULL);
    arena_free(digs->arena);
    digs->arena = NULL;
    *dug = digs->dug;
    return digs->outcome < 0 ? error_pass(err, &digs->err) : 0;
}

static void throw_away(struct digs *digs) {
    struct replica_dug ignored;
    struct error nobody;

    if (digs->arena)
        (void)collect(digs, &ignored, &nobody);
}

static bool is_of(const struct digs *digs, const char *replica) {
    return digs->arena && !digs->unwanted && strcmp(digs->replica.uid, replica) == 0;
}

/* Is there one that nobody may take the place of?  What came of it is told once, to who asked. */
static bool is_taken(const struct digs *digs) {
    return digs->arena && !(digs->unwanted && atomic_load(&digs->done));
}

static int wait_for_turn(struct digs *digs, const char *replica) {
    if (!*digs->next)
        snprintf(digs->next, sizeof(digs->next), "%s", replica);
    return 1;
}

int digs_make(struct digs *digs, const struct replica *replica, struct replica_dug *dug,
              struct error *err) {
    if (is_of(digs, replica->uid))
        return atomic_load(&digs->done) ? collect(digs, dug, err) : 1;
    if (is_taken(digs) || (*digs->next && strcmp(digs->next, replica->uid) != 0))
        return wait_for_turn(digs, replica->uid);
    throw_away(digs);
    digs->next[0] = '\0';
    return start(digs, replica, dug, err);
}

bool digs_work(const struct digs *digs, const char *replica) {
    return is_of(digs, replica) || strcmp(digs->next, replica) == 0;
}

int64_t digs_at(const struct digs *digs, const char *replica) {
    return is_of(digs, replica) ? atomic_load(&digs->at_byte) : 0;
}

void digs_forget(struct digs *digs, const char *replica) {
    if (strcmp(digs->next, replica) == 0)
        digs->next[0] = '\0';
    if (!is_of(digs, replica))
        return;
    atomic_store(&digs->ends, true);
    digs->unwanted = true;
}

void digs_end(struct digs *digs) {
    atomic_store(&digs->ends, true);
    throw_away(digs);
}

void digs_stop(struct digs *digs, const char *replica) {
    bool works = digs->arena && strcmp(digs->replica.uid, replica) == 0;

    digs_forget(digs, replica);
    if (works)
        digs_end(digs);
}
