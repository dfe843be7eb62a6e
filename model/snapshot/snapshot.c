#include "model/snapshot/snapshot.h"

#include <string.h>

#define SNAPSHOT_COLUMNS(host, type_name)                                                         \
    "SELECT s.id, s.volume_id, s.project_id, s.user_id, s.display_name, s.display_description, "  \
    "s.size_gb, s.status, s.status_by_reset, s.progress, s.use_quota, s.delete_begun, s.format, " \
    "s.provider_location, s.group_snapshot_id, s.created_at, s.updated_at, " host ", "            \
    "s.availability_zone, " type_name ", CASE WHEN EXISTS (SELECT 1 FROM snapshot_metadata m "    \
    "WHERE m.snapshot_id = s.id) THEN 1 ELSE 0 END, s.counted_gb, s.taken_over FROM snapshots s "
#define SNAPSHOT_SELECT                  \
    SNAPSHOT_COLUMNS("v.host", "t.name") \
    "JOIN volumes v ON v.id = s.volume_id LEFT JOIN volume_types t ON t.id = v.volume_type_id "

const struct pair_rows snapshot_metadata_rows = {
    .what = "Metadata of snapshot",
    PAIR_ROWS_SOUGHT("snapshot_metadata", "snapshot_id"),
};

/* ---- reading ---- */

struct snapshot_line {
    struct snapshot snapshot;
    bool has_metadata;
};

static int snapshot_read(struct work *work, const struct db_rows *rows, void *item,
                         struct error *err) {
    struct arena *arena = work->arena;
    struct snapshot_line *line = item;
    unsigned status;

    line->has_metadata = db_bool(rows, 20);
    line->snapshot = (struct snapshot){
        .id = db_copy(rows, 0, arena),
        .volume_id = db_copy(rows, 1, arena),
        .project_id = db_copy(rows, 2, arena),
        .user_id = db_copy(rows, 3, arena),
        .name = db_copy(rows, 4, arena),
        .description = db_copy(rows, 5, arena),
        .size_gb = db_int(rows, 6),
        .status_by_reset = db_bool(rows, 8),
        .progress = db_copy(rows, 9, arena),
        .use_quota = db_bool(rows, 10),
        .counted_gb = db_int(rows, 21),
        .delete_begun = db_bool(rows, 11),
        .taken_over = db_bool(rows, 22),
        .format = db_copy(rows, 12, arena),
        .provider_location = db_copy(rows, 13, arena),
        .group_snapshot_id = db_copy(rows, 14, arena),
        .created_at = db_int(rows, 15),
        .updated_at = db_int(rows, 16),
        .host = db_copy(rows, 17, arena),
        .availability_zone = db_copy(rows, 18, arena),
        .type_name = db_copy(rows, 19, arena),
    };
    if (status_find(&snapshot_objects, db_text(rows, 7), &status) < 0)
        return error_set(err, ERROR_INTERNAL, "Snapshot %s has the unknown status \"%s\".",
                         line->snapshot.id, db_text(rows, 7));
    line->snapshot.status = (enum snapshot_status)status;
    return 0;
}

static int load_metadata(struct work *work, struct snapshot_line *line, struct error *err) {
    if (!line->has_metadata)
        return 0;
    return pair_rows_get(work, &snapshot_metadata_rows, line->snapshot.id, &line->snapshot.metadata,
                         err);
}

/* $2 is 1 if all are visible, else $3 is the caller's project. */
static int snapshot_one(struct work *work, const char *id, bool all, struct snapshot_line *ret,
                        struct error *err) {
    struct db_rows *rows =
        db_query(work->tx, err, SNAPSHOT_SELECT "WHERE s.id = $1 AND ($2 = 1 OR s.project_id = $3)",
                 DB_TEXT(id), DB_BOOL(all), DB_TEXT(all ? NULL : work->context->project_id));

    return error_if_none(query_one(work, rows, snapshot_read, ret, err), err, ERROR_NOT_FOUND,
                         "Snapshot %s could not be found.", id);
}

