/*
 * Documents in the quotas of their project: a config counts as a volume of its size in GiB,
 * rounded up, and a snapshot as a snapshot of its config's size at creation (without GiB under
 * no_snapshot_gb_quota), from the creation of the row to its deletion.
 *
 * The row stores the amount taken, which is returned in the transaction that changes the row:
 * nothing is counted twice or remains. A row of a version without these quotas is counted at its
 * next evaluation, regardless of the limits.
 *
 * An administrator may declare a new one as counted elsewhere, as with the volume that it was
 * created for: by the annotation DOCUMENT_QUOTA_KEY with the value "none". That is permanent.
 * Snapshots of such a config are counted elsewhere, too, when an administrator creates them.
 */
#pragma once

#include "declared/document.h"

#define DOCUMENT_QUOTA_KEY "scoria.io/quota"

/* May `before` (NULL: none) become `after`? Changes nothing. ERROR_OVER_QUOTA. */
int document_quota_check(struct work *work, const struct document *before,
                         const struct document *after, struct error *err);
/* Takes or returns the difference, and stores in `after` the amount taken for it. */
int document_quota_move(struct work *work, const struct document *before, struct document *after,
                        struct error *err);
/* Its row is deleted: returns what was taken. */
int document_quota_end(struct work *work, const struct document *document, struct error *err);

/* Its kind is counted, and it is not yet. */
bool document_quota_is_due(const struct document *document);
/* Counts it; writes this column of its row and nothing else. */
int document_quota_count(struct work *work, struct document *document, struct error *err);
