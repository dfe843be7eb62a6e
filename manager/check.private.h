/*
 * What the parts of a check share: the rows as one transaction saw them, and what was found.
 */
#pragma once

#include "manager/check.h"
#include "volume/operations.h"
#include "volume/snapshot.h"

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

__attribute__((format(printf, 3, 4))) void round_found(struct round *round, const char *promise,
                                                       const char *format, ...);
__attribute__((format(printf, 2, 3))) void round_note(struct round *round, const char *format, ...);
const struct operation *round_operation_at(const struct round *round, const char *target_id);

/* What rows say of each other, and no status: ids that should not be. */
struct disagreement {
    const char *promise, *ids, *what, *why;
};
int round_check_agree(struct round *round, struct work *work, const struct disagreement *rows,
                      size_t count, struct error *err);
/* Hosts that no manager serves (P5). */
int round_check_hosts(struct round *round, struct work *work, struct error *err);
/* What must hold among documents (P5). */
int round_check_documents(struct round *round, struct work *work, struct error *err);
/* Volumes that are attaching or detaching, and connections without an attachment: notes. */
int round_note_attachments(struct round *round, struct work *work, struct error *err);
/* Nodes that are silent, and what waits for them: notes. */
int round_note_nodes(struct round *round, struct work *work, struct error *err);
/* Documents of replicas and snapshots against what lies in a pool of this node (P3). */
int round_check_pool(struct round *round, const struct check_pool *pool, const struct work *base,
                     struct error *err);
/* Reads the rows of snapshots, and what must hold among rows (P1, P5). */
int round_read_snapshots(struct round *round, struct work *work, struct error *err);
/* What must hold among rows of groups and volumes (P1, P5). */
int round_check_groups(struct round *round, struct work *work, struct error *err);
/* The same of group snapshots. */
int round_read_group_snapshots(struct round *round, struct work *work, struct error *err);
/* Rows against the objects of one backend (P3), `host` its node@backend. */
int round_check_snapshots(struct round *round, const struct manager_backend *backend,
                          const char *host, const struct work *base, struct error *err);
/* What is half made there although no operation is open that would go on with it (P3). */
int round_check_drafts(struct round *round, const struct manager_backend *backend, const char *host,
                       const struct work *base, struct error *err);
