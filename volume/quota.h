/*
 * Quotas: usage and reservations (limits: quota_limit.h).  What is used is what the rows say; a
 * reservation belongs to an operation and ends with it; nothing expires by time (D4, X8).
 *
 * One stored number counts both what is in use and what is reserved, because limits are about the
 * two together; the reservations themselves say which part is reserved.  So an extend that ends
 * well changes no row that others change too.
 *
 * Resources: volumes, gigabytes, snapshots, backups, backup_gigabytes, groups,
 * per_volume_gigabytes (checked only), and per type volumes_T, gigabytes_T, snapshots_T.
 * Usage changes in the transaction that changes the rows.
 */
#pragma once

#include "volume/volume.h"

/* Takes a volume of size_gb at once: volumes+1, gigabytes+size and the type's. ERROR_OVER_QUOTA
 * with upstream's class name and words when over; nothing changed then. */
int quota_take_volume(struct work *work, const char *project_id, const char *type_name,
                      int64_t size_gb, struct error *err);
/* Nothing for a volume that does not count. */
int quota_give_back_volume(struct work *work, const struct volume *volume, struct error *err);

/* Reserves the growth of an extend for the operation, in the volume's project (X10). A volume that
 * does not count reserves nothing; the limit of a single volume holds for it too. */
int quota_reserve_growth(struct work *work, const struct volume *volume, const char *operation_id,
                         int64_t new_size_gb, struct error *err);
/* Ids of the operation's reservations as a JSON list: the value of extend_reservations. */
int quota_reservation_ids(struct work *work, const char *operation_id, const char **ret_json,
                          struct error *err);
/* Ends the operation's reservations: what they stood for is in use, and it is told how many
 * resources had some; or they are given back. Twice is nothing. */
int quota_commit(struct work *work, const char *operation_id, struct error *err);
int quota_rollback(struct work *work, const char *operation_id, struct error *err);

/* Usage as the rows say, against what is stored; calls wrong(arg, text) for each difference (P2).
 */
int quota_recount(struct work *work, void (*wrong)(void *arg, const char *text), void *arg,
                  struct error *err);
/* Stores for a project what its rows and reservations say (X9). */
int quota_recount_project(struct work *work, const char *project_id, struct error *err);
