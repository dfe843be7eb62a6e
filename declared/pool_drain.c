#include "declared/pool_drain.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "declared/document_store.private.h"
#include "declared/tree.h"
#include "operation/query.h"
#include "json/json.h"

/* A replica of the pool. */
struct held {
    const char *id;
    int64_t bytes;
};

/* A running replacement of a config. */
struct moving {
    const char *replica;
    int64_t percent;
};

static const json_t *read_json(struct work *work, const struct db_rows *rows, unsigned column,
                               struct error *err) {
    const char *text = db_text(rows, column);

    return json_parse(work->arena, text, strlen(text), err);
}

static int read_held(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    const json_t *status = read_json(work, rows, 1, err);

    *(struct held *)item = (struct held){ .id = db_copy(rows, 0, work->arena),
                                          .bytes = json_bytes_at(status, "capacity.used") };
    return status ? 0 : -1;
}

static int read_moving(struct work *work, const struct db_rows *rows, void *item,
                       struct error *err) {
    const json_t *status = read_json(work, rows, 0, err);
    const json_t *move = json_object_get(status, "replacement");
    const char *copy = tree_text(move, "newReplicaId");
    const json_t *progress = tree_entry(json_object_get(status, "progress"), "replicaId", copy);

    *(struct moving *)item =
        (struct moving){ .replica = tree_text(move, "replicaId"),
                         .percent = *copy ? json_int_at(progress, "percent") : 0 };
    return status ? 0 : -1;
}

/* Bytes that are still to be copied. */
static int read_left(struct work *work, const char *pool, int64_t *ret, struct error *err) {
    struct held *held = NULL;
    struct moving *moving = NULL;
    int count = query_all(work,
                          db_query(work->tx, err,
                                   "SELECT id, status FROM documents WHERE pool = $1 AND "
                                   "deleted_at IS NULL",
                                   DB_TEXT(pool)),
                          read_held, &held, err);
    int moves = count <= 0 ? 0
                           : query_all(work,
                                       db_query(work->tx, err,
                                                "SELECT c.status FROM replica_moves m "
                                                "JOIN documents c ON c.id = m.config_id"),
                                       read_moving, &moving, err);

    if (count < 0 || moves < 0)
        return -1;
    *ret = 0;
    for (int i = 0; i < count; i++) {
        int k = 0;

        while (k < moves && !text_is(moving[k].replica, held[i].id))
            k++;
        *ret += held[i].bytes - (k < moves ? held[i].bytes * moving[k].percent / 100 : 0);
    }
    return 0;
}

int pool_drain_set(struct work *work, const struct replica_pool *pool, bool draining,
                   struct error *err) {
    int64_t bytes = 0, version;

    if (pool->draining == draining)
        return 0;
    if (draining && read_left(work, pool->id, &bytes, err) < 0)
        return -1;
    if (db_change(work->tx, err,
                  "UPDATE replica_pools SET draining = $2, drain_at = $3, drain_bytes = $4 "
                  "WHERE name = $1",
                  DB_TEXT(pool->id), DB_BOOL(draining), draining ? DB_INT(work->clock_us) : DB_NULL,
                  draining ? DB_INT(bytes) : DB_NULL) < 0)
        return -1;
    return document_next_version(work, &version, err); /* wakes the controller */
}

int pool_drain_read(struct work *work, const struct replica_pool *pool, struct pool_drain *ret,
                    struct error *err) {
    struct pool_drain drain = { .moved_bytes = -1, .remaining_s = -1 };
    int64_t elapsed_s = pool->drain_us / SECOND_US;

    if (replica_pool_replicas(work, pool->id, &drain.replicas, err) < 0 ||
        read_left(work, pool->id, &drain.left_bytes, err) < 0)
        return -1;
    if (pool->drain_us >= 0) {
        drain.moved_bytes = pool->drain_bytes > drain.left_bytes
                                ? pool->drain_bytes - drain.left_bytes
                                : 0; /* volumes in use grow meanwhile */
        drain.bytes_per_second = elapsed_s > 0 ? drain.moved_bytes / elapsed_s : 0;
    }
    if (drain.left_bytes == 0)
        drain.remaining_s = 0;
    else if (drain.bytes_per_second > 0)
        drain.remaining_s = drain.left_bytes / drain.bytes_per_second;
    *ret = drain;
    return 0;
}
