#include "model/volume/summary.h"

#include "operation/query.h"

#define PAIRS_MOST      20000
#define CHARACTERS_MOST (4 * 1024 * 1024)

/* ---- count and size ---- */

#define COUNT_AND_SIZE "COUNT(*), CAST(COALESCE(SUM(v.size_gb), 0) AS BIGINT) FROM volumes v"
#define ON_HOST        " JOIN pools p ON p.name = v.host WHERE p.host = $1"

/* Each volume and each snapshot of a host, and what they add to. */
#define EACH_ON_HOST                                                                \
    " FROM (SELECT v.project_id AS project, 1 AS volumes, v.size_gb AS volume_gb, " \
    "0 AS snapshots, 0 AS snapshot_gb FROM volumes v" ON_HOST                       \
    " UNION ALL SELECT s.project_id, 0, 0, 1, s.size_gb FROM snapshots s "          \
    "JOIN volumes v ON v.id = s.volume_id" ON_HOST ") AS each_one "
#define SUM_OF(column) ", CAST(COALESCE(SUM(" column "), 0) AS BIGINT)"
#define SUMS_OF_HOST \
    SUM_OF("volumes") SUM_OF("volume_gb") SUM_OF("snapshots") SUM_OF("snapshot_gb") EACH_ON_HOST

static int read_summary(struct work *work, const struct db_rows *rows, void *ret,
                        struct error *err) {
    (void)err;
    *(struct summary *)ret =
        (struct summary){ db_copy(rows, 0, work->arena), db_int(rows, 1), db_int(rows, 2) };
    return 0;
}

int summary_volumes(struct work *work, bool all_projects, struct summary *ret, struct error *err) {
    static const char all[] = "SELECT NULL, " COUNT_AND_SIZE;
    static const char own[] = "SELECT NULL, " COUNT_AND_SIZE " WHERE v.project_id = $1";
    struct db_rows *rows = all_projects && work->context->is_admin
                               ? db_query(work->tx, err, all)
                               : db_query(work->tx, err, own, DB_TEXT(work->context->project_id));

    return query_one(work, rows, read_summary, ret, err) < 0 ? -1 : 0;
}

static int read_host(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    (void)err;
    *(struct host_summary *)ret = (struct host_summary){
        { db_copy(rows, 0, work->arena), db_int(rows, 1), db_int(rows, 2) },
        { NULL, db_int(rows, 3), db_int(rows, 4) },
    };
    return 0;
}

int summary_of_host(struct work *work, const char *host, struct host_summary **ret,
                    struct error *err) {
    static const char sql[] =
        "SELECT NULL AS project" SUMS_OF_HOST "UNION ALL SELECT project" SUMS_OF_HOST
        "GROUP BY project ORDER BY project NULLS FIRST";

    return query_all(work, db_query(work->tx, err, sql, DB_TEXT(host)), read_host, ret, err);
}

/* ---- metadata ---- */

#define PAIRS_OF_ALL "FROM volume_metadata m"
/* The volumes come first: those of one project are found by its index, whatever the number of
 * others. */
#define PAIRS_OF_PROJECT(place)                                                 \
    "FROM volumes v CROSS JOIN volume_metadata m WHERE m.volume_id = v.id AND " \
    "v.project_id = " place

#define SIZE_OF(pairs, most)                                                                \
    "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM (SELECT LENGTH(m.key) + " \
    "LENGTH(m.value) AS size " pairs " LIMIT " most ") AS pairs"
#define DISTINCT(pairs) "SELECT DISTINCT m.key, m.value " pairs " ORDER BY m.key, m.value"

/* Reads no more than needed. */
static int check_size(struct work *work, bool all, struct error *err) {
    const struct db_value values[] = { DB_INT(PAIRS_MOST + 1), DB_TEXT(work->context->project_id) };
    autorows struct db_rows *rows = db_query_values(
        work->tx, err, all ? SIZE_OF(PAIRS_OF_ALL, "$1") : SIZE_OF(PAIRS_OF_PROJECT("$2"), "$1"),
        values, all ? 1 : 2);

    if (!rows || db_next(rows, err) < 0)
        return -1;
    if (db_int(rows, 0) > PAIRS_MOST || db_int(rows, 1) > CHARACTERS_MOST)
        return error_set(err, ERROR_TOO_LARGE,
                         "The metadata of the volumes are too many for one summary (more than %d "
                         "items, or %d characters): ask for it without them, below 3.36.",
                         PAIRS_MOST, CHARACTERS_MOST);
    return 0;
}

int summary_metadata(struct work *work, bool all_projects, struct pairs *ret, struct error *err) {
    bool all = all_projects && work->context->is_admin;

    if (check_size(work, all, err) < 0)
        return -1;

    const struct db_value project = DB_TEXT(work->context->project_id);
    struct db_rows *rows = db_query_values(
        work->tx, err, all ? DISTINCT(PAIRS_OF_ALL) : DISTINCT(PAIRS_OF_PROJECT("$1")), &project,
        all ? 0 : 1);

    return pairs_read(work, rows, ret, err);
}
