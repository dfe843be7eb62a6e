#include "model/type/type.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/type/default_type.h"
#include "operation/pairs.h"
#include "operation/query.h"
#include "json/json.h"

#include <string.h>

#define TYPE_COLUMNS                                                           \
    "t.id, t.name, t.description, t.qos_specs_id, t.is_public, t.created_at, " \
    "t.updated_at, CASE WHEN EXISTS (SELECT 1 FROM volume_type_encryption e "  \
    "WHERE e.volume_type_id = t.id) THEN 1 ELSE 0 END"
#define TYPE_SELECT "SELECT " TYPE_COLUMNS " FROM volume_types t"

const struct quota_types volume_type_quotas = {
    .resources = (const char *const[]){ QUOTA_VOLUMES, QUOTA_GIGABYTES, QUOTA_SNAPSHOTS, NULL },
    .names = "SELECT t.name FROM volume_types t WHERE ($1 = 1 OR " TYPE_SHARED_WITH("$2") ")",
};

/* Visible to the caller: $2 is 1 if all are visible, $3 is the project. */
#define TYPE_VISIBLE " AND ($2 = 1 OR " TYPE_SHARED_WITH("$3") ")"

/* A row for each extra spec of one type; one without spec if there is none. */
#define TYPE_WITH_SPECS(condition)                                                                 \
    "SELECT " TYPE_COLUMNS ", s.key, s.value FROM volume_types t "                                 \
    "LEFT JOIN volume_type_extra_specs s ON s.volume_type_id = t.id WHERE " condition TYPE_VISIBLE \
    " ORDER BY s.key"

static const char sql_by_id[] = TYPE_WITH_SPECS("t.id = $1");
static const char sql_by_name[] = TYPE_WITH_SPECS("t.name = $1");
static const char sql_unless_own_default[] =
    TYPE_WITH_SPECS("t.name = $1 AND NOT EXISTS "
                    "(SELECT 1 FROM default_volume_types d WHERE d.project_id = $3)");

static const struct pair_rows extra_spec_rows = {
    .what = "Extra specs of volume type",
    PAIR_ROWS("volume_type_extra_specs", "volume_type_id"),
};

/* ---- reading ---- */

static int read_type(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct volume_type *)ret = (struct volume_type){
        .id = db_copy(rows, 0, arena),
        .name = db_copy(rows, 1, arena),
        .description = db_copy(rows, 2, arena),
        .qos_specs_id = db_copy(rows, 3, arena),
        .is_public = db_bool(rows, 4),
        .created_at = db_int(rows, 5),
        .updated_at = db_int(rows, 6),
        .is_encrypted = db_bool(rows, 7),
    };
    return 0;
}

/* The specs of all of them with one query; rows of one type follow each other. */
static int load_specs(struct work *work, struct volume_type *types, unsigned count,
                      struct error *err) {
    unsigned places = query_in_count(count);
    struct db_value *ids = arena_alloc(work->arena, places * sizeof(*ids));
    const char *sql = arena_format(work->arena,
                                   "SELECT volume_type_id, key, value FROM volume_type_extra_specs "
                                   "WHERE volume_type_id IN (%s) ORDER BY volume_type_id, key",
                                   db_places(work->arena, 1, places));
    struct volume_type *type = NULL;
    struct pair *items = NULL;
    int more;

    if (count == 0)
        return 0;
    for (unsigned i = 0; i < places; i++)
        ids[i] = DB_TEXT(types[i < count ? i : count - 1].id);
    autorows struct db_rows *rows = db_query_values(work->tx, err, sql, ids, places);
    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        const char *id = db_text(rows, 0);

        if (!type || strcmp(type->id, id) != 0) {
            for (type = types; strcmp(type->id, id) != 0; type++)
                assert(type < types + count - 1);
            items = NULL;
        }
        items = query_grow(work->arena, items, type->extra_specs.count, sizeof(*items));
        items[type->extra_specs.count++] =
            (struct pair){ db_copy(rows, 1, work->arena), db_copy(rows, 2, work->arena) };
        type->extra_specs.items = items;
    }
    return more;
}

