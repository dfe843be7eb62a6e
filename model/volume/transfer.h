/*
 * Transfers: offers of volumes to other projects.  The volume is awaiting-transfer until its offer
 * is accepted or deleted, and the offer ends with either.
 *
 * The key of an offer has 64 random bits and is in the response to its creation alone; the row has
 * a salted digest of it.
 */
#pragma once

#include "model/volume/volume.h"

struct transfer {
    const char *id, *volume_id;
    const char *project_id; /* the volume's */
    const char *name;       /* or NULL */
    bool no_snapshots;      /* the snapshots stay with the former owner */
    const char *salt, *digest;
    int64_t created_at;
    const char *auth_key; /* of a new one; else NULL */
};

/* One of the caller's project, or any for an admin; ERROR_NOT_FOUND. */
int transfer_get(struct work *work, const char *id, struct transfer *ret, struct error *err);
/* One of any project, for a caller that may have its key. */
int transfer_offered(struct work *work, const char *id, struct transfer *ret, struct error *err);
int transfer_list(struct work *work, const struct query *query, struct transfer **ret,
                  struct error *err); /* alias tr; how many, or -1 */

/* Of a volume with its attachments.  ERROR_BAD_REQUEST for one that is not available, or that has
 * parts which cannot move. */
int transfer_create(struct work *work, const struct volume *volume, const char *name,
                    bool no_snapshots, struct transfer *ret, struct error *err);
/* By a caller of any project that has the key: the volume, and its snapshots with it, are the
 * caller's, in rows and quotas. */
int transfer_accept(struct work *work, const struct transfer *transfer, const char *auth_key,
                    struct error *err);
int transfer_delete(struct work *work, const struct transfer *transfer, struct error *err);
/* The volume gets another status by a reset. */
int transfer_end_of(struct work *work, const char *volume_id, struct error *err);
