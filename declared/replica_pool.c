#include "declared/replica_pool.h"

#include "declared/name.h"
#include "operation/query.h"
#include "json/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define POOL_SELECT                                                                         \
    "SELECT name, node, path, labels, read_only, total_bytes, free_bytes, state, seen_at, " \
    "created_at, address, up_since, draining, online_at, drain_at, drain_bytes FROM replica_pools"

static int read_pool(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    struct arena *arena = work->arena;
    const char *labels = db_text(rows, 3);
    int64_t unseen_us = work->clock_us - db_int(rows, 8);
    int64_t online_at = db_is_null(rows, 13) ? db_int(rows, 8) : db_int(rows, 13);
    bool up = unseen_us <= work->settings->replica_pool_down_s * SECOND_US;

    *(struct replica_pool *)item = (struct replica_pool){
        .id = db_copy(rows, 0, arena),
        .node = db_copy(rows, 1, arena),
        .path = db_copy(rows, 2, arena),
        .labels = json_parse(arena, labels, strlen(labels), err),
        .read_only = db_bool(rows, 4),
        .total_bytes = db_int(rows, 5),
        .free_bytes = db_int(rows, 6),
        .state = db_copy(rows, 7, arena),
        .seen_at = work_shown(work, db_int(rows, 8)),
        .created_at = db_int(rows, 9),
        .address = db_copy(rows, 10, arena),
        .unseen_us = unseen_us,
        .up = up,
        .draining = db_bool(rows, 12),
        .drain_us = db_is_null(rows, 14) ? -1 : work->clock_us - db_int(rows, 14),
        .drain_bytes = db_int(rows, 15),
        .offline_us = work->clock_us - online_at,
        .up_us = up && !db_is_null(rows, 11) ? work->clock_us - db_int(rows, 11) : 0,
    };
    return ((struct replica_pool *)item)->labels ? 0 : -1;
}

bool replica_pool_accepts_replicas(const struct replica_pool *pool) {
    return pool->up && strcmp(pool->state, REPLICA_POOL_ONLINE) == 0 && !pool->read_only &&
           !pool->draining;
}

#define NEAR_FULL_PERCENT 5
#define LITTLE_PERCENT    7

enum replica_pool_space replica_pool_space(const struct replica_pool *pool) {
    if (pool->free_bytes < pool->total_bytes / 100 * NEAR_FULL_PERCENT)
        return SPACE_NEAR_FULL;
    return pool->free_bytes < pool->total_bytes / 100 * LITTLE_PERCENT ? SPACE_LITTLE : SPACE_LEFT;
}

int replica_pool_find(struct work *work, const char *name, struct replica_pool *ret,
                      struct error *err) {
    return query_one(work, db_query(work->tx, err, POOL_SELECT " WHERE name = $1", DB_TEXT(name)),
                     read_pool, ret, err);
}

int replica_pools_named(struct work *work, const char *const *names, unsigned count,
                        struct replica_pool **ret, struct error *err) {
    struct arena *arena = work->arena;
    unsigned slots = count > 0 ? query_in_count(count) : 0;
    struct db_value *values = arena_alloc(arena, slots * sizeof(*values) + 1);
    const char *sql =
        arena_join(arena, POOL_SELECT " WHERE name IN (", db_places(arena, 1, slots), ")", NULL);

    for (unsigned i = 0; i < slots; i++)
        values[i] = DB_TEXT(names[i < count ? i : count - 1]);
    return slots == 0 ? 0
                      : query_all(work, db_query_values(work->tx, err, sql, values, slots),
                                  read_pool, ret, err);
}

int replica_pool_list(struct work *work, struct replica_pool **ret, struct error *err) {
    return query_all(work, db_query(work->tx, err, POOL_SELECT " ORDER BY name"), read_pool, ret,
                     err);
}

/* An IPv6 address is in brackets. */
static bool is_address(const char *text) {
    const char *colon = strrchr(text, ':');
    char *end;
    long port = colon && isdigit((unsigned char)colon[1]) ? strtol(colon + 1, &end, 10) : 0;

    return port > 0 && port <= 65535 && *end == '\0' && colon > text &&
           (text[0] == '[' ? colon[-1] == ']' : memchr(text, ':', (size_t)(colon - text)) == NULL);
}

int replica_pool_check_instance(struct work *work, const char *node, const char *instance,
                                struct error *err) {
    int64_t others = 0;

    if (!instance)
        return 0;
    if (db_query_int(work->tx, &others, err,
                     "SELECT COUNT(*) FROM replica_pools WHERE node = $1 AND instance <> $2 "
                     "AND seen_at >= $3",
                     DB_TEXT(node), DB_TEXT(instance),
                     DB_INT(work->clock_us - work->settings->replica_pool_down_s * SECOND_US)) < 0)
        return -1;
    if (others == 0)
        return 0;
    return error_set(
        err, ERROR_CONFLICT,
        "Node %s belongs to another storage agent with the same node name, whose pools "
        "are up.",
        node);
}

