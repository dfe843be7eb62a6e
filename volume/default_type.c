#include "volume/default_type.h"

#include "ledger/query.h"

#define SELECT "SELECT project_id, volume_type_id FROM default_volume_types"

static struct default_type read_row(struct work *work, const struct db_rows *rows) {
    return (struct default_type){ db_copy(rows, 0, work->arena), db_copy(rows, 1, work->arena) };
}

int default_type_get(struct work *work, const char *project_id, struct default_type *ret,
                     struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err, SELECT " WHERE project_id = $1", DB_TEXT(project_id));
    int more;

    if (!rows || (more = db_next(rows, err)) < 0)
        return -1;
    if (more > 0)
        *ret = read_row(work, rows);
    return more;
}

int default_type_list(struct work *work, struct default_type **ret, struct error *err) {
    autorows struct db_rows *rows = db_query(work->tx, err, SELECT " ORDER BY project_id");
    struct default_type *types = NULL;
    unsigned count = 0;
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        types = query_grow(work->arena, types, count, sizeof(*types));
        types[count++] = read_row(work, rows);
    }
    if (more < 0)
        return -1;
    *ret = types;
    return (int)count;
}

int default_type_set(struct work *work, const char *project_id, const char *volume_type_id,
                     struct error *err) {
    return db_change(work->tx, err,
                     "INSERT INTO default_volume_types (project_id, volume_type_id, created_at) "
                     "VALUES ($1, $2, $3) ON CONFLICT (project_id) DO UPDATE SET "
                     "volume_type_id = excluded.volume_type_id, updated_at = excluded.created_at",
                     DB_TEXT(project_id), DB_TEXT(volume_type_id), DB_INT(work->now_us));
}

int default_type_unset(struct work *work, const char *project_id, struct error *err) {
    return db_change(work->tx, err, "DELETE FROM default_volume_types WHERE project_id = $1",
                     DB_TEXT(project_id));
}
