/*
 * Storage that was there before, taken over as a volume; a volume let go of, whose storage stays
 * and is nobody's; and what lies on a backend that could be taken over.
 *
 *     manage     the row is there at once, of 0 GiB.  A worker looks how large the object is,
 *                reserves that, gives the object the volume's name and fills it up to a whole GiB.
 *                One that fails has let go of the object before: an error_managing volume has none,
 *                and to delete it takes the row alone away.
 *     unmanage   like a delete, but the object gets a name of its own (driver.h).
 */
#pragma once

#include "drivers/driver.h"
#include "ledger/operation.h"
#include "volume/volume.h"

struct pool;

struct volume_existing {
    const char *source_name; /* as the driver knows it */
    const char *host;        /* node@backend#pool, or node@backend with one pool */
    const char *name, *description;
    const char *type; /* id or name; NULL: the default */
    const char *availability_zone;
    struct pairs metadata;
    bool bootable;
};

/* Where storage can be taken over, as volumes or as snapshots: ERROR_BAD_REQUEST when there is no
 * such pool, it has no service that works, or cannot do it. */
int volume_manage_pool(struct work *work, const char *host, enum driver_feature feature,
                       struct pool *ret, struct error *err);
/* One object that is to be taken over, as its backend is asked for it (manageable.h). */
struct manageable_one {
    const char *source_name;
    const char *volume_id; /* whose snapshot it is to become; NULL: a volume */
    bool multiattach;
};
/* Before that everything but the quota is checked: what the backend is to be asked for. */
int volume_manage_check(struct work *work, const struct volume_existing *existing,
                        struct manageable_one *ret, struct pool *ret_pool, struct error *err);
/* POST: row, quota of one volume, operation and message. */
int volume_manage(struct work *work, const struct volume_existing *existing, struct volume *ret,
                  struct error *err);
/* What the operation is to take over, in the arena. */
const char *volume_manage_source(struct arena *arena, const struct operation *operation);

/* Before anything is taken over: its size is known, in whole GiB.  For job_held(), with that.
 * ERROR_OVER_QUOTA, ERROR_BAD_REQUEST: the volume cannot have it. */
struct manage_size {
    int64_t gb;
    const char *known_as; /* of a snapshot: as get_manageable_snapshot() says (driver.h) */
};
operation_body volume_manage_sized;
/* Before the object is let go of: whoever comes next can only let go of it, too, as nothing calls
 * back a worker that sleeps right in front of that.  For job_held(); `arg` says why, a struct
 * error. */
operation_body volume_manage_give_up;
/* Has somebody, and why? */
bool volume_manage_given_up(struct arena *arena, const struct operation *operation,
                            struct error *ret_why);
/* What finishes it. */
struct manage_ending {
    const char *location, *format; /* that the driver said */
    const struct error *failure;   /* NULL: taken over; else the object is not the volume's */
};

/* os-unmanage. */
int volume_unmanage(struct work *work, const struct volume *volume, struct error *err);
/* What a job must still find right before it lets go of anything. */
bool volume_unmanage_wanted(const struct volume *volume);
struct unmanage_ending {
    const struct error *failure; /* NULL: let go of */
};
