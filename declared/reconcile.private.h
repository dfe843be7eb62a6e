/*
 * One evaluation of a config and its documents, and the steps. A step changes the documents in
 * memory (struct document_update); the differences are written at the end. In a dry run a step
 * only notes that it would write.
 */
#pragma once

#include "declared/document_own.h"
#include "declared/phases.h"
#include "declared/reconcile.h"
#include "declared/replica_pool.h"
#include "declared/tree.h"

/* A document as read, and as it will be written. Unchanged parts are shared. */
struct document_update {
    struct document before, after;
    bool own_body, own_status;
};

struct reconcile {
    struct work *work;
    bool dry_run, writes, again, waits_for_slot;
    struct document_update config, volume;
    bool has_volume;
    struct document *replicas; /* in the order of creation, including deleted ones */
    unsigned count;
    struct document_update *snapshots; /* of the config, including deleted ones */
    unsigned snapshot_count;
    struct replica_pool *pools; /* of the replicas, those that exist, once they are read */
    unsigned pool_count;
    json_t *conditions;         /* config_conditions() */
    const json_t *wanted_pools; /* as named by the policy, after replacements */
    /* The pending change of replicas and what it waits for; NULL: there is none. */
    const char *scaling, *scaling_message;
};

/* ---- changes of documents (reconcile_update.c) ---- */

json_t *update_spec(const struct document_update *update);
json_t *update_status(const struct document_update *update);
/* Advances its phase by the table: the row; NULL: the event is refused, and nothing changes. */
const struct state_row *update_advance(struct reconcile *r, struct document_update *update,
                                       const struct state_table *table, unsigned event);
bool config_is(const struct reconcile *r, enum config_phase phase);
/* Takes over the value; NULL: removes the key. */
void update_put_spec(struct reconcile *r, struct document_update *update, const char *key,
                     json_t *value);
void update_put_status(struct reconcile *r, struct document_update *update, const char *key,
                       json_t *value);
/* The config's conditions, to be changed and put back: one tree for all steps. */
json_t *config_conditions(struct reconcile *r);
void config_put_conditions(struct reconcile *r, json_t *conditions);

/* Records an event of the config. */
int reconcile_record_event(struct reconcile *r, const char *type, const char *reason,
                           const char *message, struct error *err);
/* Records an event of the config and of its volume. */
int reconcile_record_volume_event(struct reconcile *r, const char *type, const char *reason,
                                  const char *message, struct error *err);
/* It cannot continue, and no change of its documents will announce when it can. */
int reconcile_fail(struct reconcile *r, const char *reason, const char *message, struct error *err);

/* The requested size, rounded up to the largest block size. */
int64_t reconcile_wanted_bytes(const struct reconcile *r);

/* ---- current state ---- */

bool replica_is(const struct document *replica, enum replica_phase phase);
const char *replica_pool_of(const struct document *replica);
/* Written at once. Takes over the value; NULL: removes the key. */
int replica_put_spec(struct reconcile *r, struct document *replica, const char *key, json_t *value,
                     struct error *err);
/* The volume's spec is unchanged, and its node, if any, has applied it. */
bool volume_is_done(const struct reconcile *r);
/* The same, and its node serves it. */
bool volume_is_served(const struct reconcile *r);

/* Its finalizers without the service's own. */
json_t *reconcile_other_finalizers(struct reconcile *r, const struct document *document);

/* ---- one replica (reconcile_replica.c) ---- */

/* The one with this id; NULL: none. */
struct document *replica_called(const struct reconcile *r, const char *id);
/* Its state as reported by the target; NULL: not reported. */
const json_t *replica_report_of(const struct reconcile *r, const struct document *replica);
/* Its pool is in status.poolInfo of the config. */
bool replica_is_counted(const struct reconcile *r, const struct document *replica);
/* It is created, and the target reads and writes it. */
bool replica_is_healthy(const struct reconcile *r, const struct document *replica);

