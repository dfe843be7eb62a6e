#include "volume/quota.h"

#include "common/cleanup.h"
#include "volume/quota_limit.h"

#include <string.h>

/* ---- taking and reserving ---- */

/* One resource that a change needs more of. */
struct demand {
    const char *resource;
    int64_t delta;
    int64_t limit, used;
};

enum { DEMANDS_MOST = 5 };

static struct demand *demand_find(struct demand *demands, unsigned count, const char *resource) {
    unsigned i = 0;

    while (i < count - 1 && strcmp(demands[i].resource, resource) != 0)
        i++;
    return &demands[i]; /* only what was asked for is answered, so the last one is left */
}

/* Limits and usage of all demands with one query: it is on the way of every create. */
static int load_demands(struct work *work, const char *project_id, struct demand *demands,
                        unsigned count, struct error *err) {
#define RESOURCES "resource IN ($2, $3, $4, $5, $6)"
    static const char sql[] =
        "SELECT 1 AS source, resource, hard_limit FROM quotas WHERE project_id = $1 "
        "AND " RESOURCES " UNION ALL SELECT 0, resource, hard_limit FROM quota_classes "
        "WHERE class_name = 'default' AND " RESOURCES
        " UNION ALL SELECT 2, resource, used FROM quota_usages "
        "WHERE project_id = $1 AND " RESOURCES " ORDER BY source";
#undef RESOURCES
    enum { USED = 2 };
    struct db_value values[1 + DEMANDS_MOST] = { DB_TEXT(project_id) };
    int more;

    for (unsigned i = 0; i < DEMANDS_MOST; i++)
        values[1 + i] = DB_TEXT(demands[i < count ? i : 0].resource);
    for (unsigned i = 0; i < count; i++) {
        demands[i].limit = quota_limit_configured(work->settings, demands[i].resource);
        demands[i].used = 0;
    }
    autorows struct db_rows *rows = db_query_values(work->tx, err, sql, values, LENGTH(values));
    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        struct demand *demand = demand_find(demands, count, db_text(rows, 1));

        *(db_int(rows, 0) == USED ? &demand->used : &demand->limit) = db_int(rows, 2);
    }
    return more;
}

/* The demands stand in alphabetical order, which says which excess is told (upstream's rule). */
static int check_demands(const struct demand *demands, unsigned count, struct error *err) {
    for (unsigned i = 0; i < count; i++) {
        const struct demand *demand = &demands[i];

        if (demand->limit < 0 || demand->used + demand->delta <= demand->limit)
            continue;
        if (strncmp(demand->resource, "gigabytes", strlen("gigabytes")) == 0)
            return error_set(
                err, ERROR_OVER_QUOTA,
                "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds "
                "allowed %s quota. Requested %jdG, quota is %jdG and %jdG has been "
                "consumed.",
                demand->resource, demand->delta, demand->limit, demand->used);
        return error_set(
            err, ERROR_OVER_QUOTA,
            "VolumeLimitExceeded: Maximum number of volumes allowed (%jd) exceeded for "
            "quota '%s'.",
            demand->limit, demand->resource);
    }
    return 0;
}

static int check_single_size(const struct demand *single, struct error *err) {
    if (single->limit >= 0 && single->delta > single->limit)
        return error_set(err, ERROR_OVER_QUOTA,
                         "VolumeSizeExceedsLimit: Requested volume size %jdG exceeds the maximum "
                         "allowed limit %jdG of a single volume.",
                         single->delta, single->limit);
    return 0;
}

/* Adds the demands to what is used with one statement. */
static int add_usage(struct work *work, const char *project_id, const struct demand *demands,
                     unsigned count, struct error *err) {
    struct db_value values[1 + 2 * DEMANDS_MOST] = { DB_TEXT(project_id) };
    const char *rows = "";

    for (unsigned i = 0; i < count; i++) {
        values[1 + 2 * i] = DB_TEXT(demands[i].resource);
        values[2 + 2 * i] = DB_INT(demands[i].delta);
        rows = arena_format(work->arena, "%s%s($1, $%u, $%u)", rows, i > 0 ? ", " : "", 2 + 2 * i,
                            3 + 2 * i);
    }
    return db_change_values(
        work->tx, err,
        arena_format(work->arena,
                     "INSERT INTO quota_usages (project_id, resource, used) "
                     "VALUES %s ON CONFLICT (project_id, resource) DO UPDATE SET "
                     "used = quota_usages.used + excluded.used",
                     rows),
        values, 1 + 2 * (size_t)count);
}

