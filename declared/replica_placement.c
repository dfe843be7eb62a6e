#include "declared/replica_placement.h"

#include "common/assert.h"
#include "common/quantity.h"
#include "common/words.h"

#include <string.h>

#define GIB_SHIFT 30

/* ---- usable pools ---- */

enum { OFFLINE, READ_ONLY, DRAINING, NO_SPACE, FAULTS };
static const char *const faults[FAULTS] = { "is offline", "takes no writes", "is being drained",
                                            "has too little space" };

/* FAULTS: none. */
static unsigned fault_of(const struct replica_pool *pool, int64_t bytes) {
    if (!pool->up || strcmp(pool->state, REPLICA_POOL_ONLINE) != 0)
        return OFFLINE;
    if (pool->read_only)
        return READ_ONLY;
    if (pool->draining)
        return DRAINING;
    return pool->free_bytes < bytes ? NO_SPACE : FAULTS;
}

const char *replica_placement_fault(const struct replica_pool *pool, int64_t bytes) {
    unsigned fault = fault_of(pool, bytes);

    return fault == FAULTS ? NULL : faults[fault];
}

static bool is_allowed(const struct replica_placement *wanted, const struct replica_pool *pool) {
    if (words_have(wanted->without, wanted->without_count, pool->id) ||
        (wanted->apart && words_have(wanted->nodes, wanted->node_count, pool->node)))
        return false;
    return !wanted->of_source || words_have(wanted->of_source, wanted->source_count, pool->id);
}

/* ---- named pools ---- */

static int take_named(struct arena *arena, const struct replica_placement *wanted,
                      const struct replica_pool *pools, unsigned pool_count,
                      const struct replica_pool **ret, struct error *err) {
    const char *fault;

    if (wanted->named_count != wanted->count)
        return error_set(err, ERROR_BAD_REQUEST, "%u pools are named for %u replicas.",
                         wanted->named_count, wanted->count);
    for (unsigned i = 0; i < wanted->count; i++) {
        ret[i] = NULL;
        for (unsigned k = 0; k < pool_count && !ret[i]; k++)
            if (strcmp(pools[k].id, wanted->named[i]) == 0)
                ret[i] = &pools[k];
        if (words_have(wanted->named, i, wanted->named[i]))
            return error_set(err, ERROR_BAD_REQUEST, "Pool %s is named twice.", wanted->named[i]);
        fault = ret[i] ? replica_placement_fault(ret[i], wanted->bytes) : "does not exist";
        if (fault)
            return error_set(err, ERROR_UNAVAILABLE,
                             "Pool %s, which is named for a replica of %s, %s.", wanted->named[i],
                             quantity_text(arena, wanted->bytes), fault);
        if (!is_allowed(wanted, ret[i]))
            return error_set(err, ERROR_UNAVAILABLE,
                             "Pool %s, which is named for a replica, has no replica of the source.",
                             wanted->named[i]);
    }
    return 0;
}

/* ---- chosen pools ---- */

/* splitmix64 */
static uint64_t draw(uint64_t *seed) {
    uint64_t value = *seed += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static bool has_node(const struct replica_pool *const *taken, unsigned count, const char *node) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(taken[i]->node, node) == 0)
            return true;
    return false;
}

/* Is it the better one for the next replica? The first of equals is. */
static bool is_better(const struct replica_placement *wanted, const struct replica_pool *pool,
                      const struct replica_pool *than, const struct replica_pool *const *taken,
                      unsigned count) {
    const char *local = count == 0 ? wanted->local_node : NULL;
    bool local_one = local && strcmp(pool->node, local) == 0;
    bool local_other = local && strcmp(than->node, local) == 0;
    bool again_one = has_node(taken, count, pool->node) ||
                     words_have(wanted->nodes, wanted->node_count, pool->node);
    bool again_other = has_node(taken, count, than->node) ||
                       words_have(wanted->nodes, wanted->node_count, than->node);

    if (local_one != local_other)
        return local_one;
    if (again_one != again_other)
        return again_other;
    return pool->free_bytes >> GIB_SHIFT > than->free_bytes >> GIB_SHIFT;
}

/* Of equal pools one at random. */
static void take_best(const struct replica_placement *wanted, const struct replica_pool **usable,
                      unsigned count, const struct replica_pool **ret) {
    uint64_t seed = wanted->seed;

    for (unsigned i = count; i > 1; i--) {
        unsigned other = (unsigned)(draw(&seed) % i);
        const struct replica_pool *pool = usable[i - 1];

        usable[i - 1] = usable[other];
        usable[other] = pool;
    }
    for (unsigned taken = 0; taken < wanted->count; taken++) {
        unsigned best = count;

        for (unsigned i = 0; i < count; i++)
            if (usable[i] &&
                (best == count || is_better(wanted, usable[i], usable[best], ret, taken)))
                best = i;
        assert(best < count);
        ret[taken] = usable[best];
        usable[best] = NULL;
    }
}

int replica_placement_choose(struct arena *arena, const struct replica_placement *wanted,
                             const struct replica_pool *pools, unsigned pool_count,
                             const struct replica_pool **ret, struct error *err) {
    const struct replica_pool **usable = arena_alloc(arena, (pool_count + 1) * sizeof(*usable));
    unsigned without[FAULTS + 1] = { 0 }, count = 0, allowed = 0;

    if (wanted->named)
        return take_named(arena, wanted, pools, pool_count, ret, err);
    for (unsigned i = 0; i < pool_count; i++) {
        unsigned fault = fault_of(&pools[i], wanted->bytes);

        if (!is_allowed(wanted, &pools[i]))
            continue;
        allowed++;
        without[fault]++;
        if (fault == FAULTS)
            usable[count++] = &pools[i];
    }
    if (count < wanted->count) {
        const char *drained = without[DRAINING]
                                  ? arena_format(arena, "%u are being drained, ", without[DRAINING])
                                  : "";

        return error_set(
            err, ERROR_UNAVAILABLE,
            "%u replicas need %u pools, and %u of %u can be used: %u are offline, %u take no writes, %s%u have too little space for %s.",
            wanted->count, wanted->count, count, allowed, without[OFFLINE], without[READ_ONLY],
            drained, without[NO_SPACE], quantity_text(arena, wanted->bytes));
    }
    take_best(wanted, usable, count, ret);
    return 0;
}
