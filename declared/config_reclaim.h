/*
 * A config whose replicas give back room that holds nothing: spec.reclaim asks for it, once for
 * each text of its own that it names; status.reclaim has the last that was asked for, under a
 * number of its own, and is Pending until each replica that can be reached has said what came of
 * it.  It is for a volume that is published nowhere: who publishes it stops that (P72).
 */
#pragma once

#include "common/reclaim_phase.h"
#include "declared/document.h"

/* Its status.reclaim, while that is pending; NULL: nothing is asked for. */
const json_t *config_reclaim_pending(const struct document *config);

/* What an edit asks for begins, if it may, and what the volume is wanted for in its place ends it.
 * ERROR_CONFLICT. */
int config_reclaim_edit(struct work *work, const struct document *before, struct document *after,
                        struct error *err);
