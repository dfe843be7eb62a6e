#include "replication/node/held.h"

#include "common/cleanup.h"
#include "replication/engine/replica_snapshot.h"
#include "replication/node/copies.h"

#include <string.h>

#define LISTED_MOST 1024 /* files of snapshots beside one replica */

struct held {
    struct copies *copies;
    const struct replica *place;
    const struct assignment_replica *wanted;
    struct error *errs; /* of each that is wanted */
    struct replica_snapshot *there;
    int count; /* -1: it could not be looked */
    struct held_look *ret;
};

/* A replica that is not there has none. */
static void look(struct held *held) {
    struct error err;

    held->count = replica_snapshot_list(held->place, held->there, LISTED_MOST, &err);
    if (held->count < 0 && err.kind == ERROR_NOT_FOUND)
        held->count = 0;
    if (held->count > LISTED_MOST)
        held->count = -1;
}

static const struct replica_snapshot *find(const struct held *held, const char *uid) {
    for (int i = 0; i < held->count; i++) {
        if (strcmp(held->there[i].name, uid) == 0)
            return &held->there[i];
    }
    return NULL;
}

/* ---- what is to be done ---- */

static void remove_one(struct held *held, unsigned which) {
    const char *uid = held->wanted->snapshots[which].uid;

    copies_stop(held->copies, held->place->uid, uid);
    (void)replica_snapshot_delete(held->place, uid, &held->errs[which]);
}

static void copy_one(struct held *held, unsigned which) {
    const struct assignment_snapshot *wanted = &held->wanted->snapshots[which];
    const struct copy copy = { .source = wanted->source,
                               .snapshot = wanted->uid,
                               .target = *held->place };

    if (wanted->source.uid && copies_make(held->copies, &copy, &held->errs[which]) > 0)
        held->ret->copies = true;
}

static void work(struct held *held) {
    for (unsigned i = 0; i < held->wanted->snapshot_count && held->count >= 0; i++) {
        if (held->wanted->snapshots[i].remove)
            remove_one(held, i);
        else if (!find(held, held->wanted->snapshots[i].uid))
            copy_one(held, i);
    }
}

/* ---- what there is ---- */

static json_t *entry_json(const struct assignment_snapshot *wanted,
                          const struct replica_snapshot *there, const struct error *why) {
    json_t *entry = json_pack("{s:s, s:s}", "uid", wanted->uid, "phase",
                              there && !wanted->remove ? "Ready" : "Pending");

    if (there)
        json_object_set_new(entry, "sizeBytes", json_integer(there->size_bytes));
    if (why->kind != ERROR_NONE)
        json_object_set_new(entry, "message", assignment_message(why->message));
    return entry;
}

static void tell(struct held *held) {
    held->ret->list = held->count < 0 ? NULL : json_array();
    held->ret->waits = held->count < 0;
    for (unsigned i = 0; i < held->wanted->snapshot_count && held->count >= 0; i++) {
        const struct assignment_snapshot *wanted = &held->wanted->snapshots[i];
        const struct replica_snapshot *there = find(held, wanted->uid);
        bool failed = held->errs[i].kind != ERROR_NONE;

        held->ret->waits |= wanted->remove ? there || failed : !there;
        if (there || !wanted->remove || failed)
            json_array_append_new(held->ret->list, entry_json(wanted, there, &held->errs[i]));
    }
}

void held_keep(struct copies *copies, const struct replica *place,
               const struct assignment *assignment, struct held_look *ret) {
    autoarena struct arena *arena = arena_new();
    const struct assignment_replica *wanted = &assignment->replica;
    struct held held = {
        .copies = copies,
        .place = place,
        .wanted = wanted,
        .errs = arena_alloc(arena, (wanted->snapshot_count + 1) * sizeof(*held.errs)),
        .there = arena_alloc(arena, LISTED_MOST * sizeof(*held.there)),
        .ret = ret,
    };

    *ret = (struct held_look){ .list = NULL };
    memset(held.errs, 0, (wanted->snapshot_count + 1) * sizeof(*held.errs));
    look(&held);
    work(&held);
    look(&held);
    tell(&held);
}