int volume_type_list(struct work *work, const struct query *query, struct volume_type **ret,
                     struct error *err) {
    int count = query_all(work, query_page(work, TYPE_SELECT, query, err), read_type, ret, err);

    return count < 0 || load_specs(work, *ret, (unsigned)count, err) < 0 ? -1 : count;
}

/* 1 found, 0 none. */
static int type_one(struct work *work, const char *sql, const char *text, bool sees_all,
                    struct volume_type *ret, struct error *err) {
    enum { KEY = 8, VALUE };
    autorows struct db_rows *rows = db_query(work->tx, err, sql, DB_TEXT(text), DB_BOOL(sees_all),
                                             DB_TEXT(work->context->project_id));
    int more = rows ? db_next(rows, err) : -1;
    struct volume_type type;
    struct pair *items = NULL;

    if (more > 0 && read_type(work, rows, &type, err) < 0)
        return -1;
    if (more <= 0)
        return more;
    for (; more > 0 && !db_is_null(rows, KEY); more = db_next(rows, err)) {
        items = query_grow(work->arena, items, type.extra_specs.count, sizeof(*items));
        items[type.extra_specs.count++] =
            (struct pair){ db_copy(rows, KEY, work->arena), db_copy(rows, VALUE, work->arena) };
        type.extra_specs.items = items;
    }
    if (more < 0)
        return -1;
    *ret = type;
    return 1;
}

/* A type may have another one's id as its name: the id has priority. */
static int type_by_id_or_name(struct work *work, const char *text, bool sees_all,
                              struct volume_type *ret, struct error *err) {
    int found = uuid_parse(text, NULL) ? type_one(work, sql_by_id, text, sees_all, ret, err) : 0;

    return found ? found : type_one(work, sql_by_name, text, sees_all, ret, err);
}

static int type_must(int found, const char *text, struct error *err) {
    return error_if_none(found, err, ERROR_NOT_FOUND, "Volume type %s could not be found.", text);
}

int volume_type_row(struct work *work, const char *id, struct volume_type *ret, struct error *err) {
    return type_must(type_one(work, sql_by_id, id, true, ret, err), id, err);
}

int volume_type_get(struct work *work, const char *id, struct volume_type *ret, struct error *err) {
    return type_must(type_one(work, sql_by_id, id, work->context->is_admin, ret, err), id, err);
}

int volume_type_find(struct work *work, const char *id_or_name, struct volume_type *ret,
                     struct error *err) {
    return type_must(type_by_id_or_name(work, id_or_name, work->context->is_admin, ret, err),
                     id_or_name, err);
}

static int configured_default(struct work *work, struct volume_type *ret, struct error *err) {
    const char *name = work->settings->default_volume_type;
    int found = name ? type_by_id_or_name(work, name, true, ret, err) : 0;

    return error_if_none(found, err, ERROR_INTERNAL,
                         "The request cannot be fulfilled as the default volume type %s cannot be "
                         "found.",
                         name ? name : "(none)");
}

int volume_type_default(struct work *work, struct volume_type *ret, struct error *err) {
    const char *name = work->settings->default_volume_type;
    struct default_type own;
    int found = 0;

    /* One query for most projects: those without a default of their own. */
    if (name && !uuid_parse(name, NULL))
        found = type_one(work, sql_unless_own_default, name, true, ret, err);
    if (found != 0)
        return found < 0 ? -1 : 0;
    found = default_type_get(work, work->context->project_id, &own, err);
    if (found < 0)
        return -1;
    return found ? volume_type_get(work, own.volume_type_id, ret, err)
                 : configured_default(work, ret, err);
}

/* ---- meaning of extra specs ---- */

