#include "model/type/access.h"

#include "operation/query.h"

int type_access_list(struct work *work, const struct volume_type *type, const char ***ret,
                     struct error *err) {
    return query_all(work,
                     db_query(work->tx, err,
                              "SELECT project_id FROM volume_type_projects "
                              "WHERE volume_type_id = $1 ORDER BY project_id",
                              DB_TEXT(type->id)),
                     query_text, ret, err);
}

static int check_private(const struct volume_type *type, struct error *err) {
    if (type->is_public)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Type access modification is not applicable to public volume type %s.",
                         type->id);
    return 0;
}

int type_access_add(struct work *work, const struct volume_type *type, const char *project_id,
                    struct error *err) {
    int added;

    if (check_private(type, err) < 0)
        return -1;
    added = db_run(work->tx, err,
                   "INSERT INTO volume_type_projects (volume_type_id, project_id) VALUES ($1, $2) "
                   "ON CONFLICT (volume_type_id, project_id) DO NOTHING",
                   DB_TEXT(type->id), DB_TEXT(project_id));
    return error_if_none(added, err, ERROR_CONFLICT,
                         "Volume type access for %s / %s combination already exists.", type->id,
                         project_id);
}

int type_access_remove(struct work *work, const struct volume_type *type, const char *project_id,
                       struct error *err) {
    int removed;

    if (check_private(type, err) < 0)
        return -1;
    removed =
        db_run(work->tx, err,
               "DELETE FROM volume_type_projects WHERE volume_type_id = $1 AND project_id = $2",
               DB_TEXT(type->id), DB_TEXT(project_id));
    return error_if_none(removed, err, ERROR_NOT_FOUND,
                         "Volume type access not found for %s / %s combination.", type->id,
                         project_id);
}
