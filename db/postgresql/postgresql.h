/*
 * A PostgreSQL database: two pools of sessions, a few threads that write, one that listens.
 *
 * Bodies are written as if there were one writer.  There are several, in several processes: each
 * transaction is SERIALIZABLE, and one that the server refuses because of another is run again,
 * after a short pause of random length, until a deadline.  This is the one place that does so.
 * Readers see one snapshot (REPEATABLE READ READ ONLY).
 */
#pragma once

#include "db/postgresql/listener.h"
#include "db/postgresql/pool.h"
#include "db/postgresql/writer.h"

struct postgresql_db {
    struct db base;
    struct pool readers, writers;
    struct postgresql_writer *writer;
    struct listener *listener; /* NULL with inline_writes */
    _Atomic int64_t offset_us; /* of the server's wall clock before the steady one */
    /* Of whoever measures the clock (clock.h); steady, 0: never. */
    int64_t measured_us, unsure_us;

    db_fault *fault;
    void *fault_arg;

    pthread_mutex_t hook_lock; /* held while a hook runs */
    struct {
        void (*run)(void *arg);
        void *arg;
    } hooks[DB_EVENTS];
};

/* Runs a group of bodies as one transaction and tells each its result; transaction.c */
void transaction_run(struct postgresql_db *db, struct db_job *first, unsigned count);
int transaction_read(struct postgresql_db *db, db_body *body, void *arg, struct error *err);

void postgresql_hook(struct postgresql_db *db, enum db_event event);
