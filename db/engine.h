/*
 * The interface of an engine: a struct of functions, and the first members of its own structs.
 * Each function keeps the contract of the db.h function with the same name.
 */
#pragma once

#include "db/db.h"

struct db_engine {
    const char *const *schemes; /* the text before "://" in its URLs; ended with NULL */
    bool has_sequels;           /* it runs those of db_tx_continues() */
    const char *serial_words;   /* a self-numbering key; no number is reused */
    const char *tables_sql;     /* its tables by name, each after those it references */

    /* A self-numbering key of the table continues after the existing rows. */
    int (*serial_go_on)(struct db_tx *tx, const char *table, struct error *err);

    int (*open)(const struct db_settings *settings, struct db **ret, struct error *err);
    int (*alone)(const char *url, struct error *err); /* NULL: not supported */
    void (*close)(struct db *db);
    int (*read)(struct db *db, db_body *body, void *arg, struct error *err);
    int (*read_briefly)(struct db *db, db_body *body, void *arg, bool *ret_over,
                        struct error *err); /* NULL: it cannot abort */
    void (*submit)(struct db *db, struct db_job *job);
    void (*on_event)(struct db *db, enum db_event event, void (*hook)(void *arg), void *arg);
    void (*tell)(struct db *db, enum db_event event);
    int64_t (*now_us)(struct db *db); /* of the wall clock */
    int (*reset_from)(struct db *db, struct db *pristine, struct error *err);
    void (*set_fault)(struct db *db, db_fault *fault, void *arg);

    int (*check_space)(struct db_tx *tx, struct error *err); /* NULL: not for this process */
    int (*run)(struct db_tx *tx, struct error *err, const char *sql, const struct db_value *values,
               size_t count);
    struct db_rows *(*query)(struct db_tx *tx, struct error *err, const char *sql,
                             const struct db_value *values, size_t count);
    int (*next)(struct db_rows *rows, struct error *err);
    void (*rows_end)(struct db_rows *rows);
    unsigned (*columns)(const struct db_rows *rows);
    enum db_value_type (*type)(const struct db_rows *rows, unsigned column);
    const char *(*text)(const struct db_rows *rows, unsigned column);
    int64_t (*integer)(const struct db_rows *rows, unsigned column);
    double (*real)(const struct db_rows *rows, unsigned column);
};

struct db {
    const struct db_engine *engine;
    const struct clock *local;            /* this machine's; set by the engine when it opens */
    struct clock clock;                   /* the database's: db_clock() */
    _Atomic int64_t ahead_us;             /* offset of `shared` to the steady clock */
    _Atomic bool unsure;                  /* see db_clock_sure() */
    _Atomic int64_t now_told_us, told_us; /* the last instants returned by `now` and `shared` */
};

struct db_tx {
    const struct db_engine *engine;
    bool writes;
    unsigned events;           /* bits of enum db_event: notifications of its commit */
    struct db_sequel *sequels; /* the last one; NULL: none */
};

struct db_rows {
    const struct db_engine *engine;
};

extern const struct db_engine sqlite_engine, postgresql_engine;