static bool says_true(const char *value) {
    static const char is[] = "<is>";
    bool truth = false;

    if (!value || strncmp(value, is, strlen(is)) != 0)
        return false;
    value += strlen(is);
    value += strspn(value, " ");
    return json_boolean_word(value, true, &truth) && truth;
}

bool spec_is_true(const struct pairs *specs, const char *key) {
    return says_true(pairs_get(specs, key));
}

bool volume_type_is(const struct volume_type *type, const char *spec) {
    return spec_is_true(&type->extra_specs, spec);
}

int volume_type_check_size(const struct volume_type *type, int64_t size_gb, struct error *err) {
    const char *least = pairs_get(&type->extra_specs, "provisioning:min_vol_size");
    const char *most = pairs_get(&type->extra_specs, "provisioning:max_vol_size");
    int64_t limit;

    if (least && json_digits(least, &limit) && size_gb < limit)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Specified volume size of '%jd' is less than the minimum required size of "
                         "'%jd' for volume type '%s'.",
                         size_gb, limit, type->name);
    if (most && json_digits(most, &limit) && size_gb > limit)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Specified volume size of '%jd' is greater than the maximum allowed size "
                         "of '%jd' for volume type '%s'.",
                         size_gb, limit, type->name);
    return 0;
}

/* The value that holds after `added` is laid over `present` (which may be NULL). */
static bool will_be_true(const struct pairs *present, const struct pairs *added, const char *key) {
    for (unsigned i = 0; i < added->count; i++)
        if (strcmp(added->items[i].key, key) == 0)
            return says_true(added->items[i].value);
    return present && spec_is_true(present, key);
}

static int check_specs(const struct pairs *present, const struct pairs *added, struct error *err) {
    if (will_be_true(present, added, "multiattach") && will_be_true(present, added, "cacheable"))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Extra specs multiattach and cacheable exclude each other.");
    return 0;
}

/* ---- changing ---- */

static int check_name_free(struct work *work, const char *name, struct error *err) {
    return error_if_any(
        db_query_any(work->tx, err, "SELECT 1 FROM volume_types WHERE name = $1", DB_TEXT(name)),
        err, ERROR_CONFLICT, "Volume Type %s already exists.", name);
}

int volume_type_check_unused(struct work *work, const struct volume_type *type, struct error *err) {
    return error_if_any(
        db_query_any(work->tx, err, "SELECT 1 FROM volumes WHERE volume_type_id = $1 LIMIT 1",
                     DB_TEXT(type->id)),
        err, ERROR_BAD_REQUEST, "Volume type %s is in use: there are volumes of it.", type->name);
}

int volume_type_create(struct work *work, const char *name, const char *description, bool is_public,
                       const struct pairs *extra_specs, struct volume_type *ret,
                       struct error *err) {
    static const struct pairs no_specs;
    struct volume_type type = {
        .id = work_uuid(work),
        .name = name,
        .description = description,
        .is_public = is_public,
        .extra_specs = extra_specs ? *extra_specs : no_specs,
        .created_at = work->now_us,
    };

    if (check_specs(NULL, &type.extra_specs, err) < 0 || check_name_free(work, name, err) < 0 ||
        db_run(work->tx, err,
               "INSERT INTO volume_types (id, name, description, is_public, created_at) "
               "VALUES ($1, $2, $3, $4, $5)",
               DB_TEXT(type.id), DB_TEXT(name), DB_TEXT(description), DB_BOOL(is_public),
               DB_INT(type.created_at)) < 0 ||
        pair_rows_put(work, &extra_spec_rows, &(struct pair_owner){ .id = type.id },
                      &type.extra_specs, true, err) < 0)
        return -1;
    *ret = type;
    return 0;
}

