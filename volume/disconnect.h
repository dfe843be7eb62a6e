/*
 * Nobody is connected to a volume any more: a backend that has begun something for whoever was
 * (POOL_ENDS_CONNECTIONS) is told, behind the connects that were asked for before and in front of
 * those to come.
 */
#pragma once

#include "volume/volume.h"

/* Does the backend of a volume on `host` (node@backend#pool) have to be told? 1, 0, -1. */
int volume_disconnect_needed(struct work *work, const char *host, struct error *err);
/* For the work itself, when it is its turn: 1 nobody is connected, 0, -1. */
int volume_is_disconnected(struct work *work, const char *volume_id, struct error *err);
/* Whoever is still there is looked at when it is the work's turn. */
int volume_disconnect(struct work *work, const char *volume_id, struct error *err);
