/*
 * A config that is put back to one of its snapshots: spec.revert asks for it, once for each text of
 * its own that it names; status.revert has the last that was asked for, under a number of its own,
 * and is Pending until the volume holds what the snapshot does.  Meanwhile it is published nowhere:
 * what its replicas hold then is of no moment.  By those that were asked for before it knows one
 * that is put back (`earlier`): digests, of the last ones.
 */
#pragma once

#include "declared/document.h"

/* Its status.revert, while that is pending; NULL: it is not being reverted. */
const json_t *volume_revert_pending(const struct document *config);

/* What an edit asks for begins, if it may.  ERROR_CONFLICT, ERROR_NOT_FOUND. */
int volume_revert_edit(struct work *work, const struct document *before, struct document *after,
                       struct error *err);

/* Of what its node tells of a revert, what it has told in a later attempt stays; of another than is
 * wanted nothing does (P70). */
void volume_revert_keep(const struct document *before, struct document *after);
