/*
 * Checks of state tables.
 */
#pragma once

#include "common/state_table.h"

/* Checks that each pair has at most one row, each row has a sentence, each state is reachable from
 * the initial one, and each event and action is used. */
int state_table_check(const struct state_table *table, struct error *err);
/* The first row that this process has not taken, as text; NULL: all were. */
const char *state_table_unreached(const struct state_table *table, struct arena *arena);
