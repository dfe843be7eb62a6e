/*
 * Attachments in the volume API (volumes_client(); microversion 3.27, completion 3.44). Failures as
 * in client.h.
 */
#pragma once

#include "client/client.h"

struct remote_connection {
    const char *id, *status, *volume_id;
    const char *instance_uuid, *mode; /* each may be NULL */
    const json_t *info;               /* connection_info; empty before it is connected */
};

/* The connecting host; it is also sent as the mountpoint, which is visible to users. */
struct remote_connector {
    const char *host;
    bool readonly;
};

int attachments_read(const struct client *api, struct arena *arena, const char *attachment_id,
                     struct remote_connection *ret, struct error *err);
/* Those of the volume, in any status.  Returns their number. */
int attachments_list(const struct client *api, struct arena *arena, const char *volume_id,
                     struct remote_connection **ret, struct error *err);
/* Reserves and connects, without an instance; a service with RETRY_HEADER continues an attachment
 * that an interrupted call has begun for this host. */
int attachments_create(const struct client *api, struct arena *arena, const char *volume_id,
                       const struct remote_connector *connector, struct remote_connection *ret,
                       struct error *err);
/* The volume is in-use from now on.  ERROR_OVER_QUOTA, of a service with VOLUME_LIMIT_HEADER: the
 * host has `most` other attachments; 0: unlimited. */
int attachments_complete(const struct client *api, struct arena *arena, const char *attachment_id,
                         int64_t most, struct error *err);
/* `incomplete`: only until it is complete.  ERROR_CONFLICT, of a service with INCOMPLETE_HEADER. */
int attachments_delete(const struct client *api, struct arena *arena, const char *attachment_id,
                       bool incomplete, struct error *err);