int volume_type_update(struct work *work, const struct volume_type *type, const char *name,
                       bool set_description, const char *description, int is_public,
                       struct error *err) {
    bool renamed = name && strcmp(name, type->name) != 0;

    if (renamed && (check_name_free(work, name, err) < 0 ||
                    quota_limit_rename_type(work, &volume_type_quotas, type->name, name, err) < 0))
        return -1;
    if (db_run(work->tx, err,
               "UPDATE volume_types SET name = $1, description = $2, is_public = $3, "
               "updated_at = $4 WHERE id = $5",
               DB_TEXT(renamed ? name : type->name),
               DB_TEXT(set_description ? description : type->description),
               DB_BOOL(is_public < 0 ? type->is_public : is_public > 0), DB_INT(work->now_us),
               DB_TEXT(type->id)) < 0)
        return -1;
    return 0;
}

static int check_deletable(struct work *work, const struct volume_type *type, struct error *err) {
    struct volume_type standard;
    int used;

    if (configured_default(work, &standard, err) < 0)
        return -1;
    used = db_query_any(work->tx, err,
                        "SELECT 1 FROM default_volume_types WHERE volume_type_id = $1 LIMIT 1",
                        DB_TEXT(type->id));
    if (error_if_any(used, err, ERROR_BAD_REQUEST,
                     "Volume type %s is the default volume type of a project and cannot be "
                     "deleted.",
                     type->id) < 0)
        return -1;
    used = db_query_any(work->tx, err,
                        "SELECT 1 FROM group_volume_types WHERE volume_type_id = $1 LIMIT 1",
                        DB_TEXT(type->id));
    if (error_if_any(used, err, ERROR_BAD_REQUEST,
                     "Volume type %s is in use: there are groups for volumes of it.",
                     type->name) < 0)
        return -1;
    /* With the default refused, the last type is too. */
    if (strcmp(standard.id, type->id) == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume type %s is the default volume type and cannot be deleted.",
                         type->id);
    return volume_type_check_unused(work, type, err);
}

int volume_type_delete(struct work *work, const struct volume_type *type, struct error *err) {
    static const char *const texts[] = {
        "DELETE FROM volume_type_extra_specs WHERE volume_type_id = $1",
        "DELETE FROM volume_type_projects WHERE volume_type_id = $1",
        "DELETE FROM volume_type_encryption WHERE volume_type_id = $1",
        "DELETE FROM volume_types WHERE id = $1",
    };

    if (check_deletable(work, type, err) < 0)
        return -1;
    for (unsigned i = 0; i < LENGTH(texts); i++)
        if (db_run(work->tx, err, texts[i], DB_TEXT(type->id)) < 0)
            return -1;
    return quota_limit_forget_type(work, &volume_type_quotas, type->name, err);
}

int volume_type_specs_set(struct work *work, const struct volume_type *type,
                          const struct pairs *specs, struct error *err) {
    if (volume_type_check_unused(work, type, err) < 0 ||
        check_specs(&type->extra_specs, specs, err) < 0)
        return -1;
    return pair_rows_put(work, &extra_spec_rows, &(struct pair_owner){ .id = type->id }, specs,
                         true, err);
}

int volume_type_spec_delete(struct work *work, const struct volume_type *type, const char *key,
                            struct error *err) {
    if (volume_type_check_unused(work, type, err) < 0)
        return -1;
    return error_if_none(pair_rows_remove(work, &extra_spec_rows, type->id, key, err), err,
                         ERROR_NOT_FOUND, "Volume Type %s has no extra specs with key %s.",
                         type->id, key);
}

int volume_type_bootstrap(struct work *work, struct error *err) {
    /* The last type cannot be deleted, so a database without any is a fresh one. */
    return db_change(work->tx, err,
                     "INSERT INTO volume_types (id, name, description, is_public, created_at) "
                     "SELECT $1, '__DEFAULT__', 'Default Volume Type', 1, CAST($2 AS BIGINT) "
                     "WHERE NOT EXISTS (SELECT 1 FROM volume_types) ON CONFLICT (name) DO NOTHING",
                     DB_TEXT(work_uuid(work)), DB_INT(work->now_us));
}
