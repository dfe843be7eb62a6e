/*
 * What documents take of their project's quotas: a config is a volume of as many GiB as its size
 * has, rounded up, and a snapshot of one a snapshot of as many as its config had when it was made
 * (no GiB at all with no_snapshot_gb_quota), from the making of the row to its end.
 *
 * The row says what was taken for it, and that is given back, in the transaction that changes the
 * row: nothing is counted twice, and nothing stays.  One that is older than its being counted is
 * counted when it is met, whatever the limits say.
 *
 * An administrator may say of a new one that it is counted elsewhere, as the volume that it was
 * made for is: by the annotation DOCUMENT_QUOTA_KEY with the value "none".  It stays so.  Snapshots
 * that an administrator makes of such a config are counted elsewhere, too.
 */
#pragma once

#include "declared/document.h"

#define DOCUMENT_QUOTA_KEY "scoria.io/quota"

/* May `before` (NULL: there is none) become `after`?  Nothing changes.  ERROR_OVER_QUOTA. */
int document_quota_check(struct work *work, const struct document *before,
                         const struct document *after, struct error *err);
/* It does: takes or gives back what differs, and puts into `after` what is taken for it. */
int document_quota_move(struct work *work, const struct document *before, struct document *after,
                        struct error *err);
/* Its row goes. */
int document_quota_end(struct work *work, const struct document *document, struct error *err);

/* It counts, and is not counted yet. */
bool document_quota_is_due(const struct document *document);
/* It is from now on; its row, and nothing else of it, has changed. */
int document_quota_count(struct work *work, struct document *document, struct error *err);
