/*
 * Reconciles a config: its volume, the volume's replicas, the node that serves it and its size.
 *
 * A function from documents to documents: each call reads the current ones and does one step, in
 * the transaction of its caller and without effects outside. So it may be called at any time, by
 * any process, repeatedly, and after a crash anywhere. Effects outside are made by the nodes that
 * the documents name; the next call finds their statuses and the edits of clients.
 */
#pragma once

#include "declared/replica_pool.h"
#include "operation/work.h"

#include <stdbool.h>

enum {
    RECONCILE_SETTLED, /* nothing to do before one of its documents changes */
    RECONCILE_AGAIN,   /* it waits for a condition that no change of its documents announces */
    RECONCILE_WRITES,  /* of an evaluation: there is something to write */
};

/* The config with this uid; nothing when there is none. With an administrator's rights. */
int reconcile_config(struct work *work, const char *id, struct error *err);
/* Records the error of the last call as an event of the config, in a transaction of its own. */
int reconcile_report_failure(struct work *work, const char *id, const struct error *why,
                             struct error *err);

/* The result of an evaluation, beside its return value. */
struct reconcile_evaluation {
    int64_t version;     /* of the config; 0: there is none */
    bool is_settled;     /* only a change of its documents or of its pools can require work */
    bool waits_for_slot; /* a replica is to be replaced when fewer are being copied */
    const struct replica_pool *pools; /* of its replicas, as evaluated; in the arena */
    unsigned pool_count;
};

/* A dry run on a snapshot: is there something to write? *ret, which may be NULL, is written after a
 * failure, too; its version is 0 when the documents could not be read. */
int reconcile_evaluate(struct work *work, const char *id, struct reconcile_evaluation *ret,
                       struct error *err);
