/*
 * Somebody is connected to a volume no more: a backend that has begun something for whoever was
 * (POOL_ENDS_CONNECTIONS) is told who still is, behind the connects that were asked for before and
 * in front of those to come.
 */
#pragma once

#include "volume/volume.h"

/* Does the backend of a volume on `host` (node@backend#pool) have to be told? 1, 0, -1. */
int volume_disconnect_needed(struct work *work, const char *host, struct error *err);
/* And may an instance that moves have it at two hosts? */
int volume_moves_instances(struct work *work, const char *host, struct error *err);
/* For the work itself, when it is its turn: the hosts to which it is connected by other attachments
 * than that one, ended with NULL; 0, -1. */
int volume_connected_hosts(struct work *work, const char *volume_id, const char *but,
                           const char *const **ret, struct error *err);
/* Whoever is still there is looked at when it is the work's turn. */
int volume_disconnect(struct work *work, const char *volume_id, struct error *err);
