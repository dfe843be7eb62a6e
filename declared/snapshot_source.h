/*
 * What a clone is made of: "volume@snapshot", a config and one of its snapshots (P9, P63).
 */
#pragma once

#include "declared/document.h"

struct snapshot_source {
    struct document config, snapshot;
};

/* ERROR_NOT_FOUND, and the field is named: one of them is not there, or is being deleted. */
int snapshot_source_find(struct work *work, const char *project_id, const char *source,
                         struct snapshot_source *ret, struct error *err);
/* May this new config be made of what it names, if it names anything?  It has the label of a clone
 * then.  ERROR_NOT_FOUND, ERROR_BAD_REQUEST. */
int snapshot_source_check(struct work *work, struct document *config, struct error *err);
/* A clone keeps its label. */
void snapshot_source_keep_label(struct work *work, struct document *config);
/* How many clones of the config, or of that snapshot of it when one is named, are not Bound yet. */
int snapshot_source_begun(struct work *work, const struct document *config, const char *snapshot,
                          struct error *err);
/* 1: the config, a clone, or a replica of it is still made of its source; 0: it is whole, or no
 * clone. */
int snapshot_source_is_needed(struct work *work, const struct document *config, struct error *err);
