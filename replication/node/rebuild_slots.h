/*
 * Limit of concurrent rebuilds, or scrubs, of this node.  Thread-safe.
 */
#pragma once

#include <stdbool.h>

struct rebuild_slots;

struct rebuild_slots *rebuild_slots_new(unsigned most);
void rebuild_slots_free(struct rebuild_slots *slots);

bool rebuild_slots_take(struct rebuild_slots *slots); /* false: none is free */
void rebuild_slots_release(struct rebuild_slots *slots);
