#include "db/postgresql/clock.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "db/clock.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A returned instant is stored when the stored one is older than this; for a starting process a
 * stored one is old when it is older than two measurements. */
#define TELL_US (5 * SECOND_US)
#define OLD_US  (2 * INT64_C(1000) * POSTGRESQL_CLOCK_MS)

enum { QUESTIONS = 3, ATTEMPTS = 3 };

#define SERVER_US "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"

int postgresql_clock_begin(struct db_tx *tx, struct error *err) {
    int64_t server_us;

    if (db_query_int(tx, &server_us, err, "SELECT " SERVER_US) < 0)
        return -1;
    return clock_of_server(tx, server_us, err);
}

struct reading {
    int64_t steady_us, took_us;  /* of this process */
    int64_t server_us, ahead_us; /* of the server, and its correction */
    int64_t told_us;
};

static int64_t clock_of(const struct reading *reading) {
    return reading->server_us + reading->ahead_us;
}

static int ask(struct session *session, const struct clock *local, struct reading *ret,
               struct error *err) {
    int64_t asked_us = clock_steady_us(local);
    char text[80];

    if (session_text(session, "SELECT concat_ws(' ', " SERVER_US ", ahead_us, told_us) FROM clock",
                     text, sizeof(text), err) < 0)
        return -1;
    ret->took_us = clock_steady_us(local) - asked_us;
    ret->steady_us = asked_us + ret->took_us / 2;
    return sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64, &ret->server_us, &ret->ahead_us,
                  &ret->told_us) == 3
               ? 0
               : error_set(err, ERROR_INTERNAL, "The clock row of the database is missing.");
}

/* The quickest of a few responses. */
static int read_clocks(struct session *session, const struct clock *local, struct reading *ret,
                       struct error *err) {
    *ret = (struct reading){ .took_us = INT64_MAX };
    for (int i = 0; i < QUESTIONS; i++) {
        struct reading reading;

        if (ask(session, local, &reading, err) < 0)
            return -1;
        if (reading.took_us < ret->took_us)
            *ret = reading;
    }
    return 0;
}

/* 1 done, 0 another process was first. */
static int correct(struct session *session, const struct reading *reading, int64_t clock_us,
                   struct error *err) {
    char sql[200], done[4];

    snprintf(sql, sizeof(sql),
             "UPDATE clock SET ahead_us = %" PRId64 ", told_us = %" PRId64
             " WHERE ahead_us = %" PRId64 " RETURNING 1",
             clock_us - reading->server_us, clock_us, reading->ahead_us);
    if (session_text(session, sql, done, sizeof(done), err) < 0)
        return -1;
    if (!*done)
        return 0;
    log_warning(NULL, "the clock of the database server was set", "by_ms",
                LOG_INT((clock_of(reading) - clock_us) / 1000), NULL);
    return 1;
}

/* The clock at the moment of `reading`, as known to this process. */
static int64_t expected(const struct postgresql_db *db, const struct reading *reading) {
    return db->measured_us ? reading->steady_us + db->base.ahead_us : reading->told_us;
}

/* Was the server's clock set?  Running clocks drift by less than a thousandth. */
static bool was_set(const struct postgresql_db *db, const struct reading *reading) {
    int64_t off_us = clock_of(reading) - expected(db, reading);
    int64_t limit_us = SECOND_US + reading->took_us;

    if (!db->measured_us)
        return off_us < -limit_us;
    limit_us += (reading->steady_us - db->measured_us) / 1000;
    return llabs(off_us) > limit_us && reading->told_us <= expected(db, reading) + limit_us;
}

/* Sure after a time in which every other live process has measured, too. */
static bool is_sure(struct postgresql_db *db, const struct reading *reading) {
    if (db->measured_us || clock_of(reading) - reading->told_us < OLD_US)
        return true;
    if (!db->unsure_us)
        db->unsure_us = reading->steady_us;
    return reading->steady_us - db->unsure_us >= OLD_US;
}

static int measure(struct postgresql_db *db, struct session *session, struct reading *ret,
                   struct error *err) {
    for (int i = 0; i < ATTEMPTS; i++) {
        int64_t clock_us;
        int done;

        if (read_clocks(session, db->base.local, ret, err) < 0)
            return -1;
        if (!was_set(db, ret))
            return 0;
        clock_us = expected(db, ret);
        if ((done = correct(session, ret, clock_us, err)) < 0)
            return -1;
        if (done > 0) {
            ret->ahead_us = clock_us - ret->server_us;
            ret->told_us = clock_us;
            return 0;
        }
    }
    return error_set(err, ERROR_UNAVAILABLE,
                     "The clock of the database server is being set repeatedly.");
}

int postgresql_clock_read(struct postgresql_db *db, struct session *session, struct error *err) {
    struct reading reading;
    int64_t clock_us;

    if (read_clocks(session, db->base.local, &reading, err) < 0)
        return -1;
    clock_us = was_set(db, &reading) ? reading.told_us : clock_of(&reading);
    atomic_store(&db->offset_us, reading.server_us - reading.steady_us);
    atomic_store(&db->base.ahead_us, clock_us - reading.steady_us);
    return 0;
}

int postgresql_clock_measure(struct postgresql_db *db, struct session *session, struct error *err) {
    struct reading reading;
    char sql[120];

    if (measure(db, session, &reading, err) < 0)
        return -1;
    atomic_store(&db->offset_us, reading.server_us - reading.steady_us);
    atomic_store(&db->base.ahead_us, clock_of(&reading) - reading.steady_us);
    atomic_store(&db->base.unsure, !is_sure(db, &reading));
    if (db->base.unsure)
        return 0;
    db->measured_us = reading.steady_us;
    if (clock_of(&reading) - reading.told_us < TELL_US)
        return 0;
    snprintf(sql, sizeof(sql),
             "UPDATE clock SET told_us = %" PRId64 " WHERE told_us < %" PRId64
             " AND ahead_us = %" PRId64,
             clock_of(&reading), clock_of(&reading), reading.ahead_us);
    return session_run(session, sql, err);
}
