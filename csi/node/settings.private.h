/*
 * The node's configuration.
 */
#pragma once

#include "csi/driver.private.h"
#include "csi/node/node.h"

struct node *csi_node_new(struct arena *arena, const struct config *config);
/* This node's name in attachments; in the arena. */
int csi_node_name(const struct config *config, struct arena *arena, const char **ret,
                  struct error *err);
/* Is an API configured?  A node on its own needs none, and a server at the default address may be
 * another one. */
bool csi_node_knows_api(const struct csi_driver *driver);
