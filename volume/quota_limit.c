#include "volume/quota_limit.h"

#include "common/cleanup.h"
#include "ledger/query.h"
#include "volume/type.h"

#include <string.h>

static const struct fixed_resource {
    const char *name;
    size_t limit; /* offset of the configured limit */
} fixed_resources[] = {
    { "volumes", offsetof(struct settings, quota_volumes) },
    { QUOTA_PER_VOLUME, offsetof(struct settings, per_volume_size_limit) },
    { "snapshots", offsetof(struct settings, quota_snapshots) },
    { "gigabytes", offsetof(struct settings, quota_gigabytes) },
    { "backups", offsetof(struct settings, quota_backups) },
    { "backup_gigabytes", offsetof(struct settings, quota_backup_gigabytes) },
    { "groups", offsetof(struct settings, quota_groups) },
};

static const char *const type_prefixes[] = { "volumes_", "gigabytes_", "snapshots_" };

int64_t quota_limit_configured(const struct settings *settings, const char *resource) {
    for (size_t i = 0; i < LENGTH(fixed_resources); i++)
        if (strcmp(fixed_resources[i].name, resource) == 0)
            return *(const int64_t *)((const char *)settings + fixed_resources[i].limit);
    return -1; /* of a type */
}

/* The types that the caller sees: $3 is 1 for those who see all, $4 the project. */
#define TYPE_SEEN "($3 = 1 OR " TYPE_SHARED_WITH("$4") ")"

/* Every resource with the limits and the usage that are stored; $1 is whose own limits, $2 whose
 * usage. */
#define QUOTA_LIST(own)                                                                   \
    "SELECT r.resource, o.hard_limit, c.hard_limit, u.used, v.reserved FROM ("            \
    "SELECT 0 AS place, '' AS name, 'volumes' AS resource UNION ALL "                     \
    "SELECT 1, '', '" QUOTA_PER_VOLUME "' UNION ALL SELECT 2, '', 'snapshots' UNION ALL " \
    "SELECT 3, '', 'gigabytes' UNION ALL SELECT 4, '', 'backups' UNION ALL "              \
    "SELECT 5, '', 'backup_gigabytes' UNION ALL SELECT 6, '', 'groups' UNION ALL "        \
    "SELECT k.place, t.name, k.prefix || t.name FROM volume_types t, ("                   \
    "SELECT 7 AS place, 'volumes_' AS prefix UNION ALL SELECT 8, 'gigabytes_' "           \
    "UNION ALL SELECT 9, 'snapshots_') AS k WHERE " TYPE_SEEN ") AS r "                   \
    "LEFT JOIN " own " AND o.resource = r.resource "                                      \
    "LEFT JOIN quota_classes c ON c.class_name = 'default' AND c.resource = r.resource "  \
    "LEFT JOIN quota_usages u ON u.project_id = $2 AND u.resource = r.resource "          \
    "LEFT JOIN (SELECT resource, CAST(SUM(delta) AS BIGINT) AS reserved "                 \
    "FROM reservations WHERE project_id = $2 GROUP BY resource) AS v "                    \
    "ON v.resource = r.resource "                                                         \
    "ORDER BY CASE WHEN r.place < 7 THEN r.place ELSE 7 END, r.name, r.place"

static const char sql_project[] = QUOTA_LIST("quotas o ON o.project_id = $1");
static const char sql_class[] = QUOTA_LIST("quota_classes o ON o.class_name = $1");

static int list_quotas(struct work *work, const char *sql, const char *owner, const char *user,
                       struct quota **ret, struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err, sql, DB_TEXT(owner), DB_TEXT(user),
                 DB_BOOL(work->context->is_admin), DB_TEXT(work->context->project_id));
    struct quota *quotas = NULL;
    unsigned count = 0;
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        const char *resource = db_copy(rows, 0, work->arena);
        int64_t used = db_int(rows, 3), reserved = db_int(rows, 4);

        quotas = query_grow(work->arena, quotas, count, sizeof(*quotas));
        quotas[count++] = (struct quota){
            .resource = resource,
            .limit = !db_is_null(rows, 1)   ? db_int(rows, 1)
                     : !db_is_null(rows, 2) ? db_int(rows, 2)
                                            : quota_limit_configured(work->settings, resource),
            .in_use = used > reserved ? used - reserved : 0,
            .reserved = reserved,
        };
    }
    if (more < 0)
        return -1;
    *ret = quotas;
    return (int)count;
}

int quota_limit_list(struct work *work, const char *project_id, bool defaults_only,
                     struct quota **ret, struct error *err) {
    return list_quotas(work, sql_project, defaults_only ? NULL : project_id,
                       defaults_only ? NULL : project_id, ret, err);
}

