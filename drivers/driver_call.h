/*
 * Arguments and results of driver calls (driver.h): the volume and the snapshot, the fencing check,
 * the progress report, the outcome, and the objects made or found.
 */
#pragma once

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct volume_io; /* data/volume_io.h */

/* Before the id, in the name of an unmanaged object. */
#define DRIVER_UNMANAGED_PREFIX "unmanaged-"

/* Bytes that are moved in about a second. */
#define DRIVER_SHORT_BYTES ((int64_t)64 << 20)

enum driver_outcome {
    DRIVER_FAILED = -1,
    DRIVER_DONE = 0,
    DRIVER_DEFERRED =
        1, /* a guest has the image open; the compute side must finish the work (R25) */
    DRIVER_WITH_VOLUME = 2, /* of delete_snapshot(): delete_volume() removes it */
};

/*
 * A worker that was paused may wake up after another worker has taken over and finished its work,
 * and others have built on the result.  So a driver checks right before each side effect whether
 * the work is still its own, and makes the effect harmless even when the pause comes after the
 * check: grow only, replace nothing, remove only files with the volume's own name, which the caller
 * changes (rename_volume) before others build on an object that a late delete may still remove.  A
 * late create may report success: the caller finds out by its rows whether the volume of its object
 * still exists, and removes the object if not.
 */
struct driver_fence {
    bool (*holds)(const struct driver_fence *fence);
    /* NULL: the caller does not need the report. */
    void (*busy)(const struct driver_fence *fence, const char *what);
    /* NULL: every call may take long. */
    bool (*may_take_long)(const struct driver_fence *fence);
};

/* 0: go on.  -1: another worker has the work (ERROR_CONFLICT).  NULL always holds. */
int driver_fence_check(const struct driver_fence *fence, struct error *err);

/*
 * A call never waits for an object that others may use for long: its worker would be missing to all
 * other work of the backend.  It fails with ERROR_BUSY before its first change, or after changes
 * that the next call accepts, and is repeated later.  `what`: in the plural.  Always -1.
 */
int driver_fence_busy(const struct driver_fence *fence, struct error *err, const char *what);

/*
 * Before a call moves so many bytes, at a limited rate or not (0).  0: go on.  -1 (ERROR_BUSY):
 * such an amount is for the workers that move data; one of them repeats the call, so that a call of
 * milliseconds never waits for one of hours.
 */
int driver_fence_take_long(const struct driver_fence *fence, int64_t bytes,
                           int64_t bytes_per_second, struct error *err);

/* The receiver of a long call's progress: called from the thread of the call at least once in each
 * second of work; its answer continues or cancels the call. */
struct driver_progress {
    bool (*tell)(const struct driver_progress *progress, int64_t done_bytes, int64_t all_bytes);
};

/* 0: go on.  -1: the operation was cancelled (ERROR_CONFLICT).  NULL: no receiver. */
int driver_progress_report(const struct driver_progress *progress, int64_t done_bytes,
                           int64_t all_bytes, struct error *err);

struct volume_io;

/* The first bytes of a new volume; zeros follow them. */
struct driver_content {
    /* Called once, where the volume is not made yet; read once, from the start to the end.  The
     * caller closes it. */
    int (*open)(void *arg, struct volume_io **ret, struct error *err);
    void *arg;
    const struct driver_progress *progress;
};

/* A volume as the database has it; all text belongs to the caller. */
struct driver_volume {
    const char *id;
    const char *name_id;           /* in file names; never NULL, usually the id */
    const char *provider_location; /* as returned by create; NULL before */
    const char *tried;             /* without one: as returned by a create that failed, or NULL */
    const char *format;            /* "raw" or "qcow2", as returned by create; NULL before */
    const char *pool;              /* after '#' in the host */
    int64_t size_gb;               /* recorded size */
    bool attached;                 /* has an attachment that is more than reserved */
    bool multiattach;
    bool encrypted;
    /* For connect() and disconnect(): the other hosts that are connected, ended with NULL; NULL:
     * unknown. */
    const char *const *hosts;
    const json_t *extra_specs;            /* of its type, when it is made; NULL: none, or unread */
    const struct driver_content *content; /* of create_volume(); NULL: zeros alone */
    const struct driver_fence *fence;     /* may the call still change things?  NULL: always */
    unsigned attempt; /* number of the worker, so that no two share a temporary file */
    /* Of a delete: a worker without its lease removes only files that it alone can have made.
     * Files in a record of the storage stay, which is no failure. */
    bool late;
};

/* A snapshot as the database has it; all text belongs to the caller. */
struct driver_snapshot {
    const char *id;
    const char *name_id;           /* in file names; never NULL, usually the id */
    const char *provider_location; /* as returned by create_snapshot; NULL before */
    const char *format;
    int64_t size_gb; /* the volume's recorded size when the snapshot was requested */
    const struct driver_fence *fence;
    unsigned attempt; /* both as in struct driver_volume, of the work on the snapshot */
    bool late;        /* as there, also for complete_assist(); no merge */
    bool with_volume; /* of a delete: once all snapshots are gone, delete_volume() follows */
};

/* The created object; text in the arena of the call. */
struct driver_created {
    const char *provider_location;
    const char *format;
    /* Written by a create or clone that fails: the only place where this attempt may have left
     * anything; "": nowhere; NULL: anywhere. */
    const char *tried;
};

/* The records of another service, beside those of the volume. */
struct driver_recorded {
    const char *base_format;         /* of the content before any snapshot; NULL: none */
    const char *const *snapshot_ids; /* ended with NULL: all that the object may have */
};

/* The result of inspect_volume(); text in the arena of the call. */
struct driver_inspected {
    const char *provider_location;
    const char *format;              /* of the volume, whatever its snapshots have made of it */
    int64_t bytes;                   /* virtual */
    const char *file, *file_format;  /* that guests use; its name in its directory */
    const unsigned *snapshot_places; /* of each recorded snapshot, larger for an older one */
};

/* The request to the host of a guest for the files below the guest; names are relative to the
 * directory of the guest's file, and in the arena. */
struct driver_assist {
    const char *new_file;          /* create: the guest continues in this file */
    const char *file_to_merge;     /* delete: as in os-assisted-volume-snapshots; */
    const char *merge_target_file; /* NULL has its own meaning there */
};

/* The reported outcome of the request. */
enum driver_reported { DRIVER_REPORTED_NOTHING, DRIVER_REPORTED_DONE, DRIVER_REPORTED_FAILED };

/* An object on a backend; its text lives as long as the call. */
struct driver_candidate {
    const char *source_name; /* the argument of manage_volume() */
    const char *name_id;     /* of an object named like a volume, or a snapshot; else NULL */
    int64_t bytes;           /* virtual; -1: unknown */
    const char *refusal;     /* the reason against managing it; NULL: none is known */
    const char *volume;      /* of a snapshot: source_name of its volume; NULL: unknown */
};

/* A half-made file, of a running or a dead process. */
struct driver_draft {
    const char *name_id; /* of its volume or snapshot */
    const char *where;   /* its path, for operators */
};
