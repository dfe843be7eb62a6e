#include "declared/pool_changes.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rate {
    int64_t since_us;
    unsigned count;
};

struct pool {
    char name[REPLICA_POOL_NAME_MOST + 1];
    char node[REPLICA_POOL_NODE_MOST + 1], old_node[REPLICA_POOL_NODE_MOST + 1];
    uint32_t path, address; /* hashes */
    enum replica_pool_space space;
    bool is_up, is_online, is_draining, accepts_replicas;
    bool is_gone, is_due;
    struct rate rate;
};

struct pool_changes {
    struct pool *pools; /* by name */
    unsigned count;
    bool is_accepting_due;
    struct rate accepting;
};

struct pool_changes *pool_changes_new(void) {
    return heap_new(sizeof(struct pool_changes));
}

void pool_changes_free(struct pool_changes *changes) {
    if (changes)
        free(changes->pools);
    free(changes);
}

static bool rate_allows(struct rate *rate, int64_t now_us) {
    if (rate->count == 0 || now_us - rate->since_us >= POOL_CHANGES_US)
        *rate = (struct rate){ .since_us = now_us };
    if (rate->count >= POOL_CHANGES_MOST)
        return false;
    rate->count++;
    return true;
}

static struct pool pool_of(const struct replica_pool *is) {
    struct pool pool = {
        .path = word_hash(is->path),
        .address = word_hash(is->address ? is->address : ""),
        .space = replica_pool_space(is),
        .is_up = is->up, /* in any state: a node is unresponsive when none of its pools is up */
        .is_online = is->up && strcmp(is->state, REPLICA_POOL_ONLINE) == 0,
        .is_draining = is->draining,
        .accepts_replicas = replica_pool_accepts_replicas(is),
    };

    snprintf(pool.name, sizeof pool.name, "%s", is->id);
    snprintf(pool.node, sizeof pool.node, "%s", is->node);
    snprintf(pool.old_node, sizeof pool.old_node, "%s", is->node);
    return pool;
}

static bool is_same(const struct pool *one, const struct pool *other) {
    return strcmp(one->node, other->node) == 0 && one->path == other->path &&
           one->address == other->address && one->space == other->space &&
           one->is_up == other->is_up && one->is_online == other->is_online &&
           one->is_draining == other->is_draining && one->is_gone == other->is_gone;
}

/* The next pool of both lists, in the order of names; `is`: NULL, the pool is gone. */
static void put(struct pool_changes *changes, struct pool *all, unsigned *count,
                const struct pool *before, const struct replica_pool *is) {
    struct pool now = { .is_gone = true };

    if (is)
        now = pool_of(is);
    else if (before)
        now = *before;
    now.is_gone = !is;
    now.is_due = !before;
    if (!is)
        now.accepts_replicas = false;
    if (before) {
        /* A known pool stays due, with the node that it had when it became so. */
        now.is_due = before->is_due || !is_same(&now, before);
        now.rate = before->rate;
        memcpy(now.old_node, before->is_due ? before->old_node : before->node, sizeof now.old_node);
    }
    changes->is_accepting_due |= now.accepts_replicas != (before && before->accepts_replicas);
    if (is || now.is_due)
        all[(*count)++] = now;
}

static int compare(const void *one, const void *other) {
    const struct replica_pool *first = one, *second = other;

    return strcmp(first->id, second->id);
}

void pool_changes_note(struct pool_changes *changes, const struct replica_pool *pools,
                       unsigned count) {
    autofree struct replica_pool *sorted = heap_new((count + 1) * sizeof *sorted);
    const struct pool *known = changes->pools;
    struct pool *all = heap_new((changes->count + count + 1) * sizeof *all);
    unsigned kept = 0, i = 0, k = 0;

    /* the order of names in a database may differ */
    if (count > 0)
        memcpy(sorted, pools, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    while (i < changes->count || k < count) {
        int order = i == changes->count ? 1 : k == count ? -1 : strcmp(known[i].name, sorted[k].id);

        put(changes, all, &kept, order <= 0 ? &known[i] : NULL, order >= 0 ? &sorted[k] : NULL);
        i += order <= 0;
        k += order >= 0;
    }
    free(changes->pools);
    changes->pools = all;
    changes->count = kept;
}

static int compare_name(const void *name, const void *pool) {
    return strcmp(name, ((const struct pool *)pool)->name);
}

bool pool_changes_know(const struct pool_changes *changes, const struct replica_pool *pools,
                       unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const struct pool *known = changes->count > 0
                                       ? bsearch(pools[i].id, changes->pools, changes->count,
                                                 sizeof *changes->pools, compare_name)
                                       : NULL;
        const struct pool now = pool_of(&pools[i]);

        if (!known || !is_same(&now, known))
            return false;
    }
    return true;
}

bool pool_changes_take(struct pool_changes *changes, int64_t now_us, bool all,
                       struct pool_change *ret) {
    for (unsigned i = 0; i < changes->count; i++) {
        struct pool *pool = &changes->pools[i];

        if (!pool->is_due || (!all && !rate_allows(&pool->rate, now_us)))
            continue;
        pool->is_due = false;
        *ret = (struct pool_change){ pool->name, pool->node, pool->old_node };
        return true;
    }
    return false;
}

bool pool_changes_take_accepting(struct pool_changes *changes, int64_t now_us, bool waits) {
    bool is_taken = changes->is_accepting_due && waits && rate_allows(&changes->accepting, now_us);

    changes->is_accepting_due &= waits && !is_taken;
    return is_taken;
}
