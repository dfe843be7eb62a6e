/*
 * Attachment rows: users of a volume, present or future.  Operations on them: attach.h, connect.h;
 * resulting statuses: attach_status.h.
 */
#pragma once

#include "operation/query.h"
#include "operation/work.h"

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

int attachment_insert(struct work *work, const struct attachment *attachment, struct error *err);
/* Has the project `most` other volumes on this host, attached without an instance or among the
 * `published` ones?  ERROR_OVER_QUOTA. */
int attachment_check_volume_limit(struct work *work, const struct attachment *attachment,
                                  int64_t published, int64_t most, struct error *err);
/* An attachment that is more than reserved. */
bool attachment_in_use(const struct attachment *attachment);

/*
 * May the caller end it?  ERROR_CONFLICT for the connected disk of a server, unless the caller acts
 * for servers, or the compute service, which alone knows whether the server still uses it, has
 * confirmed that it does not.  The subject of that confirmation is the attachment: an answer is
 * valid for the row as it was and for no other.
 */
int attachment_check_release(const struct work *work, const struct attachment *attachment,
                             struct error *err);
