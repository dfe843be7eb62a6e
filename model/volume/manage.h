/*
 * Managing existing storage as a volume; unmanaging a volume, whose storage stays outside the
 * service; and the list of manageable objects on a backend.
 *
 *     manage     the row is there at once, of 0 GiB.  A worker looks how large the object is,
 *                reserves that, gives the object the volume's name and fills it up to a whole GiB.
 *                One that fails has let go of the object before: an error_managing volume has none,
 *                and to delete it takes the row alone away.
 *     unmanage   like a delete, but the object gets a name of its own (driver.h).
 */
#pragma once

#include "drivers/driver.h"
#include "model/volume/volume.h"
#include "operation/operation.h"

struct pool;

struct volume_existing {
    const char *source_name; /* the driver's name of the object */
    const char *host;        /* node@backend#pool, or node@backend with one pool */
    const char *name, *description;
    const char *type; /* id or name; NULL: the default */
    const char *availability_zone;
    struct pairs metadata;
    bool bootable;
};

/* The pool of existing storage, for volumes or for snapshots: ERROR_BAD_REQUEST when there is no
 * such pool, its service is down, or it has not the feature. */
int volume_manage_pool(struct work *work, const char *host, enum driver_feature feature,
                       struct pool *ret, struct error *err);
/* One object to be managed, in the request to its backend (manageable.h). */
struct manageable_one {
    const char *source_name;
    const char *volume_id; /* the volume of the future snapshot; NULL: a volume */
    bool multiattach;
};
/* Checks all but the quota before that: returns the request to the backend. */
int volume_manage_check(struct work *work, const struct volume_existing *existing,
                        struct manageable_one *ret, struct pool *ret_pool, struct error *err);
/* POST: row, quota of one volume, operation and message. */
int volume_manage(struct work *work, const struct volume_existing *existing, struct volume *ret,
                  struct error *err);
/* The source name of the operation, in the arena. */
const char *volume_manage_source(struct arena *arena, const struct operation *operation);

/* Before the object is renamed: its size is known, in whole GiB.  For job_held(), with that.
 * ERROR_OVER_QUOTA, ERROR_BAD_REQUEST: the volume cannot have it. */
struct manage_size {
    int64_t gb;
    const char *known_as; /* of a snapshot: from get_manageable_snapshot() (driver.h) */
};
operation_body volume_manage_sized;
/* Before the object is released: later workers can only release it, too, as a worker that sleeps
 * right before its effect cannot be stopped.  For job_held(); `arg` is the reason, a struct
 * error. */
operation_body volume_manage_release;
/* Was it released, and why? */
bool volume_manage_released(struct arena *arena, const struct operation *operation,
                            struct error *ret_why);
/* Its result. */
struct manage_ending {
    const char *location, *format; /* returned by the driver */
    const struct error *failure;   /* NULL: managed; else the object is not the volume's */
};

/* os-unmanage. */
int volume_unmanage(struct work *work, const struct volume *volume, struct error *err);
/* Must still hold right before a job unmanages anything. */
bool volume_unmanage_still_valid(const struct volume *volume);
struct unmanage_ending {
    const struct error *failure; /* NULL: unmanaged */
};
