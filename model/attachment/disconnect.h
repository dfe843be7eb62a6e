/*
 * A connection of a volume has ended: a backend with state for connected hosts
 * (POOL_ENDS_CONNECTIONS) gets the list of the remaining ones, after the connects that were
 * requested before and ahead of later ones.
 */
#pragma once

#include "model/volume/volume.h"

/* Has the backend of a volume on `host` (node@backend#pool) such state?  1, 0, -1. */
int volume_disconnect_needed(struct work *work, const char *host, struct error *err);
/* And may a moving instance have it connected at two hosts? */
int volume_moves_instances(struct work *work, const char *host, struct error *err);
/* For the worker: the hosts to which it is connected by other attachments than that one, ended with
 * NULL; 0, -1. */
int volume_connected_hosts(struct work *work, const char *volume_id, const char *but,
                           const char *const **ret, struct error *err);
/* The remaining hosts are read when the operation runs. */
int volume_disconnect(struct work *work, const char *volume_id, struct error *err);
