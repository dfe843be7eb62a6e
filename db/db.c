#include "config.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "db/engine.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const struct db_engine *const engines[] = {
    &sqlite_engine,
#ifdef HAVE_POSTGRESQL
    &postgresql_engine,
#endif
};

static const struct db_engine *engine_find(const char *url) {
    const char *end = strstr(url, "://");

    for (size_t i = 0; end && i < LENGTH(engines); i++)
        for (const char *const *scheme = engines[i]->schemes; *scheme; scheme++)
            if (strlen(*scheme) == (size_t)(end - url) &&
                strncmp(*scheme, url, (size_t)(end - url)) == 0)
                return engines[i];
    return NULL;
}

static int64_t tell_now(void *arg) {
    struct db *db = arg;

    return clock_next_us(&db->now_told_us, db->engine->now_us(db));
}

static int64_t tell_steady(void *arg) {
    const struct db *db = arg;

    return clock_steady_us(db->local);
}

/* Strictly increasing, also when the offset shrinks. */
static int64_t tell_shared(void *arg) {
    struct db *db = arg;
    int64_t now_us = clock_steady_us(db->local) + atomic_load(&db->ahead_us);
    int64_t last_us = atomic_load(&db->told_us);
    int64_t next_us;

    do
        next_us = now_us > last_us ? now_us : last_us + 1;
    while (!atomic_compare_exchange_weak(&db->told_us, &last_us, next_us));
    assert(next_us > 0);
    return next_us;
}

static void tell_random(void *arg, void *bytes, size_t size) {
    const struct db *db = arg;

    db->local->random(db->local->arg, bytes, size);
}

int db_open(const struct db_settings *settings, struct db **ret, struct error *err) {
    const struct db_engine *engine = engine_find(settings->url);
    struct db *db;

    if (!engine) /* all but the scheme may be a secret */
        return error_set(err, ERROR_BAD_REQUEST,
                         "database %.*s: must be sqlite:///absolute/path, sqlite:// for memory, or "
                         "postgresql://USER:PASSWORD@HOST/NAME",
                         (int)strcspn(settings->url, ":"), settings->url);
    if (engine->open(settings, &db, err) < 0)
        return -1;
    db->clock = (struct clock){ .now_us = tell_now,
                                .steady_us = tell_steady,
                                .shared_us = tell_shared,
                                .random = tell_random,
                                .arg = db };
    *ret = db;
    return 0;
}

int db_is_unused(const char *url, struct error *err) {
    const struct db_engine *engine = engine_find(url);

    assert(engine && engine->alone);
    return engine->alone(url, err);
}

void db_close(struct db *db) {
    if (db)
        db->engine->close(db);
}

/* One job, and the thread that waits for it. */
struct waiter {
    struct db_job job;
    sem_t done;
    int result;
    struct error *err;
};

static void waiter_done(struct db_job *job, int result, struct error *err) {
    struct waiter *waiter = (struct waiter *)job; /* its first member */

    waiter->result = result;
    if (result < 0 && waiter->err)
        *waiter->err = *err;
    sem_post(&waiter->done);
}

static int waiter_run(struct db *db, struct waiter *waiter) {
    assert(waiter->job.body);
    waiter->job.done = waiter_done;
    waiter->job.awaited = true;
    sem_init(&waiter->done, 0, 0);
    db->engine->submit(db, &waiter->job);
    while (sem_wait(&waiter->done) < 0)
        assert(errno == EINTR);
    sem_destroy(&waiter->done);
    return waiter->result;
}

int db_transaction(struct db *db, db_body *body, void *arg, struct error *err) {
    struct waiter waiter = { .job = { .body = body, .arg = arg }, .err = err };

    return waiter_run(db, &waiter);
}

int db_transaction_unsynced(struct db *db, db_body *body, void *arg, struct error *err) {
    struct waiter waiter = { .job = { .body = body, .arg = arg, .unsynced = true }, .err = err };

    return waiter_run(db, &waiter);
}

int db_read(struct db *db, db_body *body, void *arg, struct error *err) {
    return db->engine->read(db, body, arg, err);
}

int db_read_briefly(struct db *db, db_body *body, void *arg, bool *ret_over, struct error *err) {
    *ret_over = !db->engine->read_briefly;
    return *ret_over ? -1 : db->engine->read_briefly(db, body, arg, ret_over, err);
}

