/*
 * Attachments: rows, the attachments API, and the older volume actions on the same rows.
 * The volume's status follows from its rows (volume-status rule of the API): attach.c is the only
 * writer of those statuses.
 */
#pragma once

#include "volume/volume.h"

#include <jansson.h>

struct attachment {
    const char *id, *volume_id, *project_id;
    const char *instance_uuid, *attached_host, *mountpoint;
    /* reserved, attaching, attached, detached, error_attaching, error_detaching */
    const char *attach_status;
    const char *attach_mode;                 /* rw, ro, null */
    const char *connector, *connection_info; /* JSON text or NULL */
    int64_t attached_at, detached_at, created_at, updated_at;
};

int attachment_get(struct work *work, const char *id, struct attachment *ret, struct error *err);
/* As volume_list(): alias a. */
int attachment_list(struct work *work, const struct query *query, struct attachment **ret,
                    struct error *err);

/* Different instances among attachments that are more than reserved (X19); attachments without an
 * instance do not count.  The list is the arena's; returns how many. */
unsigned attachment_instances(struct arena *arena, const struct volume *volume,
                              const char *const **ret);
/* The status that the volume's attachment rows give it: in-use, attaching, detaching, reserved or
 * available (R20). */
enum volume_status attachment_status_of(const struct volume *volume);
/* An attachment that is more than reserved. */
bool attachment_in_use(const struct attachment *attachment);

/* May the caller end it?  ERROR_CONFLICT for the connected disk of a server, unless the caller
 * speaks for servers. */
int attachment_check_release(const struct work *work, const struct attachment *attachment,
                             struct error *err);

/* ---- attachments API (3.27) ---- */

/* POST: reserves the volume. mode NULL below 3.54. */
int attachment_create(struct work *work, const struct volume *volume, const char *instance_uuid,
                      const char *mode, struct attachment *ret, struct error *err);
/*
 * PUT, or POST with a connector: stores the connector and starts a connect operation; the request
 * then waits for *ret_operation_id (operation.h).  The volume's own status moves to attaching
 * unless an extend is pending (X45).
 */
int attachment_connect(struct work *work, const struct attachment *attachment,
                       const json_t *connector, const char **ret_operation_id, struct error *err);
int attachment_complete(struct work *work, const struct attachment *attachment, struct error *err);
/* Removes the row; the volume's status follows from the rows left. Removing the last attachment of
 * a pending extend has the backend settle it (X30). */
int attachment_delete(struct work *work, const struct attachment *attachment, struct error *err);

/* ---- volume actions ---- */

int volume_reserve(struct work *work, const struct volume *volume, struct error *err);
int volume_unreserve(struct work *work, const struct volume *volume, struct error *err);
int volume_begin_detaching(struct work *work, const struct volume *volume, struct error *err);
int volume_roll_detaching(struct work *work, const struct volume *volume, struct error *err);
int volume_attach(struct work *work, const struct volume *volume, const char *instance_uuid,
                  const char *host_name, const char *mountpoint, const char *mode,
                  struct error *err);
int volume_detach(struct work *work, const struct volume *volume, const char *attachment_id,
                  struct error *err);
/* os-initialize_connection: a connect operation without attachment; the request waits for it. */
int volume_initialize_connection(struct work *work, const struct volume *volume,
                                 const json_t *connector, const char **ret_operation_id,
                                 struct error *err);
int volume_terminate_connection(struct work *work, const struct volume *volume, struct error *err);

/* The backend's answer to a connect operation (called by the manager): connection_info JSON text,
 * or NULL with the failure's text. */
struct operation;
int attachment_connected(struct work *work, const struct operation *operation,
                         const char *connection_info, const struct error *failure,
                         struct error *err);
