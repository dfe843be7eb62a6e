/*
 * Makes true what a config says: its volume, the volume's replicas, where it is served and how
 * large it is.
 *
 * A function from documents to documents: each call reads anew what there is and takes it one step
 * further, in the transaction of its caller and with no effect outside.  So it may be called by
 * anybody, at any time, as often as they like, and after a death anywhere.  What is outside is done
 * by the nodes that the documents name; their statuses, and edits of clients, are what the next
 * call finds.
 */
#pragma once

#include "declared/replica_pool.h"
#include "ledger/work.h"

#include <stdbool.h>

enum {
    RECONCILE_SETTLED, /* nothing to be done before one of its documents changes */
    RECONCILE_AGAIN,   /* it waits for what no change of its documents tells */
    RECONCILE_WRITES,  /* of a look: there is something to be done */
};

/* Of the config with this uid, or of nothing when there is none; with an administrator's rights. */
int reconcile_config(struct work *work, const char *id, struct error *err);
/* What kept the last call from doing anything, for people who look at the config: in a transaction
 * of its own. */
int reconcile_report_failure(struct work *work, const char *id, const struct error *why,
                             struct error *err);

/* What a look has found out about the config beside its result. */
struct reconcile_evaluation {
    int64_t version;     /* of the config; 0: there is none */
    bool is_settled;     /* only a change of its documents or of its pools can make work */
    bool waits_for_slot; /* a replica is to be replaced when fewer are being copied */
    const struct replica_pool *pools; /* of its replicas, as it was evaluated with; in the arena */
    unsigned pool_count;
};

/* Would that do anything?  On a snapshot.  *ret, which may be NULL, is written after a failure,
 * too; its version is 0 when the documents could not be read. */
int reconcile_evaluate(struct work *work, const char *id, struct reconcile_evaluation *ret,
                       struct error *err);
