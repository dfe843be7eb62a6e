#include "replication/node/replica_snapshots.h"

#include "common/cleanup.h"
#include "replication/engine/replica_snapshot.h"
#include "replication/node/snapshot_copier.h"

#include <string.h>

#define LISTED_MOST 1024 /* files of snapshots of one replica */

struct pass {
    struct snapshot_copier *copier;
    const struct replica *replica;
    const struct assignment_replica *assigned;
    struct error *errs; /* of each assigned snapshot */
    struct replica_snapshot *there;
    int count; /* -1: unknown */
    struct replica_snapshots_status *ret;
};

/* A missing replica has none. */
static void list(struct pass *pass) {
    struct error err;

    pass->count = replica_snapshot_list(pass->replica, pass->there, LISTED_MOST, &err);
    if (pass->count < 0 && err.kind == ERROR_NOT_FOUND)
        pass->count = 0;
    if (pass->count > LISTED_MOST)
        pass->count = -1;
}

static const struct replica_snapshot *snapshot_find(const struct pass *pass, const char *uid) {
    for (int i = 0; i < pass->count; i++) {
        if (strcmp(pass->there[i].name, uid) == 0)
            return &pass->there[i];
    }
    return NULL;
}

/* ---- changes ---- */

static void work(struct pass *pass) {
    for (unsigned i = 0; i < pass->assigned->snapshot_count && pass->count >= 0; i++) {
        const struct assignment_snapshot *assigned = &pass->assigned->snapshots[i];
        const struct copy copy = { .source = assigned->source,
                                   .snapshot = assigned->uid,
                                   .target = *pass->replica };

        if (assigned->remove) {
            snapshot_copier_stop(pass->copier, pass->replica->uid, assigned->uid);
            (void)replica_snapshot_delete(pass->replica, assigned->uid, &pass->errs[i]);
        } else if (assigned->source.uid && !snapshot_find(pass, assigned->uid) &&
                   snapshot_copier_run(pass->copier, &copy, &pass->errs[i]) > 0) {
            pass->ret->copying = true;
        }
    }
}

/* ---- status ---- */

static void report(struct pass *pass) {
    pass->ret->list = pass->count < 0 ? NULL : json_array();
    pass->ret->waits = pass->count < 0;
    for (unsigned i = 0; i < pass->assigned->snapshot_count && pass->count >= 0; i++) {
        const struct assignment_snapshot *assigned = &pass->assigned->snapshots[i];
        const struct replica_snapshot *there = snapshot_find(pass, assigned->uid);
        bool failed = pass->errs[i].kind != ERROR_NONE;

        pass->ret->waits |= assigned->remove ? there || failed : !there;
        if (!there && assigned->remove && !failed)
            continue;
        json_array_append_new(pass->ret->list,
                              json_pack("{s:s, s:s, s:o*, s:o*}", "uid", assigned->uid, "phase",
                                        there && !assigned->remove ? "Ready" : "Pending",
                                        "sizeBytes", there ? json_integer(there->size_bytes) : NULL,
                                        "message",
                                        failed ? assignment_message(pass->errs[i].message) : NULL));
    }
}

void replica_snapshots_reconcile(struct snapshot_copier *copier, const struct replica *replica,
                                 const struct assignment *assignment,
                                 struct replica_snapshots_status *ret) {
    autoarena struct arena *arena = arena_new();
    const struct assignment_replica *assigned = &assignment->replica;
    struct pass pass = {
        .copier = copier,
        .replica = replica,
        .assigned = assigned,
        .errs = arena_alloc(arena, (assigned->snapshot_count + 1) * sizeof(*pass.errs)),
        .there = arena_alloc(arena, LISTED_MOST * sizeof(*pass.there)),
        .ret = ret,
    };

    *ret = (struct replica_snapshots_status){ .list = NULL };
    memset(pass.errs, 0, (assigned->snapshot_count + 1) * sizeof(*pass.errs));
    list(&pass);
    work(&pass);
    list(&pass);
    report(&pass);
}
