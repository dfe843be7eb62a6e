/*
 * Free space of the pools of a config's replicas, before they are requested to use more. A pool
 * that is offline, or reported so by its node, is not checked: its replica may be rebuilt
 * elsewhere.
 */
#pragma once

#include "declared/document_store.h"

/* Each replica can grow to `bytes`. ERROR_OVER_QUOTA. */
int replica_space_check_growth(struct work *work, const struct document *config, int64_t bytes,
                               struct error *err);
/* A snapshot needs as much space as the file of its replica. ERROR_OVER_QUOTA. */
int replica_space_check_snapshot(struct work *work, const struct document *config,
                                 struct error *err);
