#include "model/attachment/connection.h"

int connection_give(struct work *work, const char *volume_id, const char *id, const char *host,
                    int64_t most, struct error *err) {
    int64_t given = 0;

    if (db_query_int(work->tx, &given, err, "SELECT COUNT(*) FROM connections WHERE volume_id = $1",
                     DB_TEXT(volume_id)) < 0)
        return -1;
    if (given >= most)
        return error_set(err, ERROR_TRY_LATER,
                         "Volume %s has %jd connections that were not ended, the most there can "
                         "be: end them with os-terminate_connection.",
                         volume_id, (intmax_t)given);
    return db_change(work->tx, err,
                     "INSERT INTO connections (id, volume_id, host, created_at) "
                     "VALUES ($1, $2, $3, $4)",
                     DB_TEXT(id), DB_TEXT(volume_id), DB_TEXT(host ? host : ""),
                     DB_INT(work->now_us));
}

int connection_confirm(struct work *work, const char *volume_id, const char *id,
                       struct error *err) {
    int64_t there = 0;

    if (db_query_int(work->tx, &there, err, "SELECT COUNT(*) FROM connections WHERE id = $1",
                     DB_TEXT(id)) < 0)
        return -1;
    if (there > 0 &&
        db_run(work->tx, err,
               "DELETE FROM connections WHERE volume_id = $1 AND id <> $2 AND created_at <= "
               "(SELECT c.created_at FROM connections c WHERE c.id = $2) AND host = "
               "(SELECT c.host FROM connections c WHERE c.id = $2)",
               DB_TEXT(volume_id), DB_TEXT(id)) < 0)
        return -1;
    return there > 0;
}

int connection_refused(struct work *work, const char *id, struct error *err) {
    return db_run(work->tx, err, "DELETE FROM connections WHERE id = $1", DB_TEXT(id)) < 0 ? -1 : 0;
}

int connection_end(struct work *work, const char *volume_id, const char *host, struct error *err) {
    return db_run(work->tx, err,
                  "DELETE FROM connections WHERE volume_id = $1 AND ($2 = 1 OR host = $3)",
                  DB_TEXT(volume_id), DB_BOOL(!host), DB_TEXT(host ? host : "")) < 0
               ? -1
               : 0;
}

int connection_attached(struct work *work, const struct attachment *attachment, struct error *err) {
    const char *host = attachment->attached_host;
    int ended =
        host ? db_run(work->tx, err, "DELETE FROM connections WHERE volume_id = $1 AND host = $2",
                      DB_TEXT(attachment->volume_id), DB_TEXT(host))
             : 0;

    if (ended != 0)
        return ended < 0 ? -1 : 0;
    return db_run(work->tx, err,
                  "DELETE FROM connections WHERE id = (SELECT c.id FROM connections c "
                  "WHERE c.volume_id = $1 ORDER BY c.created_at, c.id LIMIT 1)",
                  DB_TEXT(attachment->volume_id)) < 0
               ? -1
               : 0;
}

#define IN_USE "a.attach_status IN ('attached', 'attaching', 'detaching')"

int connection_is_given(struct work *work, const char *volume_id, struct error *err) {
    int64_t given = 0;

    if (db_query_int(
            work->tx, &given, err,
            "SELECT CASE WHEN (EXISTS (SELECT 1 FROM connections c WHERE c.volume_id = $1) "
            "OR EXISTS (SELECT 1 FROM attachments a WHERE a.volume_id = $1 AND "
            "a.connection_info IS NOT NULL)) AND NOT EXISTS (SELECT 1 FROM attachments a "
            "WHERE a.volume_id = $1 AND " IN_USE ") THEN 1 ELSE 0 END",
            DB_TEXT(volume_id)) < 0)
        return -1;
    return given > 0;
}
