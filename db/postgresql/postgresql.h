/*
 * A PostgreSQL database: two pools of sessions, a few writer threads, one listener.
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
    _Atomic int64_t offset_us; /* offset of the server's wall clock to the steady one */
    /* Owned by the measuring thread (clock.h); steady, 0: never. */
    int64_t measured_us, unsure_us;

    db_fault *fault;
    void *fault_arg;

    pthread_mutex_t hook_lock; /* held while a hook runs */
    struct {
        void (*run)(void *arg);
        void *arg;
    } hooks[DB_EVENTS];
};

/* Calls the hook of this process. */
void postgresql_hook(struct postgresql_db *db, enum db_event event);