int quota_limit_list_class(struct work *work, const char *class_name, struct quota **ret,
                           struct error *err) {
    return list_quotas(work, sql_class, class_name, NULL, ret, err);
}

int quota_limit_known(struct work *work, const char *resource, struct error *err) {
    for (size_t i = 0; i < LENGTH(fixed_resources); i++)
        if (strcmp(fixed_resources[i].name, resource) == 0)
            return 1;
    for (size_t i = 0; i < LENGTH(type_prefixes); i++) {
        size_t length = strlen(type_prefixes[i]);
        int64_t one;

        if (strncmp(resource, type_prefixes[i], length) == 0)
            return db_query_int(
                work->tx, &one, err,
                "SELECT 1 FROM volume_types t WHERE t.name = $1 AND ($2 = 1 OR " TYPE_SHARED_WITH(
                    "$3") ")",
                DB_TEXT(resource + length), DB_BOOL(work->context->is_admin),
                DB_TEXT(work->context->project_id));
    }
    return 0;
}

static int check_not_below_use(struct work *work, const char *project_id, const char *resource,
                               int64_t limit, struct error *err) {
    int64_t used = 0;

    if (limit < 0 || strcmp(resource, QUOTA_PER_VOLUME) == 0)
        return 0;
    if (db_query_int(work->tx, &used, err,
                     "SELECT u.used FROM quota_usages u JOIN quotas q "
                     "ON q.project_id = u.project_id AND q.resource = u.resource "
                     "WHERE u.project_id = $1 AND u.resource = $2",
                     DB_TEXT(project_id), DB_TEXT(resource)) < 0)
        return -1;
    if (limit < used)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Quota %s limit %jd must not be below the present use of %jd.", resource,
                         limit, used);
    return 0;
}

int quota_limit_set(struct work *work, const char *project_id, const char *resource, int64_t limit,
                    struct error *err) {
    if (check_not_below_use(work, project_id, resource, limit, err) < 0)
        return -1;
    return db_change(work->tx, err,
                     "INSERT INTO quotas (project_id, resource, hard_limit) VALUES ($1, $2, $3) "
                     "ON CONFLICT (project_id, resource) DO UPDATE SET "
                     "hard_limit = excluded.hard_limit",
                     DB_TEXT(project_id), DB_TEXT(resource), DB_INT(limit));
}

int quota_limit_set_class(struct work *work, const char *class_name, const char *resource,
                          int64_t limit, struct error *err) {
    return db_change(work->tx, err,
                     "INSERT INTO quota_classes (class_name, resource, hard_limit) "
                     "VALUES ($1, $2, $3) ON CONFLICT (class_name, resource) DO UPDATE SET "
                     "hard_limit = excluded.hard_limit",
                     DB_TEXT(class_name), DB_TEXT(resource), DB_INT(limit));
}

int quota_limit_reset(struct work *work, const char *project_id, struct error *err) {
    return db_change(work->tx, err, "DELETE FROM quotas WHERE project_id = $1",
                     DB_TEXT(project_id));
}

/* ---- types come, go and change their names ---- */

int quota_limit_forget_type(struct work *work, const char *name, struct error *err) {
    static const char *const texts[] = {
        "DELETE FROM quotas WHERE resource = $1",
        "DELETE FROM quota_classes WHERE resource = $1",
        "DELETE FROM quota_usages WHERE resource = $1",
    };

    for (size_t prefix = 0; prefix < LENGTH(type_prefixes); prefix++) {
        const char *resource = arena_format(work->arena, "%s%s", type_prefixes[prefix], name);

        for (size_t i = 0; i < LENGTH(texts); i++)
            if (db_run(work->tx, err, texts[i], DB_TEXT(resource)) < 0)
                return -1;
    }
    return 0;
}

int quota_limit_rename_type(struct work *work, const char *old_name, const char *new_name,
                            struct error *err) {
    static const char *const texts[] = {
        "UPDATE quotas SET resource = $1 WHERE resource = $2",
        "UPDATE quota_classes SET resource = $1 WHERE resource = $2",
        "UPDATE quota_usages SET resource = $1 WHERE resource = $2",
        "UPDATE reservations SET resource = $1 WHERE resource = $2",
    };

    /* Nobody has the new name: rows of it are of a type that was deleted. */
    if (quota_limit_forget_type(work, new_name, err) < 0)
        return -1;
    for (size_t prefix = 0; prefix < LENGTH(type_prefixes); prefix++)
        for (size_t i = 0; i < LENGTH(texts); i++)
            if (db_run(work->tx, err, texts[i],
                       DB_TEXT(arena_format(work->arena, "%s%s", type_prefixes[prefix], new_name)),
                       DB_TEXT(
                           arena_format(work->arena, "%s%s", type_prefixes[prefix], old_name))) < 0)
                return -1;
    return 0;
}
