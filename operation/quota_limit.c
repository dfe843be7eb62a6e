#include "operation/quota_limit.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "operation/query.h"

#include <string.h>

static const struct fixed_resource {
    const char *name;
    size_t limit; /* offset of the configured limit */
} fixed_resources[] = {
    { QUOTA_VOLUMES, offsetof(struct settings, quota_volumes) },
    { QUOTA_PER_VOLUME, offsetof(struct settings, per_volume_size_limit) },
    { QUOTA_SNAPSHOTS, offsetof(struct settings, quota_snapshots) },
    { QUOTA_GIGABYTES, offsetof(struct settings, quota_gigabytes) },
    { QUOTA_BACKUPS, offsetof(struct settings, quota_backups) },
    { QUOTA_BACKUP_GIGABYTES, offsetof(struct settings, quota_backup_gigabytes) },
    { QUOTA_GROUPS, offsetof(struct settings, quota_groups) },
};

static const struct fixed_resource *fixed_find(const char *name) {
    for (size_t i = 0; i < LENGTH(fixed_resources); i++)
        if (strcmp(fixed_resources[i].name, name) == 0)
            return &fixed_resources[i];
    return NULL;
}

int64_t quota_limit_configured(const struct settings *settings, const char *resource) {
    const struct fixed_resource *fixed = fixed_find(resource);

    /* -1: of a type */
    return fixed ? *(const int64_t *)((const char *)settings + fixed->limit) : -1;
}

char *quota_limit_of_type(struct arena *arena, const char *resource, const char *type_name) {
    return arena_join(arena, resource, "_", type_name, NULL);
}

/* The fixed ones in order, followed by those of the types that the caller sees. */
static const char *resources_sql(struct arena *arena, const struct quota_types *types) {
    const char *sql = "";

    for (size_t i = 0; i < LENGTH(fixed_resources); i++)
        sql = arena_format(arena, "%sSELECT %zu AS place, '' AS name, '%s' AS resource UNION ALL ",
                           sql, i, fixed_resources[i].name);
    for (size_t i = 0; types->resources[i]; i++)
        sql = arena_format(arena, "%s%sSELECT %zu, t.name, '%s_' || t.name FROM (%s) AS t", sql,
                           i > 0 ? " UNION ALL " : "", LENGTH(fixed_resources) + i,
                           types->resources[i], types->names);
    return sql;
}

static int read_quota(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    const char *resource = db_copy(rows, 0, work->arena);
    int64_t used = db_int(rows, 3), reserved = db_int(rows, 4);

    (void)err;
    *(struct quota *)ret = (struct quota){
        .resource = resource,
        .limit = !db_is_null(rows, 1)   ? db_int(rows, 1)
                 : !db_is_null(rows, 2) ? db_int(rows, 2)
                                        : quota_limit_configured(work->settings, resource),
        .in_use = used > reserved ? used - reserved : 0,
        .reserved = reserved,
    };
    return 0;
}

/* Every resource with its stored limits and usage; `own` are the own limits of $3, $4 is the
 * project of the usage. */
static int list_quotas(struct work *work, const struct quota_types *types, const char *own,
                       const char *owner, const char *user, struct quota **ret, struct error *err) {
    const char *sql = arena_format(
        work->arena,
        "SELECT r.resource, o.hard_limit, c.hard_limit, u.used, v.reserved FROM (%s) AS r "
        "LEFT JOIN %s = $3 AND o.resource = r.resource "
        "LEFT JOIN quota_classes c ON c.class_name = 'default' AND c.resource = r.resource "
        "LEFT JOIN quota_usages u ON u.project_id = $4 AND u.resource = r.resource "
        "LEFT JOIN (SELECT resource, CAST(SUM(delta) AS BIGINT) AS reserved "
        "FROM reservations WHERE project_id = $4 GROUP BY resource) AS v "
        "ON v.resource = r.resource "
        "ORDER BY CASE WHEN r.place < %zu THEN r.place ELSE %zu END, r.name, r.place",
        resources_sql(work->arena, types), own, LENGTH(fixed_resources), LENGTH(fixed_resources));

    return query_all(work,
                     db_query(work->tx, err, sql, DB_BOOL(work->context->is_admin),
                              DB_TEXT(work->context->project_id), DB_TEXT(owner), DB_TEXT(user)),
                     read_quota, ret, err);
}

int quota_limit_list(struct work *work, const struct quota_types *types, const char *project_id,
                     bool defaults_only, struct quota **ret, struct error *err) {
    const char *owner = defaults_only ? NULL : project_id;

    return list_quotas(work, types, "quotas o ON o.project_id", owner, owner, ret, err);
}