#define VOLUME_MAXIMUM "1Ti" /* files of replicas are sparse and have this length from the start */

/* An entry of the volume's spec. */
json_t *replica_entry(const char *id, const struct replica_pool *pool);
/* The same for an existing replica, with the last reported address of its pool. */
json_t *replica_entry_of(const struct reconcile *r, const struct document *replica);
/* Limits of clients of a volume with this policy. */
json_t *reconcile_qos(const json_t *policy);
/* The pools of the replicas, for reconcile_pool(). */
int reconcile_read_pools(struct reconcile *r, struct error *err);
/* Of the name that a replica's has, of any node; NULL: none is reported. */
const struct replica_pool *reconcile_pool_named(const struct reconcile *r,
                                                const struct document *replica);
/* Of a replica; NULL: it is not reported, or is another node's now. */
const struct replica_pool *reconcile_pool(const struct reconcile *r,
                                          const struct document *replica);
/* Its pool has reported recently, and is online. */
bool reconcile_is_online(const struct reconcile *r, const struct document *replica);
/* `members`: the first set, which it belongs to; NULL: it is created empty, and rebuilt. `source`:
 * of a clone's, the snapshot to copy. */
int replica_make(struct reconcile *r, const struct document *volume,
                 const struct replica_pool *pool, const char *capacity, unsigned factor,
                 const char *id, json_t *members, const json_t *source, struct error *err);
/* It is no longer wanted; its document stays until its node has removed the data (P45). */
int reconcile_delete_replica(struct reconcile *r, struct document *replica, struct error *err);

/* ---- replacements ---- */

enum replacement_part { REPLACEMENT_NONE, REPLACEMENT_OLD, REPLACEMENT_NEW };

/* The role of a replica in the current replacement. */
enum replacement_part reconcile_replacement_part(const struct reconcile *r,
                                                 const struct document *replica);
/* Of one with a role in it: it is to be kept for now. */
bool reconcile_replacement_keeps(struct reconcile *r, const struct document *replica);
/* The node that serves the volume for a replacement while it is unpublished; "": none. */
const char *reconcile_replacement_node(const struct reconcile *r);
/* The next step of the current replacement; and, after all other changes of replicas, the begin of
 * another. */
int reconcile_replacement(struct reconcile *r, struct error *err);
int reconcile_replacement_begin(struct reconcile *r, struct error *err);

/* ---- snapshots ---- */

/* One is still to be taken. */
bool reconcile_wants_snapshot(const struct reconcile *r);
/* A snapshot that only this replica is known to hold; NULL: there is none. */
const struct document_update *reconcile_only_copy_of(const struct reconcile *r,
                                                     const struct document *replica);
/* A revert is pending, and clients are not admitted; and its snapshot exists. */
bool reconcile_reverts(const struct reconcile *r);
bool reconcile_wants_revert(const struct reconcile *r);
/* The node that serves the volume for a snapshot or a revert while it is unpublished; "": none. */
int reconcile_snapshot_node(struct reconcile *r, const char **ret, struct error *err);

/* ---- steps ---- */

int reconcile_create(struct reconcile *r, struct error *err);
int reconcile_bind(struct reconcile *r, struct error *err);
int reconcile_replicas(struct reconcile *r, struct error *err);
/* The node that is to serve it; "": none. */
int reconcile_target(struct reconcile *r, const char *node, struct error *err);
int reconcile_size(struct reconcile *r, struct error *err);
int reconcile_snapshots(struct reconcile *r, struct error *err);
int reconcile_revert(struct reconcile *r, struct error *err);
int reconcile_reclaim(struct reconcile *r, struct error *err);
int reconcile_recovery(struct reconcile *r, struct error *err);
/* Conditions and events about the replicas. */
int reconcile_health(struct reconcile *r, struct error *err);
int reconcile_finish(struct reconcile *r, struct error *err);
int reconcile_delete(struct reconcile *r, struct error *err);
