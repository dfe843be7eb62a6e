/*
 * What the body of one transaction works with: every function below volume/ gets it first.
 *
 * One instant stands for the whole transaction, so rows written together carry the same time.
 */
#pragma once

#include "common/arena.h"
#include "db/db.h"
#include "policy/context.h"
#include "volume/settings.h"

struct work {
    struct db_tx *tx;
    struct arena *arena;           /* of the request or job */
    const struct context *context; /* who asks, or for whom a job works */
    const struct settings *settings;
    int64_t now_us;
};

/* A new id in the arena. */
static inline char *work_uuid(const struct work *work) {
    char text[UUID_SIZE];

    return arena_text(work->arena, clock_uuid(work->settings->clock, text));
}

typedef int work_body(struct work *work, void *arg, struct error *err);

/*
 * Runs `body` in a write transaction (or on a snapshot) of `db`, with the arena, context and
 * settings of `base`; tx and instant are the transaction's own. For jobs and tools; the API has its
 * router.
 */
int work_transaction(struct db *db, const struct work *base, work_body *body, void *arg,
                     struct error *err);
int work_transaction_unsynced(struct db *db, const struct work *base, work_body *body, void *arg,
                              struct error *err); /* db_transaction_unsynced() */
int work_read(struct db *db, const struct work *base, work_body *body, void *arg,
              struct error *err);
