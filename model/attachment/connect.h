/*
 * Connecting: a host requests the access data of a volume, and the backend answers.
 */
#pragma once

#include "model/attachment/attachment.h"
#include "model/operations.h"

#include <jansson.h>

/*
 * PUT, or POST with a connector: stores the connector and starts a connect operation; the request
 * then waits for *ret_operation_id (operation.h).  The volume's own status moves to attaching
 * unless an extend is pending (X45).
 */
int attachment_connect(struct work *work, const struct attachment *attachment,
                       const json_t *connector, const char **ret_operation_id, struct error *err);

/* os-initialize_connection: a connect operation without attachment (connection.h); the request
 * waits for it. */
int volume_initialize_connection(struct work *work, const struct volume *volume,
                                 const json_t *connector, const char **ret_operation_id,
                                 struct error *err);
/* `connector` NULL, or without a host: every connection of the volume ends. */
int volume_terminate_connection(struct work *work, const struct volume *volume,
                                const json_t *connector, struct error *err);

/* The volume continues in another file: the backend's new connection info, as JSON text, replaces
 * that of the attachments. */
int attachment_refresh(struct work *work, const struct volume *volume, const char *connection_info,
                       struct error *err);

/* Its result: the backend's answer as JSON text, or the failure. */
struct connect_ending {
    const char *connection_info;
    const struct error *failure;
};
