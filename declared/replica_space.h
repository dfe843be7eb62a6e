/*
 * Free space of the pools of a config's replicas, for what is about to be asked of them.  A pool
 * that is offline, or reported so by its node, is not counted: its replica may be rebuilt
 * elsewhere.
 */
#pragma once

#include "declared/document_store.h"

/* Each replica can become `bytes` large.  ERROR_OVER_QUOTA. */
int replica_space_check_growth(struct work *work, const struct document *config, int64_t bytes,
                               struct error *err);
/* A snapshot takes as much again as the file of its replica.  ERROR_OVER_QUOTA. */
int replica_space_check_snapshot(struct work *work, const struct document *config,
                                 struct error *err);
