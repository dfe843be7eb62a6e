#include "operation/quota.h"

#include "common/assert.h"
#include "operation/quota_limit.h"

#include <string.h>

void quota_demand_add(struct quota_demands *demands, struct arena *arena, const char *resource,
                      const char *type_name, int64_t amount) {
    assert(amount >= 0);
    assert(demands->count < QUOTA_DEMANDS_MOST);
    demands->items[demands->count++] = (struct quota_demand){ resource, amount };
    if (type_name)
        quota_demand_add(demands, arena, quota_limit_of_type(arena, resource, type_name), NULL,
                         amount);
}

/* ---- taking and reserving ---- */

/* One text for each number of demands: a statement is found by the address of its text. */
/* clang-format off */
#define FOR_EACH_COUNT(text, rows) { \
    text(rows##_1), text(rows##_2), text(rows##_3), text(rows##_4), \
    text(rows##_5), text(rows##_6), text(rows##_7), text(rows##_8) }
/* clang-format on */
_Static_assert(QUOTA_DEMANDS_MOST == 8, "FOR_EACH_COUNT() has eight texts");

/* Limit and usage of a resource. */
struct standing {
    int64_t limit, used;
};

static unsigned demand_find(const struct quota_demands *demands, const char *resource) {
    unsigned i = 0;

    assert(demands->count > 0);
    while (i < demands->count - 1 && strcmp(demands->items[i].resource, resource) != 0)
        i++;
    return i; /* only requested resources are answered, so the last one is left */
}

#define RESOURCES_1 "($2)"
#define RESOURCES_2 RESOURCES_1 ", ($3)"
#define RESOURCES_3 RESOURCES_2 ", ($4)"
#define RESOURCES_4 RESOURCES_3 ", ($5)"
#define RESOURCES_5 RESOURCES_4 ", ($6)"
#define RESOURCES_6 RESOURCES_5 ", ($7)"
#define RESOURCES_7 RESOURCES_6 ", ($8)"
#define RESOURCES_8 RESOURCES_7 ", ($9)"

/* Each row is found by its key; of the values of an IN, SQLite would make a temporary table. */
#define STANDINGS(resources)                                                                \
    "SELECT given.column1, o.hard_limit, c.hard_limit, u.used FROM (VALUES " resources      \
    ") AS given LEFT JOIN quotas o ON o.project_id = $1 AND o.resource = given.column1 "    \
    "LEFT JOIN quota_classes c ON c.class_name = 'default' AND c.resource = given.column1 " \
    "LEFT JOIN quota_usages u ON u.project_id = $1 AND u.resource = given.column1"

static const char *const standings_sql[] = FOR_EACH_COUNT(STANDINGS, RESOURCES);

/* Limits and usage of all demands with one query: every create runs it. */
static int load_standings(struct work *work, const char *project_id,
                          const struct quota_demands *demands, struct standing *ret,
                          struct error *err) {
    struct db_value values[1 + QUOTA_DEMANDS_MOST] = { DB_TEXT(project_id) };
    int more;

    assert(demands->count > 0 && demands->count <= QUOTA_DEMANDS_MOST);
    for (unsigned i = 0; i < demands->count; i++) {
        const char *resource = demands->items[i].resource;

        values[1 + i] = DB_TEXT(resource);
        ret[i] = (struct standing){ quota_limit_configured(work->settings, resource), 0 };
    }
    autorows struct db_rows *rows = db_query_values(
        work->tx, err, standings_sql[demands->count - 1], values, 1 + (size_t)demands->count);
    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        struct standing *standing = &ret[demand_find(demands, db_text(rows, 0))];

        if (!db_is_null(rows, 1) || !db_is_null(rows, 2))
            standing->limit = db_int(rows, db_is_null(rows, 1) ? 2 : 1);
        standing->used = db_int(rows, 3);
    }
    return more;
}

static bool is_single(const char *resource) {
    return strcmp(resource, QUOTA_PER_VOLUME) == 0;
}

/* The excess to report, as upstream: the single volume's, else by the alphabet. */
static bool is_reported_before(const char *resource, const char *other) {
    return is_single(resource) || (!is_single(other) && strcmp(resource, other) < 0);
}

/* The error of each resource, and of those of its types. */
static const struct refusal {
    const char *resource;
    const char *error; /* upstream's class */
    const char *what;  /* has the size; NULL: the resource is a number of objects */
} refusals[] = {
    { QUOTA_VOLUMES, "VolumeLimitExceeded", NULL },
    { QUOTA_SNAPSHOTS, "SnapshotLimitExceeded", NULL },
    { QUOTA_BACKUPS, "BackupLimitExceeded", NULL },
    { QUOTA_GROUPS, "GroupLimitExceeded", NULL },
    { QUOTA_GIGABYTES, "VolumeSizeExceedsAvailableQuota", "volume or snapshot" },
    { QUOTA_BACKUP_GIGABYTES, "VolumeBackupSizeExceedsAvailableQuota", "backup" },
    { .resource = NULL },
};

static bool is_of(const char *resource, const char *fixed) {
    size_t length = strlen(fixed);

    return strncmp(resource, fixed, length) == 0 &&
           (resource[length] == '\0' || resource[length] == '_');
}

static int quota_refuse(const struct quota_demand *demand, const struct standing *standing,
                        struct error *err) {
    const struct refusal *refusal = refusals;

    if (is_single(demand->resource))
        return error_set(err, ERROR_OVER_QUOTA,
                         "VolumeSizeExceedsLimit: Requested volume size %jdG exceeds the maximum "
                         "allowed limit %jdG of a single volume.",
                         demand->amount, standing->limit);
    while (refusal->resource && !is_of(demand->resource, refusal->resource))
        refusal++;
    assert(refusal->resource); /* nothing else has a limit */
    if (refusal->what)
        return error_set(err, ERROR_OVER_QUOTA,
                         "%s: Requested %s exceeds allowed %s quota. Requested %jdG, quota is %jdG "
                         "and %jdG has been consumed.",
                         refusal->error, refusal->what, demand->resource, demand->amount,
                         standing->limit, standing->used);
    return error_set(err, ERROR_OVER_QUOTA,
                     "%s: Maximum number of %s allowed (%jd) exceeded for quota '%s'.",
                     refusal->error, refusal->resource, standing->limit, demand->resource);
}

#define AMOUNTS_1 "($1, $2, $3)"
#define AMOUNTS_2 AMOUNTS_1 ", ($1, $4, $5)"
#define AMOUNTS_3 AMOUNTS_2 ", ($1, $6, $7)"
#define AMOUNTS_4 AMOUNTS_3 ", ($1, $8, $9)"
#define AMOUNTS_5 AMOUNTS_4 ", ($1, $10, $11)"
#define AMOUNTS_6 AMOUNTS_5 ", ($1, $12, $13)"
#define AMOUNTS_7 AMOUNTS_6 ", ($1, $14, $15)"
#define AMOUNTS_8 AMOUNTS_7 ", ($1, $16, $17)"

#define NOTHING_1 "($1, $2, 0)"
#define NOTHING_2 NOTHING_1 ", ($1, $4, 0)"
#define NOTHING_3 NOTHING_2 ", ($1, $6, 0)"
#define NOTHING_4 NOTHING_3 ", ($1, $8, 0)"
#define NOTHING_5 NOTHING_4 ", ($1, $10, 0)"
#define NOTHING_6 NOTHING_5 ", ($1, $12, 0)"
#define NOTHING_7 NOTHING_6 ", ($1, $14, 0)"
#define NOTHING_8 NOTHING_7 ", ($1, $16, 0)"

#define OWED_1 " WHEN $2 THEN $3"
#define OWED_2 OWED_1 " WHEN $4 THEN $5"
#define OWED_3 OWED_2 " WHEN $6 THEN $7"
#define OWED_4 OWED_3 " WHEN $8 THEN $9"
#define OWED_5 OWED_4 " WHEN $10 THEN $11"
#define OWED_6 OWED_5 " WHEN $12 THEN $13"
#define OWED_7 OWED_6 " WHEN $14 THEN $15"
#define OWED_8 OWED_7 " WHEN $16 THEN $17"

#define TAKE(amounts)                                                       \
    "INSERT INTO quota_usages (project_id, resource, used) VALUES " amounts \
    " ON CONFLICT (project_id, resource) DO UPDATE SET "                    \
    "used = quota_usages.used + excluded.used"
/* The values of an UPDATE would be copied to a temporary table first. */
#define OWED(cases) "CASE excluded.resource" cases " ELSE CAST(0 AS BIGINT) END"
/* clang-format off */
#define GIVE_BACK(number) \
    "INSERT INTO quota_usages (project_id, resource, used) VALUES " NOTHING_##number \
    " ON CONFLICT (project_id, resource) DO UPDATE SET used = " \
    "CASE WHEN quota_usages.used > " OWED(OWED_##number) \
    " THEN quota_usages.used - " OWED(OWED_##number) " ELSE 0 END"
/* clang-format on */

static const char *const take_sql[] = FOR_EACH_COUNT(TAKE, AMOUNTS);
static const char *const give_back_sql[] = {
    GIVE_BACK(1), GIVE_BACK(2), GIVE_BACK(3), GIVE_BACK(4),
    GIVE_BACK(5), GIVE_BACK(6), GIVE_BACK(7), GIVE_BACK(8)
};

/* One statement for all demands, of the texts for each number of them. */
static int change_usage(struct work *work, const char *project_id,
                        const struct quota_demands *demands, const char *const *texts,
                        struct error *err) {
    struct db_value values[1 + 2 * QUOTA_DEMANDS_MOST] = { DB_TEXT(project_id) };

    assert(project_id && demands->count > 0 && demands->count <= QUOTA_DEMANDS_MOST);
    for (unsigned i = 0; i < demands->count; i++) {
        assert(!is_single(demands->items[i].resource));
        values[1 + 2 * i] = DB_TEXT(demands->items[i].resource);
        values[2 + 2 * i] = DB_INT(demands->items[i].amount);
    }
    return db_change_values(work->tx, err, texts[demands->count - 1], values,
                            1 + 2 * (size_t)demands->count);
}

int quota_check(struct work *work, const char *project_id, const struct quota_demands *demands,
                struct error *err) {
    struct standing standings[QUOTA_DEMANDS_MOST];
    const struct quota_demand *worst = NULL;

    if (load_standings(work, project_id, demands, standings, err) < 0)
        return -1;
    for (unsigned i = 0; i < demands->count; i++) {
        const struct quota_demand *demand = &demands->items[i];

        if (standings[i].limit >= 0 && standings[i].used + demand->amount > standings[i].limit &&
            (!worst || is_reported_before(demand->resource, worst->resource)))
            worst = demand;
    }
    return worst ? quota_refuse(worst, &standings[worst - demands->items], err) : 0;
}

int quota_count(struct work *work, const char *project_id, const struct quota_demands *demands,
                struct error *err) {
    return change_usage(work, project_id, demands, take_sql, err);
}

static int take(struct work *work, const char *project_id, const struct quota_demands *demands,
                struct quota_demands *ret_used, struct error *err) {
    if (db_check_space(work->tx, err) < 0 || quota_check(work, project_id, demands, err) < 0)
        return -1;
    /* all that are not checked only */
    ret_used->count = 0;
    for (unsigned i = 0; i < demands->count; i++)
        if (!is_single(demands->items[i].resource))
            ret_used->items[ret_used->count++] = demands->items[i];
    return ret_used->count == 0 ? 0 : quota_count(work, project_id, ret_used, err);
}

int quota_take(struct work *work, const char *project_id, const struct quota_demands *demands,
               struct error *err) {
    struct quota_demands used;

    return take(work, project_id, demands, &used, err);
}

int quota_give_back(struct work *work, const char *project_id, const struct quota_demands *demands,
                    struct error *err) {
    return change_usage(work, project_id, demands, give_back_sql, err);
}

#define RESERVED_1 "($3, $1, $2, $4, $5)"
#define RESERVED_2 RESERVED_1 ", ($6, $1, $2, $7, $8)"
#define RESERVED_3 RESERVED_2 ", ($9, $1, $2, $10, $11)"
#define RESERVED_4 RESERVED_3 ", ($12, $1, $2, $13, $14)"
#define RESERVED_5 RESERVED_4 ", ($15, $1, $2, $16, $17)"
#define RESERVED_6 RESERVED_5 ", ($18, $1, $2, $19, $20)"
#define RESERVED_7 RESERVED_6 ", ($21, $1, $2, $22, $23)"
#define RESERVED_8 RESERVED_7 ", ($24, $1, $2, $25, $26)"

#define RESERVE(rows) \
    "INSERT INTO reservations (id, operation_id, project_id, resource, delta) VALUES " rows

static const char *const reserve_sql[] = FOR_EACH_COUNT(RESERVE, RESERVED);

int quota_reserve(struct work *work, const char *project_id, const char *operation_id,
                  const struct quota_demands *demands, struct error *err) {
    struct db_value values[2 + 3 * QUOTA_DEMANDS_MOST] = { DB_TEXT(operation_id),
                                                           DB_TEXT(project_id) };
    struct quota_demands used;

    if (take(work, project_id, demands, &used, err) < 0)
        return -1;
    if (used.count == 0)
        return 0;
    assert(operation_id);
    for (unsigned i = 0; i < used.count; i++) {
        values[2 + 3 * i] = DB_TEXT(work_uuid(work));
        values[3 + 3 * i] = DB_TEXT(used.items[i].resource);
        values[4 + 3 * i] = DB_INT(used.items[i].amount);
    }
    return db_change_values(work->tx, err, reserve_sql[used.count - 1], values,
                            2 + 3 * (size_t)used.count);
}

/* ---- the end of reservations ---- */

int quota_reservation_ids(struct work *work, const char *operation_id, const char **ret_json,
                          struct error *err) {
    autorows struct db_rows *rows = db_query(
        work->tx, err, "SELECT id FROM reservations WHERE operation_id = $1 ORDER BY resource",
        DB_TEXT(operation_id));
    const char *json = "[", *comma = "";
    int more;

    assert(operation_id);
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
    assert(operation_id);
    return drop_reservations(work, operation_id, err);
}

int quota_rollback(struct work *work, const char *operation_id, struct error *err) {
    assert(operation_id);
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

/* ---- recount ---- */

int quota_recount(struct work *work, const char *in_use, void (*wrong)(void *arg, const char *text),
                  void *arg, struct error *err) {
    const char *sql = arena_format(
        work->arena,
        "SELECT project_id, resource, CAST(SUM(used) AS BIGINT), CAST(SUM(in_use) AS BIGINT), "
        "CAST(SUM(reserved) AS BIGINT) FROM ("
        "SELECT project_id, resource, in_use, 0 AS reserved, 0 AS used FROM (%s) AS counted "
        "UNION ALL SELECT project_id, resource, 0, delta, 0 FROM reservations UNION ALL "
        "SELECT project_id, resource, 0, 0, used FROM quota_usages) AS both_sides "
        "GROUP BY project_id, resource HAVING SUM(in_use) + SUM(reserved) <> SUM(used) "
        "ORDER BY project_id, resource",
        in_use);
    autorows struct db_rows *rows = db_query(work->tx, err, sql);
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

int quota_recount_project(struct work *work, const char *in_use, const char *project_id,
                          struct error *err) {
    assert(project_id);
    /* SQLite wants WHERE before ON. */
    const char *store =
        arena_format(work->arena,
                     "INSERT INTO quota_usages (project_id, resource, used) "
                     "SELECT project_id, resource, CAST(SUM(amount) AS BIGINT) FROM ("
                     "SELECT project_id, resource, in_use AS amount FROM (%s) AS counted UNION ALL "
                     "SELECT project_id, resource, delta FROM reservations) AS amounts "
                     "WHERE project_id = $1 GROUP BY project_id, resource "
                     "ON CONFLICT (project_id, resource) DO UPDATE SET used = excluded.used",
                     in_use);

    if (db_change(work->tx, err, "UPDATE quota_usages SET used = 0 WHERE project_id = $1",
                  DB_TEXT(project_id)) < 0)
        return -1;
    return db_change(work->tx, err, store, DB_TEXT(project_id));
}
