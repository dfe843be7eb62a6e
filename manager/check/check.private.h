/*
 * Shared state of a check: the rows as one transaction read them, and the findings.
 */
#pragma once

#include "manager/check/check.h"
#include "model/operations.h"
#include "model/snapshot/snapshot.h"

struct round {
    const struct check *check;
    struct arena *arena;
    int findings;
    struct volume *volumes; /* every row, by id */
    int volume_count;
    struct snapshot *snapshots; /* every row, by id */
    int snapshot_count;
    struct operation *operations; /* by target */
    int operation_count;
};

/* ---- round.c ---- */

__attribute__((format(printf, 3, 4))) void round_found(struct round *round, const char *promise,
                                                       const char *format, ...);
__attribute__((format(printf, 2, 3))) void round_note(struct round *round, const char *format, ...);
/* An object in a transient status, without an operation that will end it: a finding (P1), or a note
 * when os-reset_status has set it. */
void round_status_stays(struct round *round, const char *label, const char *id, const char *status,
                        bool by_reset);
/* Reads them, for round_operation_at(). */
int round_read_operations(struct round *round, struct work *work, struct error *err);
const struct operation *round_operation_at(const struct round *round, const char *target_id);
/* Does an open operation remove the object, which no row wants?  1, 0, or -1. */
int round_is_being_removed(struct work *work, const char *name_id, struct error *err);

/* Inconsistent rows: a query of ids that should not exist. */
struct disagreement {
    const char *promise, *ids, *what, *why;
};
int round_check_agree(struct round *round, struct work *work, const struct disagreement *rows,
                      size_t count, struct error *err);

/* ---- the parts ---- */

/* Hosts without a manager (P5). */
int round_check_hosts(struct round *round, struct work *work, struct error *err);
/* Invariants of documents (P5). */
int round_check_documents(struct round *round, struct work *work, struct error *err);
/* Volumes that are attaching or detaching, and connections without an attachment: notes. */
int round_note_attachments(struct round *round, struct work *work, struct error *err);
/* Nodes without heartbeat, and what waits for them: notes. */
int round_note_nodes(struct round *round, struct work *work, struct error *err);
/* Documents of replicas and snapshots against the files of a pool on this node (P3). */
int round_check_pool(struct round *round, const struct check_pool *pool, const struct work *base,
                     struct error *err);
/* Reads the rows of snapshots, and checks them (P1, P5). */
int round_read_snapshots(struct round *round, struct work *work, struct error *err);
/* Rows of groups and volumes (P1, P5). */
int round_check_groups(struct round *round, struct work *work, struct error *err);
/* The same of group snapshots. */
int round_read_group_snapshots(struct round *round, struct work *work, struct error *err);
/* Rows against the objects of one backend (P3), `host` its node@backend. */
int round_check_snapshots(struct round *round, const struct manager_backend *backend,
                          const char *host, const struct work *base, struct error *err);
/* Incomplete files of the backend without an open operation that would continue them (P3). */
int round_check_drafts(struct round *round, const struct manager_backend *backend, const char *host,
                       const struct work *base, struct error *err);