int snapshot_get(struct work *work, const char *id, struct snapshot *ret, struct error *err) {
    struct snapshot_line line;

    if (snapshot_one(work, id, work->context->is_admin, &line, err) < 0 ||
        load_metadata(work, &line, err) < 0)
        return -1;
    *ret = line.snapshot;
    return 0;
}

int snapshot_row(struct work *work, const char *id, struct snapshot *ret, struct error *err) {
    struct snapshot_line line;

    if (snapshot_one(work, id, true, &line, err) < 0)
        return -1;
    *ret = line.snapshot;
    return 0;
}

/* A page ends where its metadata exceed the limit of memory, after the first at the earliest. */
int snapshot_list(struct work *work, const struct query *query, struct snapshot **ret,
                  struct error *err) {
    struct snapshot_line *lines;
    int count = query_all(work, query_page(work, SNAPSHOT_COLUMNS("NULL", "NULL"), query, err),
                          snapshot_read, &lines, err);
    size_t before = arena_bytes(work->arena);

    if (count < 0)
        return -1;
    *ret = arena_alloc(work->arena, (size_t)count * sizeof **ret + 1);
    for (int i = 0; i < count; i++) {
        if (load_metadata(work, &lines[i], err) < 0)
            return -1;
        (*ret)[i] = lines[i].snapshot;
        if (query->bytes_most > 0 && i + 1 < count &&
            arena_bytes(work->arena) - before > query->bytes_most) {
            *query->cut = true;
            return i + 1;
        }
    }
    return count;
}

static int rows_alone(struct work *work, struct db_rows *rows, struct snapshot **ret,
                      struct error *err) {
    struct snapshot_line *lines;
    int count = query_all(work, rows, snapshot_read, &lines, err);

    if (count < 0)
        return -1;
    *ret = arena_alloc(work->arena, (size_t)count * sizeof **ret + 1);
    for (int i = 0; i < count; i++)
        (*ret)[i] = lines[i].snapshot;
    return count;
}

int snapshot_all(struct work *work, struct snapshot **ret, struct error *err) {
    return rows_alone(work, db_query(work->tx, err, SNAPSHOT_SELECT "ORDER BY s.id"), ret, err);
}

int snapshot_of(struct work *work, const char *volume_id, struct snapshot **ret,
                struct error *err) {
    return rows_alone(work,
                      db_query(work->tx, err,
                               SNAPSHOT_SELECT
                               "WHERE s.volume_id = $1 ORDER BY s.asked_us DESC, s.id DESC",
                               DB_TEXT(volume_id)),
                      ret, err);
}

int snapshot_of_group(struct work *work, const char *group_snapshot_id, struct snapshot **ret,
                      struct error *err) {
    return rows_alone(work,
                      db_query(work->tx, err,
                               SNAPSHOT_SELECT
                               "WHERE s.group_snapshot_id = $1 ORDER BY s.volume_id",
                               DB_TEXT(group_snapshot_id)),
                      ret, err);
}

bool snapshot_is_hidden(const struct work *work, const struct snapshot *snapshot) {
    return !work->context->is_admin && strcmp(snapshot->project_id, work->context->project_id) != 0;
}

int snapshot_any_of(struct work *work, const char *volume_id, struct error *err) {
    return db_query_any(work->tx, err, "SELECT 1 FROM snapshots WHERE volume_id = $1 LIMIT 1",
                        DB_TEXT(volume_id));
}

int snapshot_none_of(struct work *work, const char *volume_id, struct error *err) {
    int64_t count = 0;

    if (db_query_int(work->tx, &count, err, "SELECT COUNT(*) FROM snapshots WHERE volume_id = $1",
                     DB_TEXT(volume_id)) < 0)
        return -1;
    if (count > 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s has %jd snapshots, which must be deleted "
                         "first.",
                         volume_id, (intmax_t)count);
    return 0;
}
