/*
 * Quotas: usage and reservations (limits: quota_limit.h).  The rows define the usage; a reservation
 * belongs to an operation and ends with it; nothing expires by time (D4, X8).
 *
 * One stored number is the sum of usage and reservations, because limits apply to the sum; the
 * reservations themselves state the reserved part.  So a successful extend changes no row that
 * others change too.
 *
 * Every change of rows includes the resources that it takes or releases, in the same transaction:
 * volumes, gigabytes, snapshots, backups, backup_gigabytes, groups, and per type volumes_T,
 * gigabytes_T, snapshots_T.  QUOTA_PER_VOLUME is checked only, and never used up.
 */
#pragma once

#include "operation/work.h"

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

/* Takes all of it at once.  ERROR_OVER_QUOTA with upstream's class name and text when over: of
 * several excesses the one of a single volume is reported, else the first in alphabetical order;
 * nothing changed then. */
int quota_take(struct work *work, const char *project_id, const struct quota_demands *demands,
               struct error *err);
/* The same check without a change. */
int quota_check(struct work *work, const char *project_id, const struct quota_demands *demands,
                struct error *err);
/* Counts existing resources, whatever the limits. */
int quota_count(struct work *work, const char *project_id, const struct quota_demands *demands,
                struct error *err);
/* The usage does not fall below 0. */
int quota_give_back(struct work *work, const char *project_id, const struct quota_demands *demands,
                    struct error *err);

/* Takes it for the operation, until that ends. */
int quota_reserve(struct work *work, const char *project_id, const char *operation_id,
                  const struct quota_demands *demands, struct error *err);
/* Ids of the operation's reservations as a JSON list: the value of extend_reservations. */
int quota_reservation_ids(struct work *work, const char *operation_id, const char **ret_json,
                          struct error *err);
/* Ends the operation's reservations: they become usage, and the number of resources with a
 * reservation is returned; or they are released.  Idempotent. */
int quota_commit(struct work *work, const char *operation_id, struct error *err);
int quota_rollback(struct work *work, const char *operation_id, struct error *err);

/*
 * `in_use` is SQL for the usage by the rows: project_id, resource, in_use; a resource may come
 * several times.
 */
/* Compares that and the reservations with the stored sums; calls wrong(arg, text) for each
 * difference (P2). */
int quota_recount(struct work *work, const char *in_use, void (*wrong)(void *arg, const char *text),
                  void *arg, struct error *err);
/* Stores for a project the sums of its rows and reservations (X9). */
int quota_recount_project(struct work *work, const char *in_use, const char *project_id,
                          struct error *err);
