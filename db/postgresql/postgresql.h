/*
 * A PostgreSQL database: two pools of sessions, a few threads that write, one that listens.
 */
#pragma once

#include "db/postgresql/session_pool.h"

struct listener;
struct postgresql_writer;

struct postgresql_db {
    struct db base;
    struct session_pool readers, writers;
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

/* Tells whoever listens in this process. */
void postgresql_hook(struct postgresql_db *db, enum db_event event);
