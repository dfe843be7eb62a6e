/*
 * One look at a config and what belongs to it, and the steps that take it further.  A step changes
 * the documents as they are to be (struct side); what differs in the end is written.  A step that
 * only looks says that it would write, and does not.
 */
#pragma once

#include "declared/document_own.h"
#include "declared/phases.h"
#include "declared/reconcile.h"
#include "declared/replica_pool.h"
#include "declared/tree.h"

/* A document as it was found, and as it is to be.  What is the same in both is shared. */
struct document_update {
    struct document before, after;
    bool own_body, own_status;
};

struct reconcile {
    struct work *work;
    bool dry_run, writes, again, waits_for_slot;
    struct document_update config, volume;
    bool has_volume;
    struct document *replicas; /* in the order in which they were made, deleted ones too */
    unsigned count;
    struct document_update *snapshots; /* of the config, deleted ones too */
    unsigned snapshot_count;
    struct replica_pool *pools; /* of the replicas, those that are known, once they are read */
    unsigned pool_count;
    json_t *conditions;         /* config_conditions() */
    const json_t *wanted_pools; /* as the policy names them, less those that were replaced */
    /* What a change of the pools waits for; NULL: there is none. */
    const char *scaling, *scaling_message;
};

/* ---- trees ---- */

json_t *update_spec(const struct document_update *update);
json_t *update_status(const struct document_update *update);
const char *update_phase(const struct document_update *update);
/* Its phase, by the table: the row; NULL: the event is refused, and nothing changes. */
const struct state_row *update_advance(struct reconcile *r, struct document_update *update,
                                       const struct state_table *table, unsigned event);
bool config_is(const struct reconcile *r, enum config_phase phase);
/* Takes over the value; NULL: the key goes. */
void update_put_spec(struct reconcile *r, struct document_update *update, const char *key,
                     json_t *value);
void update_put_status(struct reconcile *r, struct document_update *update, const char *key,
                       json_t *value);
/* The config's, to be changed and put back: the same tree for all steps. */
json_t *config_conditions(struct reconcile *r);
void config_put_conditions(struct reconcile *r, json_t *conditions);

/* Event of the config. */
int reconcile_record_event(struct reconcile *r, const char *type, const char *reason,
                           const char *message, struct error *err);
/* Event of the config, and of its volume. */
int reconcile_record_volume_event(struct reconcile *r, const char *type, const char *reason,
                                  const char *message, struct error *err);
/* It cannot go on, and nobody will say when it can. */
int reconcile_fail(struct reconcile *r, const char *reason, const char *message, struct error *err);

/* What the config asks for, in whole blocks of every size that there may be. */
int64_t reconcile_wanted_bytes(const struct reconcile *r);

/* ---- what is ---- */

bool replica_is(const struct document *replica, enum replica_phase phase);
const char *replica_pool_of(const struct document *replica);
/* Written at once.  Takes over the value; NULL: the key goes. */
int replica_put_spec(struct reconcile *r, struct document *replica, const char *key, json_t *value,
                     struct error *err);
/* Its pool is one of status.poolInfo of the config. */
bool replica_is_counted(const struct reconcile *r, const struct document *replica);
/* It is made, and the target reads and writes it. */
bool replica_is_healthy(const struct reconcile *r, const struct document *replica);
/* The volume's spec stands as it did, and its node, if it has one, has made it true. */
bool volume_is_done(const struct reconcile *r);
/* The same, and it serves. */
bool volume_is_served(const struct reconcile *r);

/* Its finalizers but for the service's own. */
json_t *reconcile_other_finalizers(struct reconcile *r, const struct document *document);

/* ---- replicas ---- */

#define VOLUME_MAXIMUM "1Ti" /* files of replicas are sparse, and so long from the first on */

/* As the volume's spec lists it. */
json_t *replica_entry(const char *id, const struct replica_pool *pool);
/* What clients of a volume with this policy may take. */
json_t *reconcile_qos(const json_t *policy);
/* Those of the replicas, for reconcile_pool(). */
int reconcile_read_pools(struct reconcile *r, struct error *err);
/* Of a replica; NULL: nobody tells of it, or it is another node's now. */
const struct replica_pool *reconcile_pool(const struct reconcile *r,
                                          const struct document *replica);
/* `members`: the first set, which it belongs to; NULL: it is made empty, and rebuilt.  `source`: of
 * a clone's, what it begins with. */
int replica_make(struct reconcile *r, const struct document *volume,
                 const struct replica_pool *pool, const char *capacity, unsigned factor,
                 const char *id, json_t *members, const json_t *source, struct error *err);
/* Nobody wants it any more; it stays until its node has removed the data (P45). */
int reconcile_delete_replica(struct reconcile *r, struct document *replica, struct error *err);

/* ---- replacements ---- */

enum replacement_part { REPLACEMENT_NONE, REPLACEMENT_OLD, REPLACEMENT_NEW };

/* What a replica is in the replacement that goes on. */
enum replacement_part reconcile_replacement_part(const struct reconcile *r,
                                                 const struct document *replica);
/* Of one that has a part in it: it is to stay for now. */
bool reconcile_replacement_keeps(struct reconcile *r, const struct document *replica);
/* Where the volume is served for it when nobody has it published; "": nowhere. */
const char *reconcile_replacement_node(const struct reconcile *r);
/* The next step of the one that goes on; and, behind all other changes of replicas, another. */
int reconcile_replacement(struct reconcile *r, struct error *err);
int reconcile_replacement_begin(struct reconcile *r, struct error *err);

/* ---- snapshots ---- */

/* One is to be taken yet. */
bool reconcile_wants_snapshot(const struct reconcile *r);
/* One that no replica but this one is known to hold; NULL: there is none. */
const struct document_update *reconcile_only_copy_of(const struct reconcile *r,
                                                     const struct document *replica);
/* It is put back to one, and nobody is let in before; and that one is there. */
bool reconcile_reverts(const struct reconcile *r);
bool reconcile_wants_revert(const struct reconcile *r);
/* Where the volume is served for a snapshot, or a revert, when nobody has it published; "": nowhere. */
int reconcile_snapshot_node(struct reconcile *r, const char **ret, struct error *err);

/* ---- steps ---- */

int reconcile_create(struct reconcile *r, struct error *err);
int reconcile_bind(struct reconcile *r, struct error *err);
int reconcile_replicas(struct reconcile *r, struct error *err);
/* Where it is to be served; "": nowhere. */
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