/* Two running agents with one pool would have each other's replicas. */
static int check_owner(struct work *work, const struct replica_pool *reported, struct error *err) {
    struct replica_pool known;
    int found = replica_pool_find(work, reported->id, &known, err);

    if (found <= 0 || strcmp(known.node, reported->node) == 0 || !known.up)
        return found < 0 ? -1 : 0;
    return error_set(err, ERROR_CONFLICT, "Pool %s belongs to node %s, which is up.", reported->id,
                     known.node);
}

int replica_pool_report(struct work *work, const struct replica_pool *reported,
                        struct replica_pool *ret, struct error *err) {
    int found;

    if (strlen(reported->id) > REPLICA_POOL_NAME_MOST || !name_is_subdomain(reported->id))
        return error_set(err, ERROR_BAD_REQUEST,
                         "The name of a pool has lower-case letters, digits, '-' and '.', at most "
                         "%d of them.",
                         REPLICA_POOL_NAME_MOST);
    if (reported->path[0] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "path: it must begin with '/'.");
    if (reported->address && !is_address(reported->address))
        return error_set(err, ERROR_BAD_REQUEST, "address: it must be HOST:PORT.");
    if (reported->free_bytes > reported->total_bytes)
        return error_set(err, ERROR_BAD_REQUEST, "free_bytes: greater than total_bytes.");
    if (check_owner(work, reported, err) < 0 ||
        replica_pool_check_instance(work, reported->node, reported->instance, err) < 0 ||
        db_change(work->tx, err,
                  "INSERT INTO replica_pools (name, node, path, labels, read_only, total_bytes, "
                  "free_bytes, state, seen_at, created_at, address, up_since, online_at, "
                  "instance) "
                  "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $9, $9, $14) "
                  "ON CONFLICT (name) DO UPDATE "
                  "SET node = excluded.node, path = excluded.path, labels = excluded.labels, "
                  "read_only = excluded.read_only, total_bytes = excluded.total_bytes, "
                  "free_bytes = excluded.free_bytes, state = excluded.state, "
                  "seen_at = excluded.seen_at, address = excluded.address, "
                  "instance = excluded.instance, "
                  "online_at = CASE WHEN excluded.state = $13 THEN excluded.online_at "
                  "ELSE COALESCE(replica_pools.online_at, replica_pools.seen_at) END, "
                  "up_since = CASE WHEN replica_pools.seen_at < $12 OR "
                  "replica_pools.node <> excluded.node OR replica_pools.up_since IS NULL "
                  "THEN excluded.up_since ELSE replica_pools.up_since END",
                  DB_TEXT(reported->id), DB_TEXT(reported->node), DB_TEXT(reported->path),
                  DB_TEXT(json_text(work->arena, reported->labels)), DB_BOOL(reported->read_only),
                  DB_INT(reported->total_bytes), DB_INT(reported->free_bytes),
                  DB_TEXT(reported->state), DB_INT(work->clock_us), DB_INT(work->now_us),
                  DB_TEXT(reported->address),
                  DB_INT(work->clock_us - work->settings->replica_pool_down_s * SECOND_US),
                  DB_TEXT(REPLICA_POOL_ONLINE), DB_TEXT(reported->instance)) < 0)
        return -1;
    found = replica_pool_find(work, reported->id, ret, err);
    return error_if_none(found, err, ERROR_INTERNAL, "Pool %s could not be found.", reported->id);
}

int replica_pool_replicas(struct work *work, const char *name, int64_t *ret, struct error *err) {
    return db_query_int(work->tx, ret, err, "SELECT COUNT(*) FROM documents WHERE pool = $1",
                        DB_TEXT(name)) < 0
               ? -1
               : 0;
}

int replica_pool_node_unseen_us(struct work *work, const char *node, int64_t *ret_us,
                                struct error *err) {
    int64_t seen_at;
    int found =
        db_query_int(work->tx, &seen_at, err,
                     "SELECT MAX(seen_at) FROM replica_pools WHERE node = $1", DB_TEXT(node));

    if (found > 0)
        *ret_us = work->clock_us - seen_at;
    return found;
}

int replica_pool_is_node_unresponsive(struct work *work, const char *node, struct error *err) {
    int64_t unseen_us = 0;

    if (replica_pool_node_unseen_us(work, node, &unseen_us, err) < 0)
        return -1;
    return unseen_us > work->settings->replica_pool_down_s * SECOND_US;
}

int replica_pool_delete(struct work *work, const struct replica_pool *pool, struct error *err) {
    int64_t used = 0;

    if (replica_pool_replicas(work, pool->id, &used, err) < 0)
        return -1;
    if (used > 0)
        return error_set(err, ERROR_CONFLICT, "Pool %s has replicas.", pool->id);
    return db_change(work->tx, err, "DELETE FROM replica_pools WHERE name = $1", DB_TEXT(pool->id));
}
