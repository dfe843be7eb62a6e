/*
 * Declared volumes: nodes without heartbeat, with their objects, and the directories of this node's
 * pools against documents.
 */
#include "common/cleanup.h"
#include "common/clock.h"
#include "declared/replica_pool.h"
#include "manager/check/check.private.h"
#include "operation/query.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SNAPSHOT "snapshot-"

/* ---- nodes without heartbeat: notes ---- */

static bool is_up(const struct replica_pool *pools, int count, const char *node) {
    for (int i = 0; i < count; i++)
        if (pools[i].up && strcmp(pools[i].node, node) == 0)
            return true;
    return false;
}

/* What waits for nodes: SQL of the node's name and the object. */
static const struct {
    const char *sql, *what;
} waits[] = {
    { "SELECT node, COUNT(*) FROM documents WHERE kind = 'CStorVolumeReplica' "
      "AND node IS NOT NULL AND deleted_at IS NULL GROUP BY node ORDER BY node",
      "has replicas" },
    { "SELECT node, COUNT(*) FROM documents WHERE kind = 'CStorVolumeReplica' "
      "AND node IS NOT NULL AND deleted_at IS NOT NULL GROUP BY node ORDER BY node",
      "has not reported the deletion of replicas" },
    { "SELECT d.node, COUNT(*) FROM documents d JOIN documents o ON o.id = d.owner_id "
      "WHERE d.kind = 'CStorVolume' AND d.node IS NOT NULL "
      "AND o.body LIKE '%\"publish\":{\"nodeId\":\"' || d.node || '\"%' "
      "GROUP BY d.node ORDER BY d.node",
      "is to serve volumes" },
    { "SELECT d.node, COUNT(*) FROM documents d JOIN documents o ON o.id = d.owner_id "
      "WHERE d.kind = 'CStorVolume' AND d.node IS NOT NULL "
      "AND o.body NOT LIKE '%\"publish\":{\"nodeId\":\"' || d.node || '\"%' "
      "GROUP BY d.node ORDER BY d.node",
      "has not said that it serves no more volumes that are published there no more" },
};

int round_note_nodes(struct round *round, struct work *work, struct error *err) {
    struct replica_pool *pools = NULL;
    int count = replica_pool_list(work, &pools, err);

    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (!pools[i].up)
            round_note(round, "pool %s: node %s has not told of it for %jd seconds", pools[i].id,
                       pools[i].node, (intmax_t)(pools[i].unseen_us / SECOND_US));
    for (size_t i = 0; i < LENGTH(waits); i++) {
        autorows struct db_rows *rows = db_query(work->tx, err, waits[i].sql);
        int more;

        if (!rows)
            return -1;
        while ((more = db_next(rows, err)) > 0)
            if (!is_up(pools, count, db_text(rows, 0)))
                round_note(round, "node %s is silent, and %s: %jd", db_text(rows, 0), waits[i].what,
                           (intmax_t)db_int(rows, 1));
        if (more < 0)
            return -1;
    }
    return 0;
}

/* ---- files in a pool ---- */

struct look {
    struct round *round;
    const struct check_pool *pool;
    const struct work *base;
    const char *kind, *id;
};

static int find_document(struct work *work, void *arg, struct error *err) {
    const struct look *look = arg;

    return db_query_any(work->tx, err, "SELECT 1 FROM documents WHERE kind = $1 AND id = $2",
                        DB_TEXT(look->kind), DB_TEXT(look->id));
}

/* 1: it has no document, and still exists after that query. */
static int is_stranger(const struct look *look, const char *kind, const char *id, const char *path,
                       struct error *err) {
    struct look of = { .kind = kind, .id = id };
    int found = work_read(look->round->check->db, look->base, find_document, &of, err);

    return found != 0 ? (found < 0 ? -1 : 0) : access(path, F_OK) == 0;
}

/* The sorted names in a directory; -1: errno has the reason. */
static int read_names(struct arena *arena, const char *path, const char ***ret) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);

    if (count < 0)
        return -1;
    *ret = arena_alloc(arena, ((size_t)count + 1) * sizeof **ret);
    for (int i = 0; i < count; i++) {
        (*ret)[i] = arena_text(arena, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return count;
}

/* A directory removed meanwhile is skipped. */
static int check_snapshots(const struct look *look, const char *path, struct error *err) {
    struct arena *arena = look->round->arena;
    const char **names = NULL;
    int count = read_names(arena, path, &names);

    for (int i = 0; i < count; i++) {
        const char *file = arena_join(arena, path, "/", names[i], NULL);
        char id[UUID_SIZE];
        int strange;

        if (strncmp(names[i], SNAPSHOT, strlen(SNAPSHOT)) != 0 ||
            !uuid_parse(names[i] + strlen(SNAPSHOT), id))
            continue;
        strange = is_stranger(look, "CStorVolumeSnapshot", id, file, err);
        if (strange < 0)
            return -1;
        if (strange)
            round_found(look->round, "P3", "pool %s has %s, which is no snapshot's",
                        look->pool->name, file);
    }
    return 0;
}

/* ---- documents without files ---- */

struct healthy {
    const char *pool, **ids;
    int count;
};

static int list_healthy(struct work *work, void *arg, struct error *err) {
    struct healthy *healthy = arg;
    const char *where =
        arena_format(work->arena, "%%\"poolName\":\"%s\"%%", healthy->pool); /* compact JSON */
    struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT id FROM documents WHERE kind = 'CStorVolumeReplica' AND "
                 "deleted_at IS NULL AND body LIKE $1 AND status LIKE '%\"phase\":\"Healthy\"%' "
                 "ORDER BY id",
                 DB_TEXT(where));

    healthy->count = query_all(work, rows, query_text, &healthy->ids, err);
    return healthy->count < 0 ? -1 : 0;
}

static int check_healthy(const struct look *look, struct error *err) {
    struct arena *arena = look->round->arena;
    struct healthy healthy = { .pool = look->pool->name };

    if (work_read(look->round->check->db, look->base, list_healthy, &healthy, err) < 0)
        return -1;
    for (int i = 0; i < healthy.count; i++) {
        const char *path = arena_join(arena, look->pool->path, "/", healthy.ids[i], "/data", NULL);

        if (access(path, F_OK) < 0 && errno == ENOENT)
            round_found(look->round, "P3", "replica %s is healthy, but pool %s has no %s",
                        healthy.ids[i], look->pool->name, path);
    }
    return 0;
}

int round_check_pool(struct round *round, const struct check_pool *pool, const struct work *base,
                     struct error *err) {
    const struct look look = { .round = round, .pool = pool, .base = base };
    const char **names = NULL;
    int count;

    if (access(pool->path, F_OK) == 0 && check_healthy(&look, err) < 0)
        return -1;
    count = read_names(round->arena, pool->path, &names);
    if (count < 0)
        round_found(round, "P3", "pool %s: %s: %s", pool->name, pool->path, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *path = arena_join(round->arena, pool->path, "/", names[i], NULL);
        char id[UUID_SIZE];
        int strange;

        if (!uuid_parse(names[i], id))
            continue;
        strange = is_stranger(&look, "CStorVolumeReplica", id, path, err);
        if (strange < 0 || (!strange && check_snapshots(&look, path, err) < 0))
            return -1;
        if (strange)
            round_found(round, "P3", "pool %s has %s, which is no replica's", pool->name, path);
    }
    return 0;
}
