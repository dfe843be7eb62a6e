/*
 * Reverts a config to one of its snapshots: spec.revert requests it, once for each text of
 * `request`; status.revert has the last request under a number of its own, and is Pending until
 * the volume holds the data of the snapshot. Meanwhile it cannot be published: the data of its
 * replicas are undefined. A repeated earlier request is recognized by the digests of the last ones
 * (`earlier`).
 */
#pragma once

#include "declared/document.h"

/* Its status.revert, while that is Pending; NULL: it is not being reverted. */
const json_t *volume_revert_pending(const struct document *config);

/* Begins a new request of an edit, if permitted. ERROR_CONFLICT, ERROR_NOT_FOUND. */
int volume_revert_edit(struct work *work, const struct document *before, struct document *after,
                       struct error *err);

/* Keeps the report of a later attempt of the revert, and ignores reports about another revert
 * (P70). */
void volume_revert_keep(const struct document *before, struct document *after);
