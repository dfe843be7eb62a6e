#include "operation/work.h"

#include "common/assert.h"

struct work work_own(const struct settings *settings, struct arena *arena) {
    static const struct context own = { .request_id = "-", .is_admin = true };

    return (struct work){ .arena = arena, .context = &own, .settings = settings };
}

int work_check_project(const struct work *work, const char *what, struct error *err) {
    return work->context->project_id
               ? 0
               : error_set(err, ERROR_BAD_REQUEST,
                           "%s belongs to a project, and the token is for none.", what);
}

struct work_call {
    struct db *db;
    const struct work *base;
    work_body *body;
    void *arg;
};

static int work_run(struct db_tx *tx, void *arg, struct error *err) {
    const struct work_call *call = arg;
    struct work work = *call->base;

    work.tx = tx;
    work.now_us = clock_now_us(work.settings->clock);
    work.clock_us = clock_shared_us(work.settings->clock);
    work.over_us = db_clock_sure(call->db) ? work.clock_us : LEASE_ENDED_US + 1;
    assert(work.over_us <= work.clock_us);
    return call->body(&work, call->arg, err);
}

int work_transaction(struct db *db, const struct work *base, work_body *body, void *arg,
                     struct error *err) {
    struct work_call call = { db, base, body, arg };

    return db_transaction(db, work_run, &call, err);
}

int work_transaction_unsynced(struct db *db, const struct work *base, work_body *body, void *arg,
                              struct error *err) {
    struct work_call call = { db, base, body, arg };

    return db_transaction_unsynced(db, work_run, &call, err);
}

int work_read(struct db *db, const struct work *base, work_body *body, void *arg,
              struct error *err) {
    struct work_call call = { db, base, body, arg };

    return db_read(db, work_run, &call, err);
}
