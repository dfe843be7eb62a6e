#include "model/scheduler/pool.h"

#include "common/heap.h"
#include "common/thread.h"
#include "common/words.h"
#include "operation/query.h"
#include "operation/service.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

#define POOL_SELECT                                                                              \
    "SELECT p.name, p.host, p.capabilities, p.total_gb, p.free_gb, p.infinite, p.allocated_gb, " \
    "p.reported_at, s.availability_zone, s.disabled, s.frozen, s.reported_at, p.snapshots_gb, "  \
    "s.id FROM pools p "                                                                         \
    "LEFT JOIN services s ON s.binary_name = '" SERVICE_VOLUME "' AND s.host = p.host"

static struct db_value gb_value(double gb) {
    return gb < 0 ? DB_NULL : (struct db_value){ .type = DB_VALUE_REAL, .real = gb };
}

int pool_report(struct work *work, const struct pool *pool, struct error *err) {
    int64_t reported_at = pool->reported_at ? pool->reported_at : work->now_us;
    int changed = db_run(work->tx, err,
                         "UPDATE pools SET host = $1, capabilities = $2, total_gb = $3, "
                         "free_gb = $4, infinite = $5, reported_at = $6 WHERE name = $7",
                         DB_TEXT(pool->host), DB_TEXT(pool->capabilities), gb_value(pool->total_gb),
                         gb_value(pool->free_gb), DB_BOOL(pool->infinite), DB_INT(reported_at),
                         DB_TEXT(pool->name));

    if (changed != 0)
        return changed < 0 ? -1 : 0;
    /* The space provisioned already is counted once, when the pool is new: it reads every volume of
     * it. */
    return db_change(work->tx, err,
                     "INSERT INTO pools (name, host, capabilities, total_gb, free_gb, infinite, "
                     "reported_at, snapshots_gb, allocated_gb) VALUES ($1, $2, $3, $4, $5, $6, $7, "
                     "(SELECT COALESCE(CAST(SUM(s.promised_gb) AS BIGINT), 0) "
                     "FROM snapshots s "
                     "JOIN volumes v ON v.id = s.volume_id WHERE v.host = $1), "
                     "(SELECT COALESCE(CAST(SUM(size_gb) AS BIGINT), 0) FROM volumes "
                     "WHERE host = $1) + "
                     "(SELECT COALESCE(CAST(SUM(o.new_size_gb - v.size_gb) AS BIGINT), 0) "
                     "FROM volumes v JOIN operations o ON o.target_id = v.id "
                     "WHERE v.host = $1 AND o.new_size_gb > 0))",
                     DB_TEXT(pool->name), DB_TEXT(pool->host), DB_TEXT(pool->capabilities),
                     gb_value(pool->total_gb), gb_value(pool->free_gb), DB_BOOL(pool->infinite),
                     DB_INT(reported_at));
}

static double read_gb(const struct db_rows *rows, unsigned column) {
    const struct db_value gb = db_value(rows, column);

    return gb.type == DB_VALUE_NULL ? -1 : gb.real;
}

static int read_pool(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    int64_t oldest = work->clock_us - work->settings->service_down_s * SECOND_US;

    (void)err;
    *(struct pool *)ret = (struct pool){
        .name = db_copy(rows, 0, work->arena),
        .host = db_copy(rows, 1, work->arena),
        .capabilities = db_copy(rows, 2, work->arena),
        .total_gb = read_gb(rows, 3),
        .free_gb = read_gb(rows, 4),
        .infinite = db_bool(rows, 5),
        .allocated_gb = db_int(rows, 6),
        .snapshots_gb = db_int(rows, 12),
        .reported_at = db_int(rows, 7),
        .service_id = db_copy(rows, 13, work->arena),
        .availability_zone = db_copy(rows, 8, work->arena),
        .active = !db_is_null(rows, 11) && !db_bool(rows, 9) && !db_bool(rows, 10) &&
                  db_int(rows, 11) >= oldest,
    };
    return 0;
}

int pool_list(struct work *work, struct pool **ret, struct error *err) {
    return query_all(work, db_query(work->tx, err, POOL_SELECT " ORDER BY p.name"), read_pool, ret,
                     err);
}

int pool_find(struct work *work, const char *name, struct pool *ret, struct error *err) {
    return query_one(work, db_query(work->tx, err, POOL_SELECT " WHERE p.name = $1", DB_TEXT(name)),
                     read_pool, ret, err);
}

int pool_allocate(struct work *work, const char *name, int64_t delta_gb, struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE pools SET allocated_gb = CASE WHEN allocated_gb + $1 > 0 "
                     "THEN allocated_gb + $1 ELSE 0 END WHERE name = $2",
                     DB_INT(delta_gb), DB_TEXT(name));
}

static int add_promise(struct work *work, const char *snapshot_id, int factor, struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE pools SET snapshots_gb = snapshots_gb + $1 * "
                     "(SELECT promised_gb FROM snapshots WHERE id = $2) "
                     "WHERE name = (SELECT v.host FROM volumes v "
                     "JOIN snapshots s ON s.volume_id = v.id WHERE s.id = $2)",
                     DB_INT(factor), DB_TEXT(snapshot_id));
}

int pool_promise_snapshot(struct work *work, const char *snapshot_id, struct error *err) {
    return add_promise(work, snapshot_id, 1, err);
}

int pool_release_snapshot(struct work *work, const char *snapshot_id, struct error *err) {
    return add_promise(work, snapshot_id, -1, err);
}

#define PROMISED                                                                \
    "(SELECT COALESCE(CAST(SUM(s.promised_gb) AS BIGINT), 0) FROM snapshots s " \
    "JOIN volumes v ON v.id = s.volume_id WHERE v.host = pools.name)"