void db_submit(struct db *db, struct db_job *job) {
    assert(job->body && job->done);
    db->engine->submit(db, job);
}

void db_on_event(struct db *db, enum db_event event, void (*hook)(void *arg), void *arg) {
    assert(event < DB_EVENTS);
    db->engine->on_event(db, event, hook, arg);
}

void db_notify(struct db *db, enum db_event event) {
    assert(event < DB_EVENTS);
    db->engine->tell(db, event);
}

void db_tx_notifies(struct db_tx *tx, enum db_event event) {
    assert(tx->writes && event < DB_EVENTS);
    tx->events |= 1U << event;
}

bool db_has_sequels(struct db *db) {
    return db->engine->has_sequels;
}

void db_tx_continues(struct db_tx *tx, struct db_sequel *sequel) {
    assert(tx->writes && tx->engine->has_sequels && sequel->run);
    sequel->before = tx->sequels;
    tx->sequels = sequel;
}

const struct clock *db_clock(struct db *db) {
    return &db->clock;
}

bool db_clock_sure(struct db *db) {
    return !atomic_load(&db->unsure);
}

int db_reset_from(struct db *db, struct db *pristine, struct error *err) {
    return db->engine->reset_from(db, pristine, err);
}

void db_set_fault(struct db *db, db_fault *fault, void *arg) {
    db->engine->set_fault(db, fault, arg);
}

int db_check_space(struct db_tx *tx, struct error *err) {
    return tx->engine->check_space ? tx->engine->check_space(tx, err) : 0;
}

int db_run_values(struct db_tx *tx, struct error *err, const char *sql,
                  const struct db_value *values, size_t count) {
    assert(tx->writes && (values || count == 0));
    return tx->engine->run(tx, err, sql, values, count);
}

struct db_rows *db_query_values(struct db_tx *tx, struct error *err, const char *sql,
                                const struct db_value *values, size_t count) {
    assert(values || count == 0);
    return tx->engine->query(tx, err, sql, values, count);
}

int db_next(struct db_rows *rows, struct error *err) {
    return rows->engine->next(rows, err);
}

void db_rows_end(struct db_rows *rows) {
    if (rows)
        rows->engine->rows_end(rows);
}

bool db_is_null(const struct db_rows *rows, unsigned column) {
    return rows->engine->type(rows, column) == DB_VALUE_NULL;
}

const char *db_text(const struct db_rows *rows, unsigned column) {
    return rows->engine->text(rows, column);
}

int64_t db_int(const struct db_rows *rows, unsigned column) {
    return rows->engine->integer(rows, column);
}

bool db_bool(const struct db_rows *rows, unsigned column) {
    return db_int(rows, column) != 0;
}

unsigned db_columns(const struct db_rows *rows) {
    return rows->engine->columns(rows);
}

struct db_value db_value(const struct db_rows *rows, unsigned column) {
    struct db_value value = { .type = rows->engine->type(rows, column) };

    switch (value.type) {
    case DB_VALUE_TEXT:
        value.text = rows->engine->text(rows, column);
        break;
    case DB_VALUE_INT:
        value.integer = rows->engine->integer(rows, column);
        break;
    case DB_VALUE_REAL:
        value.real = rows->engine->real(rows, column);
        break;
    case DB_VALUE_NULL:
        break;
    }
    return value;
}

char *db_copy(const struct db_rows *rows, unsigned column, struct arena *arena) {
    return arena_text(arena, db_text(rows, column));
}

int db_query_int_values(struct db_tx *tx, int64_t *ret, struct error *err, const char *sql,
                        const struct db_value *values, size_t count) {
    autorows struct db_rows *rows = db_query_values(tx, err, sql, values, count);
    int more = rows ? db_next(rows, err) : -1;

    if (more <= 0)
        return more;
    if (db_is_null(rows, 0))
        return 0;
    if (ret)
        *ret = db_int(rows, 0);
    return 1;
}

char *db_places(struct arena *arena, unsigned first, unsigned count) {
    enum { PLACE_SIZE = 12 }; /* "$4294967295," */
    char *text = arena_alloc(arena, (size_t)count * PLACE_SIZE + 1);
    char *at = text;

    assert(first > 0);
    for (unsigned i = 0; i < count; i++)
        at += sprintf(at, "%s$%u", i ? "," : "", first + i);
    return text;
}