int quota_limit_list_class(struct work *work, const struct quota_types *types,
                           const char *class_name, struct quota **ret, struct error *err) {
    return list_quotas(work, types, "quota_classes o ON o.class_name", class_name, NULL, ret, err);
}

int quota_limit_known(struct work *work, const struct quota_types *types, const char *resource,
                      struct error *err) {
    if (fixed_find(resource))
        return 1;
    for (size_t i = 0; types->resources[i]; i++) {
        size_t length = strlen(types->resources[i]);

        if (strncmp(resource, types->resources[i], length) == 0 && resource[length] == '_')
            return db_query_any(work->tx, err,
                                arena_format(work->arena,
                                             "SELECT 1 FROM (%s) AS t WHERE t.name = $3",
                                             types->names),
                                DB_BOOL(work->context->is_admin),
                                DB_TEXT(work->context->project_id), DB_TEXT(resource + length + 1));
    }
    return 0;
}

int quota_limit_set(struct work *work, const char *project_id, const char *resource, int64_t limit,
                    struct error *err) {
    int64_t used = 0;

    assert(project_id && limit >= -1);
    if (limit >= 0 && strcmp(resource, QUOTA_PER_VOLUME) != 0) {
        if (db_query_int(work->tx, &used, err,
                         "SELECT u.used FROM quota_usages u JOIN quotas q "
                         "ON q.project_id = u.project_id AND q.resource = u.resource "
                         "WHERE u.project_id = $1 AND u.resource = $2",
                         DB_TEXT(project_id), DB_TEXT(resource)) < 0)
            return -1;
        if (limit < used)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Quota %s limit %jd must not be below the present use of %jd.",
                             resource, limit, used);
    }
    return db_change(work->tx, err,
                     "INSERT INTO quotas (project_id, resource, hard_limit) VALUES ($1, $2, $3) "
                     "ON CONFLICT (project_id, resource) DO UPDATE SET "
                     "hard_limit = excluded.hard_limit",
                     DB_TEXT(project_id), DB_TEXT(resource), DB_INT(limit));
}

int quota_limit_set_class(struct work *work, const char *class_name, const char *resource,
                          int64_t limit, struct error *err) {
    assert(class_name && limit >= -1);
    return db_change(work->tx, err,
                     "INSERT INTO quota_classes (class_name, resource, hard_limit) "
                     "VALUES ($1, $2, $3) ON CONFLICT (class_name, resource) DO UPDATE SET "
                     "hard_limit = excluded.hard_limit",
                     DB_TEXT(class_name), DB_TEXT(resource), DB_INT(limit));
}

int quota_limit_reset(struct work *work, const char *project_id, struct error *err) {
    assert(project_id);
    return db_change(work->tx, err, "DELETE FROM quotas WHERE project_id = $1",
                     DB_TEXT(project_id));
}

/* ---- creation, deletion and renaming of types ---- */

int quota_limit_forget_type(struct work *work, const struct quota_types *types, const char *name,
                            struct error *err) {
    static const char *const texts[] = {
        "DELETE FROM quotas WHERE resource = $1",
        "DELETE FROM quota_classes WHERE resource = $1",
        "DELETE FROM quota_usages WHERE resource = $1",
    };

    for (size_t of = 0; types->resources[of]; of++)
        for (size_t i = 0; i < LENGTH(texts); i++)
            if (db_run(work->tx, err, texts[i],
                       DB_TEXT(quota_limit_of_type(work->arena, types->resources[of], name))) < 0)
                return -1;
    return 0;
}

int quota_limit_rename_type(struct work *work, const struct quota_types *types,
                            const char *old_name, const char *new_name, struct error *err) {
    static const char *const texts[] = {
        "UPDATE quotas SET resource = $1 WHERE resource = $2",
        "UPDATE quota_classes SET resource = $1 WHERE resource = $2",
        "UPDATE quota_usages SET resource = $1 WHERE resource = $2",
        "UPDATE reservations SET resource = $1 WHERE resource = $2",
    };

    assert(strcmp(old_name, new_name) != 0); /* or its own rows are deleted first */
    /* No type has the new name: rows of it are of a deleted type. */
    if (quota_limit_forget_type(work, types, new_name, err) < 0)
        return -1;
    for (size_t of = 0; types->resources[of]; of++) {
        const char *resource = types->resources[of];

        for (size_t i = 0; i < LENGTH(texts); i++)
            if (db_run(work->tx, err, texts[i],
                       DB_TEXT(quota_limit_of_type(work->arena, resource, new_name)),
                       DB_TEXT(quota_limit_of_type(work->arena, resource, old_name))) < 0)
                return -1;
    }
    return 0;
}
