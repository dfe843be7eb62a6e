#include "model/type/default_type.h"

#include "operation/query.h"

#define SELECT "SELECT project_id, volume_type_id FROM default_volume_types"

static int read_row(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    (void)err;
    *(struct default_type *)ret =
        (struct default_type){ db_copy(rows, 0, work->arena), db_copy(rows, 1, work->arena) };
    return 0;
}

int default_type_get(struct work *work, const char *project_id, struct default_type *ret,
                     struct error *err) {
    return query_one(work,
                     db_query(work->tx, err, SELECT " WHERE project_id = $1", DB_TEXT(project_id)),
                     read_row, ret, err);
}

int default_type_list(struct work *work, struct default_type **ret, struct error *err) {
    return query_all(work, db_query(work->tx, err, SELECT " ORDER BY project_id"), read_row, ret,
                     err);
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
