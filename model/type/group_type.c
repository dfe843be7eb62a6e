#include "model/type/group_type.h"

#include "common/cleanup.h"
#include "model/type/reserved_type.h"
#include "model/type/type.h"

#include <string.h>

#define TYPE_SELECT                                                                \
    "SELECT t.id, t.name, t.description, t.is_public, t.created_at, t.updated_at " \
    "FROM group_types t"

/* $2 is 1 if all are visible, $3 the project. */
#define TYPE_VISIBLE " AND ($2 = 1 OR " GROUP_TYPE_SHARED_WITH("$3") ")"

static const char sql_by_id[] = TYPE_SELECT " WHERE t.id = $1" TYPE_VISIBLE;
/* A type may have another one's id as its name: the id has priority. */
static const char sql_by_id_or_name[] =
    TYPE_SELECT " WHERE (t.id = $1 OR t.name = $1)" TYPE_VISIBLE
                " ORDER BY CASE WHEN t.id = $1 THEN 0 ELSE 1 END";

static const struct pair_rows spec_rows = {
    .what = "Group specs of group type",
    PAIR_ROWS("group_type_specs", "group_type_id"),
};

/* ---- reading ---- */

static int read_type(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct group_type *)item = (struct group_type){
        .id = db_copy(rows, 0, arena),
        .name = db_copy(rows, 1, arena),
        .description = db_copy(rows, 2, arena),
        .is_public = db_bool(rows, 3),
        .created_at = db_int(rows, 4),
        .updated_at = db_int(rows, 5),
    };
    return 0;
}

static int load_specs(struct work *work, struct group_type *type, struct error *err) {
    return pair_rows_get(work, &spec_rows, type->id, &type->specs, err);
}

int group_type_list(struct work *work, const struct query *query, struct group_type **ret,
                    struct error *err) {
    int count = query_all(work, query_page(work, TYPE_SELECT, query, err), read_type, ret, err);

    for (int i = 0; i < count; i++)
        if (load_specs(work, &(*ret)[i], err) < 0)
            return -1;
    return count;
}

static int type_one(struct work *work, const char *sql, const char *text, bool sees_all,
                    struct group_type *ret, struct error *err) {
    struct db_rows *rows = db_query(work->tx, err, sql, DB_TEXT(text), DB_BOOL(sees_all),
                                    DB_TEXT(work->context->project_id));
    struct group_type type;

    if (error_if_none(query_one(work, rows, read_type, &type, err), err, ERROR_NOT_FOUND,
                      "Group type %s could not be found.", text) < 0 ||
        load_specs(work, &type, err) < 0)
        return -1;
    *ret = type;
    return 0;
}

int group_type_get(struct work *work, const char *id, struct group_type *ret, struct error *err) {
    return type_one(work, sql_by_id, id, work->context->is_admin, ret, err);
}

int group_type_row(struct work *work, const char *id, struct group_type *ret, struct error *err) {
    return type_one(work, sql_by_id, id, true, ret, err);
}

int group_type_find(struct work *work, const char *id_or_name, struct group_type *ret,
                    struct error *err) {
    return type_one(work, sql_by_id_or_name, id_or_name, work->context->is_admin, ret, err);
}

int group_type_default(struct work *work, struct group_type *ret, struct error *err) {
    const char *name = work->settings->default_group_type;

    if (!name)
        return error_set(err, ERROR_NOT_FOUND, "Default group type can not be found.");
    return group_type_find(work, name, ret, err);
}

bool group_type_replicates(const struct group_type *type) {
    return spec_is_true(&type->specs, "group_replication_enabled") ||
           spec_is_true(&type->specs, "consistent_group_replication_enabled");
}

int group_type_refuse_reserved(const char *name, struct error *err) {
    if (!group_type_is_reserved(name))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid group type: Group type %s is reserved for consistency groups.", name);
}

/* ---- changing ---- */

static int check_name_free(struct work *work, const char *name, struct error *err) {
    return error_if_any(
        db_query_any(work->tx, err, "SELECT 1 FROM group_types WHERE name = $1", DB_TEXT(name)),
        err, ERROR_CONFLICT, "Group Type %s already exists.", name);
}

