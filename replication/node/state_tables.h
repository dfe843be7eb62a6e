/*
 * The state tables of a node's agent and of its storage daemons (common/state_table.h).
 */
#pragma once

#include "common/state_table.h"

extern const struct state_table *const node_tables[]; /* ended with NULL */
