/*
 * Space reclaim of a config's replicas: spec.reclaim requests it, once for each text of `request`;
 * status.reclaim has the last request under a number of its own, and is Pending until each
 * reachable replica has reported its outcome. Only for unpublished volumes: publishing ends it
 * (P72).
 */
#pragma once

#include "common/reclaim_phase.h"
#include "declared/document.h"

/* Its status.reclaim, while that is Pending; NULL: none is requested. */
const json_t *config_reclaim_pending(const struct document *config);

/* Begins a new request of an edit, if permitted; an edit that publishes the volume ends a pending
 * one. ERROR_CONFLICT. */
int config_reclaim_edit(struct work *work, const struct document *before, struct document *after,
                        struct error *err);
