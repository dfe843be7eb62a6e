/*
 * What a node was told by its configuration.
 */
#pragma once

#include "csi/driver.private.h"
#include "csi/node/node.h"

struct node *csi_node_new(struct arena *arena, const struct config *config);
/* This node, as volumes are attached to it; in the arena. */
int csi_node_name(const struct config *config, struct arena *arena, const char **ret,
                  struct error *err);
/* Is there an API that the node was told of?  One that is alone needs none, and what answers at the
 * usual place may be anybody's. */
bool csi_node_knows_api(const struct csi_driver *driver);