int pool_promises_differ(struct work *work, const char *host, struct error *err) {
    int64_t differ = 0;

    return db_query_int(work->tx, &differ, err,
                        "SELECT COUNT(*) FROM pools WHERE host = $1 AND snapshots_gb <> " PROMISED,
                        DB_TEXT(host)) < 0
               ? -1
               : differ > 0;
}

int pool_count_promises(struct work *work, const char *host, struct error *err) {
    return db_run(work->tx, err,
                  "UPDATE pools SET snapshots_gb = " PROMISED
                  " WHERE host = $1 AND snapshots_gb <> " PROMISED,
                  DB_TEXT(host)) < 0
               ? -1
               : 0;
}

/* ---- reports ---- */

/* A report changes seldom, and each create reads those of all pools: the parsed ones are kept, each
 * for exactly its text.  Requests share a kept tree, so that it is never changed; the lock also
 * guards the number of its references. */
enum { REPORTS_KEPT = 128, REPORT_KEPT_BYTES = 16384 };

struct kept_report {
    char *text; /* NULL: none yet */
    json_t *tree;
};

static pthread_mutex_t reports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept_report reports[REPORTS_KEPT]; /* guarded by the lock; by the pool's name */

static void report_keep(struct kept_report *kept, const char *text, json_t *tree) {
    char *copy = heap_text(text), *before;

    pthread_mutex_lock(&reports_lock);
    before = kept->text;
    json_decref(kept->tree);
    kept->text = copy;
    kept->tree = json_incref(tree);
    pthread_mutex_unlock(&reports_lock);
    free(before);
}

static void report_release(void *tree) {
    scoped_lock(&reports_lock);
    json_decref(tree);
}

const json_t *pool_reported(struct work *work, const struct pool *pool) {
    const char *text = pool->capabilities;
    struct kept_report *kept = &reports[word_hash(pool->name) % REPORTS_KEPT];
    json_t *tree = NULL;

    pthread_mutex_lock(&reports_lock);
    if (kept->text && strcmp(kept->text, text) == 0)
        tree = json_incref(kept->tree);
    pthread_mutex_unlock(&reports_lock);
    if (!tree) {
        const json_t *parsed = json_parse(work->arena, text, strlen(text), NULL);

        tree = json_is_object(parsed) ? json_deep_copy(parsed) : json_object();
        if (strlen(text) <= REPORT_KEPT_BYTES)
            report_keep(kept, text, tree);
    }
    arena_defer(work->arena, report_release, tree);
    return tree;
}

/* ---- capabilities ---- */

bool pool_lacks(struct work *work, const struct pool *pool, enum driver_feature feature) {
    const struct driver_feature_row *row = driver_features;

    while (row->bit != feature)
        row++;
    return json_is_false(json_object_get(pool_reported(work, pool), row->capability));
}

int pool_demand(struct work *work, const char *name, enum driver_feature feature,
                const char *refusal, struct error *err) {
    struct pool pool;
    int found = pool_find(work, name, &pool, err);

    if (found > 0 && pool_lacks(work, &pool, feature))
        return error_set(err, ERROR_BAD_REQUEST, "%s", refusal);
    return found < 0 ? -1 : 0;
}

int pool_has_capability(struct work *work, const char *name, const char *what, struct error *err) {
    struct pool pool;
    int found = name ? pool_find(work, name, &pool, err) : 0;

    return found <= 0 ? found : json_is_true(json_object_get(pool_reported(work, &pool), what));
}

double pool_provisioned_gb(const struct pool *pool, const json_t *report) {
    double reported = json_number_value(json_object_get(report, "provisioned_capacity_gb"));
    double counted = (double)(pool->allocated_gb + pool->snapshots_gb);

    /* The report may be some seconds old, the row is not. */
    return reported > counted ? reported : counted;
}

static json_t *capacity(const struct pool *pool, double gb) {
    if (pool->infinite)
        return json_string("infinite");
    return gb < 0 ? json_string("unknown") : json_real(gb);
}

static void set_default(json_t *object, const char *key, json_t *value) {
    if (json_object_get(object, key))
        json_decref(value);
    else
        json_object_set_new(object, key, value);
}

json_t *pool_capabilities(struct work *work, const struct pool *pool) {
    json_t *object = json_keep(work->arena, json_deep_copy(pool_reported(work, pool)));
    double provisioned = pool_provisioned_gb(pool, object);
    const char *backend = strchr(pool->host, '@'), *inner = strchr(pool->name, '#');
    char time[CLOCK_TEXT_SIZE];

    json_object_set_new(object, "total_capacity_gb", capacity(pool, pool->total_gb));
    json_object_set_new(object, "free_capacity_gb", capacity(pool, pool->free_gb));
    json_object_set_new(object, "allocated_capacity_gb", json_integer(pool->allocated_gb));
    if (provisioned > json_number_value(json_object_get(object, "provisioned_capacity_gb")) ||
        !json_object_get(object, "provisioned_capacity_gb"))
        json_object_set_new(object, "provisioned_capacity_gb",
                            json_integer((json_int_t)provisioned));
    json_object_set_new(object, "timestamp", json_string(clock_text(pool->reported_at, time)));
    set_default(object, "updated", json_null());
    set_default(object, "QoS_support", json_false());
    set_default(object, "reserved_percentage", json_integer(0));
    set_default(object, "driver_version", json_null());
    set_default(object, "storage_protocol", json_null());
    set_default(object, "vendor_name", json_null());
    set_default(object, "volume_backend_name", json_string(backend ? backend + 1 : pool->host));
    set_default(object, "pool_name", inner ? json_string(inner + 1) : json_null());
    set_default(object, "backend_state", json_string("up"));
    return object;
}
