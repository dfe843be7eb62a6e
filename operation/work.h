/*
 * The arguments of the body of one transaction: functions of operation/ and model/ get it first.
 *
 * The whole transaction has one instant, so rows written together carry the same time: of the wall
 * clock where it is only shown (created_at, updated_at), of the database's clock where it is
 * compared with another instant (leases, deadlines, reports, operations, messages in the outbox).
 */
#pragma once

#include "common/arena.h"
#include "db/db.h"
#include "operation/settings.h"
#include "policy/context.h"

/* Instants of a lease or a deadline that was ended explicitly. */
#define LEASE_ENDED_US   0
#define DEADLINE_OVER_US 0

/*
 * Some facts are known outside of the database alone, and a transaction sends no requests.  A body
 * that is refused for one of them stores the question here; it may be repeated with the answer.
 */
struct confirmation {
    enum confirmation_kind {
        CONFIRM_RELEASE,
        CONFIRM_IMAGE,
        CONFIRM_IMAGE_ID,
        CONFIRM_NEW_IMAGE,
        CONFIRM_CERTIFICATE,
    } kind;
    bool wanted, granted;
    bool has_effect;        /* of the query, which is undone when the repeated body fails */
    const char *project_id; /* to which the query is charged */
    const void *subject;    /* the question, in the arena: known to the body and to its answerer */
    const void *answer;     /* the same; NULL: it is confirmed, and no more */
    const struct confirmation *before; /* granted, its answer led to this question; NULL: none */
};

struct work {
    struct db_tx *tx;
    struct arena *arena;           /* of the request or job */
    const struct context *context; /* the requester, also of a job */
    const struct settings *settings;
    int64_t now_us;                    /* shown */
    int64_t clock_us;                  /* the database's clock: compared */
    int64_t over_us;                   /* earlier instants are certainly over (db_clock_sure()) */
    struct confirmation *confirmation; /* NULL: there are no answers */
};

/* An instant of the database's clock in terms of the wall clock; 0 stays. */
static inline int64_t work_shown(const struct work *work, int64_t instant_us) {
    return instant_us ? instant_us - work->clock_us + work->now_us : 0;
}

/* A new id in the arena. */
static inline char *work_uuid(const struct work *work) {
    char text[UUID_SIZE];

    return arena_text(work->arena, clock_uuid(work->settings->clock, text));
}

/* For work of the service itself, without a request and with an administrator's rights. */
struct work work_own(const struct settings *settings, struct arena *arena);

/* A new object belongs to a project: ERROR_BAD_REQUEST where the caller's token is for none.
 * `what`: "A volume". */
int work_check_project(const struct work *work, const char *what, struct error *err);

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
