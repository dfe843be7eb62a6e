/*
 * How many replicas are rebuilt at once by the controllers of this node.  Thread-safe.
 */
#pragma once

#include <stdbool.h>

struct rebuilds;

struct rebuilds *rebuilds_new(unsigned most);
void rebuilds_free(struct rebuilds *rebuilds);

bool rebuilds_begin(struct rebuilds *rebuilds); /* false: there are as many as there may be */
void rebuilds_end(struct rebuilds *rebuilds);
