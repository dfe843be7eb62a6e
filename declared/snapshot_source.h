/*
 * The source of a clone: "volume@snapshot", a config and one of its snapshots (P9, P63).
 */
#pragma once

#include "declared/document.h"

struct snapshot_source {
    struct document config, snapshot;
};

/* ERROR_NOT_FOUND with the field's name: one of them does not exist, or is being deleted. */
int snapshot_source_find(struct work *work, const char *project_id, const char *source,
                         struct snapshot_source *ret, struct error *err);
/* May this new config be created from its source, if it has one? Sets the label of a clone.
 * ERROR_NOT_FOUND, ERROR_BAD_REQUEST. */
int snapshot_source_check(struct work *work, struct document *config, struct error *err);
void snapshot_source_keep_label(struct work *work, struct document *config);
/* Number of clones of the config, or of this snapshot of it, that are not Bound yet. */
int snapshot_source_begun(struct work *work, const struct document *config, const char *snapshot,
                          struct error *err);
/* 1: the config, a clone, or a replica of it is not created from its source yet; 0: it is complete,
 * or no clone. */
int snapshot_source_is_needed(struct work *work, const struct document *config, struct error *err);