int group_type_create(struct work *work, const char *name, const char *description, bool is_public,
                      const struct pairs *specs, struct group_type *ret, struct error *err) {
    const struct group_type type = {
        .id = work_uuid(work),
        .name = name,
        .description = description,
        .is_public = is_public,
        .specs = *specs,
        .created_at = work->now_us,
    };

    if (check_name_free(work, name, err) < 0 ||
        db_run(work->tx, err,
               "INSERT INTO group_types (id, name, description, is_public, created_at) "
               "VALUES ($1, $2, $3, $4, $5)",
               DB_TEXT(type.id), DB_TEXT(name), DB_TEXT(description), DB_BOOL(is_public),
               DB_INT(type.created_at)) < 0 ||
        pair_rows_put(work, &spec_rows, &(struct pair_owner){ .id = type.id }, specs, true, err) <
            0)
        return -1;
    *ret = type;
    return 0;
}

int group_type_update(struct work *work, const struct group_type *type, const char *name,
                      const char *description, int is_public, struct error *err) {
    if (name && strcmp(name, type->name) != 0 && check_name_free(work, name, err) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE group_types SET name = $1, description = $2, is_public = $3, "
                     "updated_at = $4 WHERE id = $5",
                     DB_TEXT(name ? name : type->name),
                     DB_TEXT(description ? description : type->description),
                     DB_BOOL(is_public < 0 ? type->is_public : is_public > 0), DB_INT(work->now_us),
                     DB_TEXT(type->id));
}

int group_type_delete(struct work *work, const struct group_type *type, struct error *err) {
    static const char *const texts[] = {
        "DELETE FROM group_type_specs WHERE group_type_id = $1",
        "DELETE FROM group_type_projects WHERE group_type_id = $1",
        "DELETE FROM group_types WHERE id = $1",
    };
    const char *name = work->settings->default_group_type;
    int used = db_query_any(work->tx, err,
                            "SELECT 1 WHERE EXISTS (SELECT 1 FROM volume_groups "
                            "WHERE group_type_id = $1) OR EXISTS (SELECT 1 FROM group_snapshots "
                            "WHERE group_type_id = $1)",
                            DB_TEXT(type->id));

    if (name && strcmp(name, type->name) == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Group Type %s deletion is not allowed: it is the default group type.",
                         type->id);
    if (error_if_any(used, err, ERROR_BAD_REQUEST,
                     "Group Type %s deletion is not allowed with groups present with the type.",
                     type->id) < 0)
        return -1;
    for (unsigned i = 0; i < LENGTH(texts); i++)
        if (db_run(work->tx, err, texts[i], DB_TEXT(type->id)) < 0)
            return -1;
    return 0;
}

int group_type_specs_set(struct work *work, const struct group_type *type,
                         const struct pairs *specs, struct error *err) {
    return pair_rows_put(work, &spec_rows, &(struct pair_owner){ .id = type->id }, specs, true,
                         err);
}

int group_type_spec_delete(struct work *work, const struct group_type *type, const char *key,
                           struct error *err) {
    return error_if_none(pair_rows_remove(work, &spec_rows, type->id, key, err), err,
                         ERROR_NOT_FOUND, "Group Type %s has no specs with key %s.", type->id, key);
}

int group_type_bootstrap(struct work *work, struct error *err) {
    static const struct pair consistent = { "consistent_group_snapshot_enabled", "<is> True" };
    const char *name = work->settings->default_group_type, *id = work_uuid(work);
    int made = db_run(work->tx, err,
                      "INSERT INTO group_types (id, name, description, is_public, created_at) "
                      "SELECT $1, $2, 'Default group type for migrating cgsnapshot', 1, "
                      "CAST($3 AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM group_types) "
                      "ON CONFLICT (name) DO NOTHING",
                      DB_TEXT(id), DB_TEXT(GROUP_TYPE_RESERVED), DB_INT(work->now_us));

    if (made < 0 || (made > 0 && pair_rows_put(work, &spec_rows, &(struct pair_owner){ .id = id },
                                               &(struct pairs){ &consistent, 1 }, true, err) < 0))
        return -1;
    if (!name || strcmp(name, GROUP_TYPE_DEFAULT) != 0)
        return 0;
    /* Without specs: it accepts volumes of any backend. */
    return db_change(work->tx, err,
                     "INSERT INTO group_types (id, name, description, is_public, created_at) "
                     "SELECT $1, $2, 'Default Group Type', 1, CAST($3 AS BIGINT) WHERE NOT EXISTS "
                     "(SELECT 1 FROM group_types WHERE name = $2) ON CONFLICT (name) DO NOTHING",
                     DB_TEXT(work_uuid(work)), DB_TEXT(GROUP_TYPE_DEFAULT), DB_INT(work->now_us));
}
