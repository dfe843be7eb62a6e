/*
 * Quotas: usage and reservations (limits: quota_limit.h).  What is used is what the rows say; a
 * reservation belongs to an operation and ends with it; nothing expires by time (D4, X8).
 *
 * One stored number counts both what is in use and what is reserved, because limits are about the
 * two together; the reservations themselves say which part is reserved.  So an extend that ends
 * well changes no row that others change too.
 *
 * Whoever changes rows says which resources that takes or gives back, in the same transaction:
 * volumes, gigabytes, snapshots, backups, backup_gigabytes, groups, and per type volumes_T,
 * gigabytes_T, snapshots_T.  QUOTA_PER_VOLUME is checked only, and used up by nobody.
 */
#pragma once

#include "ledger/work.h"

#define QUOTA_DEMANDS_MOST 8

struct quota_demands {
    struct quota_demand {
        const char *resource;
        int64_t amount;
    } items[QUOTA_DEMANDS_MOST];
    unsigned count;
};

/* Adds so much of a resource, and as much of the type's own unless type_name is NULL. */
void quota_demand_add(struct quota_demands *demands, struct arena *arena, const char *resource,
                      const char *type_name, int64_t amount);

/* Takes all of it at once.  ERROR_OVER_QUOTA with upstream's class name and words when over: of
 * several the limit of a single volume is told, else the first in the order of the alphabet;
 * nothing changed then. */
int quota_take(struct work *work, const char *project_id, const struct quota_demands *demands,
               struct error *err);
/* Would it be?  Nothing changes. */
int quota_check(struct work *work, const char *project_id, const struct quota_demands *demands,
                struct error *err);
/* What is there already, whatever the limits say. */
int quota_count(struct work *work, const char *project_id, const struct quota_demands *demands,
                struct error *err);
/* What is used does not fall below 0. */
int quota_give_back(struct work *work, const char *project_id, const struct quota_demands *demands,
                    struct error *err);

/* Takes it for the operation, until that ends. */
int quota_reserve(struct work *work, const char *project_id, const char *operation_id,
                  const struct quota_demands *demands, struct error *err);
/* Ids of the operation's reservations as a JSON list: the value of extend_reservations. */
int quota_reservation_ids(struct work *work, const char *operation_id, const char **ret_json,
                          struct error *err);
/* Ends the operation's reservations: what they stood for is in use, and it is told how many
 * resources had some; or they are given back. Twice is nothing. */
int quota_commit(struct work *work, const char *operation_id, struct error *err);
int quota_rollback(struct work *work, const char *operation_id, struct error *err);

/*
 * `in_use` is the SQL of what the rows that count say: project_id, resource, in_use; a resource may
 * come several times.
 */
/* That and the reservations against what is stored; calls wrong(arg, text) for each difference
 * (P2). */
int quota_recount(struct work *work, const char *in_use, void (*wrong)(void *arg, const char *text),
                  void *arg, struct error *err);
/* Stores for a project what its rows and reservations say (X9). */
int quota_recount_project(struct work *work, const char *in_use, const char *project_id,
                          struct error *err);
