#include "declared/replica_replacement.h"

#include "declared/replica_pool.h"

int replica_replacement_count(struct work *work, int64_t *ret, struct error *err) {
    return db_query_int(work->tx, ret, err, "SELECT COUNT(*) FROM replica_moves") < 0 ? -1 : 0;
}

int replica_replacement_begin(struct work *work, const char *config_id, struct error *err) {
    return db_change(work->tx, err,
                     "INSERT INTO replica_moves (config_id) VALUES ($1) ON CONFLICT DO NOTHING",
                     DB_TEXT(config_id));
}

int replica_replacement_end(struct work *work, const char *config_id, struct error *err) {
    return db_change(work->tx, err, "DELETE FROM replica_moves WHERE config_id = $1",
                     DB_TEXT(config_id));
}

/* A pool that has just come back does not show that the others will. */
int replica_replacement_is_outage(struct work *work, int64_t us, struct error *err) {
    int64_t all, online;

    if (db_query_int(work->tx, &all, err, "SELECT COUNT(*) FROM replica_pools") < 0 ||
        db_query_int(work->tx, &online, err,
                     "SELECT COUNT(*) FROM replica_pools WHERE state = $1 AND seen_at >= $2 AND "
                     "up_since <= $3",
                     DB_TEXT(REPLICA_POOL_ONLINE),
                     DB_INT(work->clock_us - work->settings->replica_pool_down_s * SECOND_US),
                     DB_INT(work->clock_us - us)) < 0)
        return -1;
    return online * 2 <= all;
}
