#include "declared/changes.h"

#include "declared/document_store.h"
#include "operation/query.h"

#include <stdlib.h>
#include <string.h>

#define AFTER(kind, version) " = '" kind "' AND " version " > $1 ORDER BY " version " LIMIT $2"

/* Each: the version, and the config that it is about. */
static const char *const sources[] = {
    "SELECT version, id FROM documents WHERE kind" AFTER("CStorVolumeConfig", "version"),
    "SELECT version, owner_id FROM documents WHERE kind" AFTER("CStorVolume", "version"),
    "SELECT r.version, v.owner_id FROM documents r JOIN documents v ON v.id = r.owner_id "
    "WHERE r.kind" AFTER("CStorVolumeReplica", "r.version"),
    "SELECT version, owner_id FROM documents WHERE kind" AFTER("CStorVolumeSnapshot", "version"),
    /* deleted ones, while their owner exists */
    "SELECT version, owner_id FROM documents_gone WHERE kind" AFTER("CStorVolume", "version"),
    "SELECT version, owner_id FROM documents_gone WHERE kind" AFTER("CStorVolumeSnapshot",
                                                                    "version"),
    "SELECT r.version, v.owner_id FROM documents_gone r JOIN documents v ON v.id = r.owner_id "
    "WHERE r.kind" AFTER("CStorVolumeReplica", "r.version"),
};

struct found {
    const char **ids;
    unsigned count;
};

static void add_id(struct work *work, struct found *found, const char *id) {
    found->ids = query_grow(work->arena, found->ids, found->count, sizeof *found->ids);
    found->ids[found->count++] = id;
}

static int compare(const void *one, const void *other) {
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* ---- configs waiting for a changed document ---- */

#define CHANGED(kind) " WHERE kind = '" kind "' AND version > $1"

/* Each: has such a document changed, and the configs that may continue. */
/* clang-format off */
static const struct {
    const char *changed, *waiting;
} waits[] = {
    /* A policy: all configs of its own project; other projects do not pay for its edits. */
    { "SELECT 1 FROM documents" CHANGED("CStorVolumePolicy") " LIMIT 1",
      "SELECT id FROM documents WHERE kind = 'CStorVolumeConfig' AND project_id IN "
      "(SELECT project_id FROM documents" CHANGED("CStorVolumePolicy") ")" },
    /* A snapshot, which another pool may hold now: clones of its volume, each once for any number
     * of changed snapshots. */
    { "SELECT 1 FROM documents" CHANGED("CStorVolumeSnapshot") " LIMIT 1",
      "SELECT l.document_id FROM (SELECT DISTINCT owner_id "
      "FROM documents" CHANGED("CStorVolumeSnapshot") ") AS s "
      "JOIN documents c ON c.id = s.owner_id "
      "JOIN document_labels l ON l.project_id = c.project_id "
      "AND l.key = '" LABEL_SOURCE "' AND l.value = c.name" },
};
/* clang-format on */

static int read_waiting(struct work *work, int64_t version, struct changes *ret,
                        struct error *err) {
    struct found found = { .count = 0 };

    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        int more = db_query_any(work->tx, err, waits[i].changed, DB_INT(version));

        if (more > 0) {
            autorows struct db_rows *rows =
                db_query(work->tx, err, waits[i].waiting, DB_INT(version));

            more = -1;
            while (rows && (more = db_next(rows, err)) > 0)
                add_id(work, &found, db_copy(rows, 0, work->arena));
        }
        if (more < 0)
            return -1;
    }
    ret->waiting = found.ids;
    ret->waiting_count = found.count;
    return 0;
}

/* ---- all ---- */

int changes_read(struct work *work, int64_t version, struct changes *ret, struct error *err) {
    struct found found = { .count = 0 };
    struct changes changes = { .draining = -1 };

    if (document_last_version(work, &changes.version, err) < 0)
        return -1;
    if (changes.version != version) {
        for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
            autorows struct db_rows *rows =
                db_query(work->tx, err, sources[i], DB_INT(version), DB_INT(CHANGES_MOST));
            int64_t last = version;
            int more = -1, count = 0;

            for (; rows && (more = db_next(rows, err)) > 0; count++) {
                last = db_int(rows, 0);
                if (!db_is_null(rows, 1))
                    add_id(work, &found, db_copy(rows, 1, work->arena));
            }
            if (more < 0)
                return -1;
            if (count == CHANGES_MOST && last < changes.version) /* there are more */
                changes.version = last;
        }
        if (read_waiting(work, version, &changes, err) < 0 ||
            db_query_int(work->tx, &changes.draining, err,
                         "SELECT COUNT(*) FROM replica_pools WHERE draining = 1") < 0)
            return -1;
    }
    if (found.count > 0)
        qsort(found.ids, found.count, sizeof *found.ids, compare);
    for (unsigned i = 0; i < found.count; i++)
        if (changes.count == 0 || strcmp(found.ids[changes.count - 1], found.ids[i]) != 0)
            found.ids[changes.count++] = found.ids[i];
    changes.configs = found.ids;
    *ret = changes;
    return 0;
}

static int read_config(struct work *work, const struct db_rows *rows, void *item,
                       struct error *err) {
    (void)err;
    *(struct changes_config *)item =
        (struct changes_config){ db_int(rows, 0), db_copy(rows, 1, work->arena) };
    return 0;
}

int changes_walk(struct work *work, int64_t version, int64_t last, unsigned most,
                 struct changes_config **ret, struct error *err) {
    struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT version, id FROM documents WHERE kind = $1 AND version > $2 AND "
                 "version <= $3 ORDER BY version LIMIT $4",
                 DB_TEXT(kind_volume_config.name), DB_INT(version), DB_INT(last), DB_INT(most));

    return query_all(work, rows, read_config, ret, err);
}

static int read_version(struct work *work, const struct db_rows *rows, void *item,
                        struct error *err) {
    (void)work;
    (void)err;
    *(int64_t *)item = db_int(rows, 0);
    return 0;
}

int changes_of_pool(struct work *work, const struct pool_change *change, int64_t **ret,
                    struct error *err) {
    struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT c.version FROM documents r JOIN documents v ON v.id = r.owner_id "
                 "JOIN documents c ON c.id = v.owner_id WHERE r.pool = $1 "
                 "UNION ALL SELECT c.version FROM documents v JOIN documents c "
                 "ON c.id = v.owner_id WHERE v.node IN ($2, $3) AND v.kind = $4",
                 DB_TEXT(change->pool), DB_TEXT(change->node), DB_TEXT(change->old_node),
                 DB_TEXT(kind_replicated_volume.name));

    return query_all(work, rows, read_version, ret, err);
}