int quota_take_volume(struct work *work, const char *project_id, const char *type_name,
                      int64_t size_gb, struct error *err) {
    struct demand demands[DEMANDS_MOST] = { { QUOTA_PER_VOLUME, size_gb, 0, 0 } };
    unsigned count = 1;

    demands[count++] = (struct demand){ .resource = "gigabytes", .delta = size_gb };
    if (type_name)
        demands[count++] =
            (struct demand){ .resource = arena_format(work->arena, "gigabytes_%s", type_name),
                             .delta = size_gb };
    demands[count++] = (struct demand){ .resource = "volumes", .delta = 1 };
    if (type_name)
        demands[count++] =
            (struct demand){ .resource = arena_format(work->arena, "volumes_%s", type_name),
                             .delta = 1 };
    if (load_demands(work, project_id, demands, count, err) < 0 ||
        check_single_size(&demands[0], err) < 0 || check_demands(demands + 1, count - 1, err) < 0)
        return -1;
    return add_usage(work, project_id, demands + 1, count - 1, err);
}

int quota_give_back_volume(struct work *work, const struct volume *volume, struct error *err) {
    const char *volumes_type = "volumes", *gigabytes_type = "gigabytes";

    if (!volume->use_quota)
        return 0;
    if (volume->type_name) {
        volumes_type = arena_format(work->arena, "volumes_%s", volume->type_name);
        gigabytes_type = arena_format(work->arena, "gigabytes_%s", volume->type_name);
    }
    return db_change(work->tx, err,
                     "UPDATE quota_usages SET used = CASE "
                     "WHEN resource IN ('volumes', $1) "
                     "THEN CASE WHEN used > 1 THEN used - 1 ELSE 0 END "
                     "WHEN used > $2 THEN used - $2 ELSE 0 END "
                     "WHERE project_id = $3 AND resource IN ('volumes', 'gigabytes', $1, $4)",
                     DB_TEXT(volumes_type), DB_INT(volume->size_gb), DB_TEXT(volume->project_id),
                     DB_TEXT(gigabytes_type));
}

static int insert_reservations(struct work *work, const char *operation_id, const char *project_id,
                               const struct demand *demands, unsigned count, struct error *err) {
    struct db_value values[2 + 3 * DEMANDS_MOST] = { DB_TEXT(operation_id), DB_TEXT(project_id) };
    const char *rows = "";

    for (unsigned i = 0; i < count; i++) {
        values[2 + 3 * i] = DB_TEXT(work_uuid(work));
        values[3 + 3 * i] = DB_TEXT(demands[i].resource);
        values[4 + 3 * i] = DB_INT(demands[i].delta);
        rows = arena_format(work->arena, "%s%s($%u, $1, $2, $%u, $%u)", rows, i > 0 ? ", " : "",
                            3 + 3 * i, 4 + 3 * i, 5 + 3 * i);
    }
    return db_change_values(work->tx, err,
                            arena_format(work->arena,
                                         "INSERT INTO reservations (id, operation_id, project_id, "
                                         "resource, delta) VALUES %s",
                                         rows),
                            values, 2 + 3 * (size_t)count);
}

int quota_reserve_growth(struct work *work, const struct volume *volume, const char *operation_id,
                         int64_t new_size_gb, struct error *err) {
    int64_t growth = new_size_gb - volume->size_gb;
    struct demand demands[DEMANDS_MOST] = { { QUOTA_PER_VOLUME, new_size_gb, 0, 0 },
                                            { "gigabytes", growth, 0, 0 } };
    unsigned count = 2;

    if (volume->type_name)
        demands[count++] = (struct demand){
            .resource = arena_format(work->arena, "gigabytes_%s", volume->type_name),
            .delta = growth,
        };
    if (load_demands(work, volume->project_id, demands, count, err) < 0 ||
        check_single_size(&demands[0], err) < 0)
        return -1;
    if (!volume->use_quota)
        return 0;
    if (check_demands(demands + 1, count - 1, err) < 0 ||
        add_usage(work, volume->project_id, demands + 1, count - 1, err) < 0)
        return -1;
    return insert_reservations(work, operation_id, volume->project_id, demands + 1, count - 1, err);
}

/* ---- the end of reservations ---- */

int quota_reservation_ids(struct work *work, const char *operation_id, const char **ret_json,
                          struct error *err) {
    autorows struct db_rows *rows = db_query(
        work->tx, err, "SELECT id FROM reservations WHERE operation_id = $1 ORDER BY resource",
        DB_TEXT(operation_id));
    const char *json = "[", *comma = "";
    int more;

    if (!rows)
        return -1;
    for (; (more = db_next(rows, err)) > 0; comma = ", ")
        json = arena_format(work->arena, "%s%s\"%s\"", json, comma, db_text(rows, 0));
    *ret_json = arena_format(work->arena, "%s]", json);
    return more;
}

