/*
 * What a call of a driver (driver.h) is given and gives: the volume and the snapshot that it is
 * about, whether the work is still its own, who waits for it, how it ended, and what it has made or
 * found.
 */
#pragma once

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* In front of the id of what an object was that the service has let go of. */
#define DRIVER_UNMANAGED_PREFIX "unmanaged-"

/* So much is moved in about a second. */
#define DRIVER_SHORT_BYTES ((int64_t)64 << 20)

enum driver_outcome {
    DRIVER_FAILED = -1,
    DRIVER_DONE = 0,
    DRIVER_DEFERRED = 1, /* the compute side holds the image and must finish it (R25) */
};

/*
 * A worker that was paused may wake up after another one has taken its work over, finished it, and
 * others have built on that.  So a driver asks right before each side effect whether the work is
 * still its own, and makes the effect one that harms nobody even when the pause comes between: grow
 * only, replace nothing, remove only what carries the volume's own name, which the caller changes
 * (rename_volume) before anybody builds on what a late delete may still remove.  A create that was
 * late all the same says so (ERROR_CONFLICT); whether there is still a volume that its object
 * belongs to, only the caller can know.
 */
struct driver_fence {
    bool (*holds)(const struct driver_fence *fence);
    /* NULL: the caller does not need to know. */
    void (*busy)(const struct driver_fence *fence, const char *what);
    /* NULL: every call may. */
    bool (*may_take_long)(const struct driver_fence *fence);
};

/* 0: go on.  -1: the work is somebody else's now (ERROR_CONFLICT).  NULL always holds. */
int driver_fence_check(const struct driver_fence *fence, struct error *err);

/*
 * A call never waits for what others may have in use for long: its worker would be missing to all
 * other work of the backend.  It ends with ERROR_BUSY before it has changed anything, or having
 * done only what the next call finds done, and is made again later.  `what`: in the plural.
 * Always -1.
 */
int driver_fence_busy(const struct driver_fence *fence, struct error *err, const char *what);

/*
 * Before a call moves so many bytes, at a rate that is limited or not (0).  0: go on.  -1
 * (ERROR_BUSY): that is work for the workers that move data, and the call is made again by one of
 * them, so that what takes milliseconds never waits for what takes hours.  It ends as one that
 * found something in use.
 */
int driver_fence_take_long(const struct driver_fence *fence, int64_t bytes,
                           int64_t bytes_per_second, struct error *err);

/* Somebody who waits for a call that takes long: hears from the thread of the call how far it is,
 * at least once in each second of work, and says whether to go on. */
struct driver_progress {
    bool (*tell)(const struct driver_progress *progress, int64_t done_bytes, int64_t all_bytes);
};

/* 0: go on.  -1: the operation was cancelled (ERROR_CONFLICT).  NULL: nobody listens. */
int driver_progress_tell(const struct driver_progress *progress, int64_t done_bytes,
                         int64_t all_bytes, struct error *err);

/* What the database knows of a volume; all text belongs to the caller. */
struct driver_volume {
    const char *id;
    const char *name_id;           /* in file names; never NULL, usually the id */
    const char *provider_location; /* as create gave it; NULL before */
    const char *format;            /* "raw" or "qcow2" as create gave it; NULL before */
    const char *pool;              /* behind '#' of the host */
    int64_t size_gb;               /* recorded size */
    bool attached;                 /* has an attachment that is more than reserved */
    bool multiattach;
    bool encrypted;
    /* Of a connect() and a disconnect(): where else it is connected, ended with NULL; NULL: nobody
     * says. */
    const char *const *hosts;
    const json_t *extra_specs;        /* of its type, when it is made; NULL: it has none */
    const struct driver_fence *fence; /* may the call still change things?  NULL: always */
    unsigned attempt; /* counts the workers so far, so that no two share a temporary file */
    /* Of a delete: a worker that has lost its lease takes away what it alone can have made.  What a
     * record of the storage names stays, and that is no failure. */
    bool late;
};

/* What the database knows of a snapshot; all text belongs to the caller. */
struct driver_snapshot {
    const char *id;
    const char *name_id;           /* in file names; never NULL, usually the id */
    const char *provider_location; /* as create_snapshot gave them; NULL before */
    const char *format;
    int64_t size_gb; /* the volume's recorded size when the snapshot was asked for */
    const struct driver_fence *fence;
    unsigned attempt; /* both as in struct driver_volume, of the work on the snapshot */
    bool late;        /* as there, also of a settle_assist(); nothing is merged */
};

/* What create made; text in the arena of the call. */
struct driver_created {
    const char *provider_location;
    const char *format;
};

/* What the host of a guest is asked to do with the files below it; names are relative to the
 * directory of the one that the guest has, and of the arena. */
struct driver_assist {
    const char *new_file;          /* a snapshot is made: the guest goes on in this one */
    const char *file_to_merge;     /* one is deleted, as os-assisted-volume-snapshots says it; */
    const char *merge_target_file; /* NULL is a meaning of its own there */
};

/* What is known of how that ended. */
enum driver_told { DRIVER_TOLD_NOTHING, DRIVER_TOLD_DONE, DRIVER_TOLD_FAILED };

/* What lies on a backend; text of the call alone. */
struct driver_candidate {
    const char *source_name; /* by which manage_volume() finds it */
    const char *name_id;     /* of one that is named as a volume, or a snapshot, is; else NULL */
    int64_t bytes;           /* virtual; -1: nobody can tell */
    const char *why_not;     /* it cannot be taken over; NULL: it can, as far as was looked */
    const char *volume; /* a snapshot's: the source_name of what it is of; NULL: nobody knows */
};

/* A file that is being made, or was when a process died. */
struct driver_draft {
    const char *name_id; /* of the volume or snapshot that it is for */
    const char *where;   /* as people find it */
};
