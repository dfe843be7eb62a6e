/*
 * Volume configs, as other parts of the volume API see them.
 */
#pragma once

#include "operation/work.h"

/* Configs of the project that are published on the node, without those of volumes that are counted
 * elsewhere: 0, or -1. */
int volume_config_count_published(struct work *work, const char *project_id, const char *node,
                                  int64_t *ret, struct error *err);
