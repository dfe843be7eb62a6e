/*
 * Attachments in the volume API as we call it (volumes_client(); they need 3.27, their completion
 * 3.44).  Failures are client.h's.
 */
#pragma once

#include "client/client.h"

struct remote_connection {
    const char *id, *status, *volume_id;
    const char *instance_uuid, *mode; /* each may be NULL */
    const json_t *info;               /* connection_info; empty until it is connected */
};

/* The host that connects; it is also told as the place of the disk, which everybody may see. */
struct remote_connector {
    const char *host;
    bool readonly;
};

int attachments_read(const struct client *api, struct arena *arena, const char *attachment_id,
                     struct remote_connection *ret, struct error *err);
/* Those of the volume, of whatever status.  Returns how many. */
int attachments_list(const struct client *api, struct arena *arena, const char *volume_id,
                     struct remote_connection **ret, struct error *err);
/* Reserves and connects, without an instance. */
int attachments_create(const struct client *api, struct arena *arena, const char *volume_id,
                       const struct remote_connector *connector, struct remote_connection *ret,
                       struct error *err);
/* Connects one that is there, for this host. */
int attachments_connect(const struct client *api, struct arena *arena, const char *attachment_id,
                        const struct remote_connector *connector, struct remote_connection *ret,
                        struct error *err);
/* The volume is in use from now on.  ERROR_OVER_QUOTA, of a service that knows ROOM_HEADER: its
 * host has as many other ones as `most` says; 0: it may have any number. */
int attachments_complete(const struct client *api, struct arena *arena, const char *attachment_id,
                         int64_t most, struct error *err);
int attachments_delete(const struct client *api, struct arena *arena, const char *attachment_id,
                       struct error *err);