static int drop_reservations(struct work *work, const char *operation_id, struct error *err) {
    return db_run(work->tx, err, "DELETE FROM reservations WHERE operation_id = $1",
                  DB_TEXT(operation_id));
}

int quota_commit(struct work *work, const char *operation_id, struct error *err) {
    return drop_reservations(work, operation_id, err);
}

int quota_rollback(struct work *work, const char *operation_id, struct error *err) {
    if (db_run(work->tx, err,
               "UPDATE quota_usages SET used = CASE WHEN used > owed.delta THEN used - owed.delta "
               "ELSE 0 END FROM (SELECT project_id, resource, CAST(SUM(delta) AS BIGINT) AS delta "
               "FROM reservations WHERE operation_id = $1 GROUP BY project_id, resource) AS owed "
               "WHERE quota_usages.project_id = owed.project_id "
               "AND quota_usages.resource = owed.resource",
               DB_TEXT(operation_id)) < 0)
        return -1;
    return drop_reservations(work, operation_id, err) < 0 ? -1 : 0;
}

/* ---- counting anew ---- */

/* clang-format off */

/* What volumes and reservations say, one row for each cause; `where` narrows both. */
#define COUNTED(where) \
    "SELECT project_id, 'volumes' AS resource, COUNT(*) AS in_use, 0 AS reserved FROM volumes " \
    "WHERE use_quota = 1" where " GROUP BY project_id UNION ALL " \
    "SELECT project_id, 'gigabytes', SUM(size_gb), 0 FROM volumes " \
    "WHERE use_quota = 1" where " GROUP BY project_id UNION ALL " \
    "SELECT project_id, 'volumes_' || t.name, COUNT(*), 0 FROM volumes v " \
    "JOIN volume_types t ON t.id = v.volume_type_id " \
    "WHERE use_quota = 1" where " GROUP BY project_id, t.name UNION ALL " \
    "SELECT project_id, 'gigabytes_' || t.name, SUM(size_gb), 0 FROM volumes v " \
    "JOIN volume_types t ON t.id = v.volume_type_id " \
    "WHERE use_quota = 1" where " GROUP BY project_id, t.name UNION ALL " \
    "SELECT project_id, resource, 0, SUM(delta) FROM reservations " \
    "WHERE 1 = 1" where " GROUP BY project_id, resource"

static const char sql_differences[] =
    "SELECT project_id, resource, CAST(SUM(used) AS BIGINT), CAST(SUM(in_use) AS BIGINT), "
    "CAST(SUM(reserved) AS BIGINT) FROM ("
    "SELECT project_id, resource, in_use, reserved, 0 AS used "
    "FROM (" COUNTED("") ") AS counted UNION ALL "
    "SELECT project_id, resource, 0, 0, used FROM quota_usages) AS both_sides "
    "GROUP BY project_id, resource HAVING SUM(in_use) + SUM(reserved) <> SUM(used) "
    "ORDER BY project_id, resource";

/* SQLite wants WHERE before ON. */
static const char sql_store[] =
    "INSERT INTO quota_usages (project_id, resource, used) "
    "SELECT project_id, resource, CAST(SUM(in_use) + SUM(reserved) AS BIGINT) "
    "FROM (" COUNTED(" AND project_id = $1") ") AS counted WHERE 1 = 1 "
    "GROUP BY project_id, resource ON CONFLICT (project_id, resource) DO UPDATE SET "
    "used = excluded.used";

/* clang-format on */

int quota_recount(struct work *work, void (*wrong)(void *arg, const char *text), void *arg,
                  struct error *err) {
    autorows struct db_rows *rows = db_query(work->tx, err, sql_differences);
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0)
        wrong(arg, arena_format(work->arena,
                                "quota %s of project %s: stored are %jd used, the rows say %jd in "
                                "use and %jd reserved",
                                db_text(rows, 1), db_text(rows, 0), db_int(rows, 2),
                                db_int(rows, 3), db_int(rows, 4)));
    return more;
}

int quota_recount_project(struct work *work, const char *project_id, struct error *err) {
    if (db_run(work->tx, err, "UPDATE quota_usages SET used = 0 WHERE project_id = $1",
               DB_TEXT(project_id)) < 0 ||
        db_run(work->tx, err, sql_store, DB_TEXT(project_id)) < 0)
        return -1;
    return 0;
}
