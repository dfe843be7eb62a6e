/*
 * Quotas of volumes, snapshots and groups: volumes, snapshots, gigabytes, those of their type, and
 * groups.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "model/volume/volume.h"

/* A new volume, at once; the limit of a single volume holds for it too. ERROR_OVER_QUOTA. */
int volume_quota_take(struct work *work, const char *project_id, const char *type_name,
                      int64_t size_gb, struct error *err);
/* Counts a volume that exists, whatever the limits. */
int volume_quota_count(struct work *work, const struct volume *volume, struct error *err);
/* Nothing for a volume that does not count. */
int volume_quota_give_back(struct work *work, const struct volume *volume, struct error *err);
/* Reserves the growth of an extend for the operation, in the volume's project (X10). A volume that
 * does not count reserves nothing; the limit of a single volume holds for it too. */
int volume_quota_reserve_growth(struct work *work, const struct volume *volume,
                                const char *operation_id, int64_t new_size_gb, struct error *err);

/* The quotas of the volume and its snapshots move to those of another type.  ERROR_OVER_QUOTA. */
int volume_quota_retype(struct work *work, const struct volume *volume, const char *new_type_name,
                        struct error *err);

/* The quotas of the volume, and of its snapshots with it, are those of another project.
 * ERROR_OVER_QUOTA. */
int volume_quota_transfer(struct work *work, const struct volume *volume, const char *project_id,
                          bool with_snapshots, struct error *err);

/* A new snapshot, at once. */
int snapshot_quota_take(struct work *work, const struct snapshot *snapshot, struct error *err);
int snapshot_quota_count(struct work *work, const struct snapshot *snapshot, struct error *err);
int snapshot_quota_give_back(struct work *work, const struct snapshot *snapshot, struct error *err);

int group_quota_take(struct work *work, const char *project_id, struct error *err);
int group_quota_give_back(struct work *work, const char *project_id, struct error *err);

/* SQL of the usage by the rows of volumes, snapshots and groups, and of declared volumes
 * (declared/document_quota.h), for quota_recount(). */
extern const char volume_quota_in_use[];
