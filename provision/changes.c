#include "provision/changes.h"

#include "ledger/query.h"
#include "provision/document_store.h"

#include <stdlib.h>
#include <string.h>

#define AFTER(kind, version) " = '" kind "' AND " version " > $1 ORDER BY " version " LIMIT $2"

/* Each: the number, and the config that it is about. */
static const char *const sources[] = {
    "SELECT version, id FROM documents WHERE kind" AFTER("CStorVolumeConfig", "version"),
    "SELECT version, owner_id FROM documents WHERE kind" AFTER("CStorVolume", "version"),
    "SELECT r.version, v.owner_id FROM documents r JOIN documents v ON v.id = r.owner_id "
    "WHERE r.kind" AFTER("CStorVolumeReplica", "r.version"),
    "SELECT version, owner_id FROM documents WHERE kind" AFTER("CStorVolumeSnapshot", "version"),
    /* of those that have gone, when what they belonged to is there */
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

static void put(struct work *work, struct found *found, const char *id) {
    found->ids = query_grow(work->arena, found->ids, found->count, sizeof *found->ids);
    found->ids[found->count++] = id;
}

/* *ret: the last number that was told, when there were more than may be told at once. */
static int read_source(struct work *work, const char *sql, int64_t after, struct found *found,
                       int64_t *ret, struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err, sql, DB_INT(after), DB_INT(CHANGES_MOST));
    int more = -1, count = 0;
    int64_t last = after;

    while (rows && (more = db_next(rows, err)) > 0) {
        count++;
        last = db_int(rows, 0);
        if (!db_is_null(rows, 1))
            put(work, found, db_copy(rows, 1, work->arena));
    }
    if (more < 0)
        return -1;
    if (count == CHANGES_MOST && last < *ret)
        *ret = last;
    return 0;
}

static int compare(const void *one, const void *other) {
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static unsigned drop_doubles(const char **ids, unsigned count) {
    unsigned kept = 0;

    if (count > 0)
        qsort(ids, count, sizeof *ids, compare);
    for (unsigned i = 0; i < count; i++)
        if (kept == 0 || strcmp(ids[kept - 1], ids[i]) != 0)
            ids[kept++] = ids[i];
    return kept;
}

static int has_changed(struct work *work, const struct document_kind *kind, int64_t version,
                       struct error *err) {
    int64_t one;

    return db_query_int(work->tx, &one, err,
                        "SELECT 1 FROM documents WHERE kind = $1 AND version > $2 LIMIT 1",
                        DB_TEXT(kind->name), DB_INT(version));
}

/* Of a policy all of its own project: others do not pay for edits that are none of theirs. */
static int read_of_policies(struct work *work, int64_t version, const char ***ret,
                            struct error *err) {
    int changed = has_changed(work, &kind_volume_policy, version, err);

    return changed <= 0
               ? changed
               : query_all(work,
                           db_query(work->tx, err,
                                    "SELECT id FROM documents WHERE kind = $1 AND project_id IN "
                                    "(SELECT project_id FROM documents "
                                    "WHERE kind = $2 AND version > $3)",
                                    DB_TEXT(kind_volume_config.name),
                                    DB_TEXT(kind_volume_policy.name), DB_INT(version)),
                           query_text, ret, err);
}

/* Of a snapshot, which another pool may hold now, those that are made of its volume's; each once,
 * however many snapshots have changed. */
static int read_of_snapshots(struct work *work, int64_t version, const char ***ret,
                             struct error *err) {
    int changed = has_changed(work, &kind_volume_config_snapshot, version, err);

    return changed <= 0
               ? changed
               : query_all(work,
                           db_query(work->tx, err,
                                    "SELECT l.document_id FROM (SELECT DISTINCT owner_id "
                                    "FROM documents WHERE kind = $2 AND version > $3) AS s "
                                    "JOIN documents c ON c.id = s.owner_id "
                                    "JOIN document_labels l ON l.project_id = c.project_id "
                                    "AND l.key = $1 AND l.value = c.name",
                                    DB_TEXT(LABEL_SOURCE),
                                    DB_TEXT(kind_volume_config_snapshot.name), DB_INT(version)),
                           query_text, ret, err);
}

static int read_waiting(struct work *work, int64_t version, struct changes *ret,
                        struct error *err) {
    const char **of_policies = NULL, **of_snapshots = NULL;
    int policies = read_of_policies(work, version, &of_policies, err);
    int snapshots = policies < 0 ? -1 : read_of_snapshots(work, version, &of_snapshots, err);

    if (snapshots < 0)
        return -1;
    ret->waiting = arena_alloc(work->arena, (size_t)(policies + snapshots + 1) * sizeof(char *));
    for (int i = 0; i < policies; i++)
        ret->waiting[ret->waiting_count++] = of_policies[i];
    for (int i = 0; i < snapshots; i++)
        ret->waiting[ret->waiting_count++] = of_snapshots[i];
    return 0;
}

int changes_read(struct work *work, int64_t version, struct changes *ret, struct error *err) {
    struct found found = { .count = 0 };
    struct changes changes = { .count = 0 };

    if (document_last_version(work, &changes.version, err) < 0)
        return -1;
    if (changes.version != version) {
        for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
            if (read_source(work, sources[i], version, &found, &changes.version, err) < 0)
                return -1;
        if (read_waiting(work, version, &changes, err) < 0)
            return -1;
    }
    changes.configs = found.ids;
    changes.count = drop_doubles(found.ids, found.count);
    *ret = changes;
    return 0;
}

int changes_walk(struct work *work, int64_t *version, int64_t last, unsigned most,
                 const char ***ret, struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT version, id FROM documents WHERE kind = $1 AND version > $2 AND "
                 "version <= $3 ORDER BY version LIMIT $4",
                 DB_TEXT(kind_volume_config.name), DB_INT(*version), DB_INT(last), DB_INT(most));
    struct found found = { .count = 0 };
    int more = -1;

    while (rows && (more = db_next(rows, err)) > 0) {
        put(work, &found, db_copy(rows, 1, work->arena));
        *version = db_int(rows, 0);
    }
    if (more < 0)
        return -1;
    *ret = found.ids;
    return (int)found.count;
}
