/*
 * A storage driver: one struct of functions.
 *
 * Contract.  Every call may come twice with the same arguments and the second does nothing: create
 * finds the object there, delete finds it gone, extend finds it large enough.  A driver never
 * touches the database and keeps no state that a restart needs.  Calls for one volume never overlap
 * (the caller sees to it, also across processes); calls for different volumes run in parallel.
 * The format of an image is the recorded one, always stated, never probed.  Nothing ever shrinks.
 * What a call has done, and the size that it tells, is on the disk: it outlives a loss of power.
 *
 * A filter is a driver whose handle holds the next driver (fault.c).
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define GIB ((int64_t)1 << 30)

enum driver_outcome {
    DRIVER_FAILED = -1,
    DRIVER_DONE = 0,
    DRIVER_DEFERRED = 1, /* the compute side holds the image and must finish it (R25) */
};

enum driver_feature {
    DRIVER_MULTIATTACH = 1 << 0,
    DRIVER_ONLINE_EXTEND = 1 << 1,
    DRIVER_THIN = 1 << 2,
    DRIVER_THICK = 1 << 3,
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
};

/* 0: go on.  -1: the work is somebody else's now (ERROR_CONFLICT).  NULL always holds. */
int driver_fence_check(const struct driver_fence *fence, struct error *err);

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
    const struct driver_fence *fence; /* NULL: nobody else can take the work over */
    unsigned attempt; /* of how many workers this is which one: no two use one temporary file */
};

/* What create made; text in the arena of the call. */
struct driver_created {
    const char *provider_location;
    const char *format;
};

struct driver_pool {
    const char *name;
    double total_gb, free_gb; /* < 0: unknown */
    bool infinite;
    json_t *capabilities; /* more keys for the pool report; owned by the caller afterwards */
};

struct driver_backend {
    const char *name; /* section of the configuration */
    const struct config *config;
    const char *state_directory; /* of the service; a driver may keep mount points below it */
    /* Has the backend a volume that was made: at this provider_location, with this name_id, or any
     * where NULL?  1 yes, 0 no, -1 nobody can tell.  Asked while storage is opened, from that
     * thread.  NULL: who opens it only looks. */
    int (*knows)(const struct driver_backend *backend, const char *provider_location,
                 const char *name_id);
    void *knows_arg;
};

struct driver {
    const char *name; /* value of volume_driver */
    const char *vendor_name;
    const char *storage_protocol; /* "file", "nfs", … as reported to the scheduler */
    unsigned features;
    /* Tables of section OPTION_BACKEND, ended with NULL: those that it shares with its family, and
     * last the one of its own.  A key stands in one table only. */
    const struct option *const *options;

    int (*open)(const struct driver_backend *backend, void **ret_handle, struct error *err);
    void (*close)(void *handle);

    /* Pools with their room, into the arena; returns how many, or -1. */
    int (*get_pools)(void *handle, struct arena *arena, struct driver_pool **ret,
                     struct error *err);

    int (*create_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         struct driver_created *ret, struct error *err);
    /* What a running guest has open stays, and the call fails. */
    int (*delete_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         struct error *err);
    /* The object gets the name of another id, which no worker of before knows.  Never over another
     * one, and also below a guest that has it open.  Done again it does nothing: an object that is
     * under the new name already, or under neither, is no failure. */
    int (*rename_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const char *new_name_id, struct error *err);
    enum driver_outcome (*extend_volume)(void *handle, struct arena *arena,
                                         const struct driver_volume *volume, int64_t new_gb,
                                         struct error *err);
    /* Virtual size in bytes, opened anew so that nothing cached is believed (X23), and flushed:
     * the caller writes it into a row (S2). Works on a locked image. -1 with ERROR_NOT_FOUND
     * when there is no object. */
    int (*get_size)(void *handle, struct arena *arena, const struct driver_volume *volume,
                    int64_t *ret_bytes, struct error *err);
    /* connection_info: {"driver_volume_type", "data": {…}} (a new reference).  An object larger
     * than its record is as good as any: a guest may have grown it after its extend was given up
     * (X24). */
    int (*connect)(void *handle, struct arena *arena, const struct driver_volume *volume,
                   const json_t *connector, json_t **ret, struct error *err);
    /* Every object of this backend's naming, for the check of files against rows: calls
     * found(arg, name_id, virtual bytes or -1). */
    int (*list_volumes)(void *handle, struct arena *arena,
                        void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                        struct error *err);

    /* Optional ones; NULL means the driver has no use for it. */

    /* An extend has ended, in whatever way (X39, D8). */
    void (*extend_finished)(void *handle, const struct driver_volume *volume, int64_t size_gb,
                            bool grown);
};

extern const struct driver file_driver, nfs_driver, netapp_nfs_driver, powerstore_nfs_driver,
    quobyte_driver, memory_driver, fault_driver;

/* Every driver of this build, ended with NULL. */
extern const struct driver *const drivers[];

/* Puts the options of every backend and of all drivers behind the first `count` of `tables`, each
 * table once; how many there are then, `most` at the most. */
size_t driver_add_options(const struct option **tables, size_t count, size_t most);

/* By the value of volume_driver: our short name, or the class path that cinder.conf has. */
const struct driver *driver_find(const char *name); /* NULL: unknown */
/* Nearest known name, for messages. */
const char *driver_nearest(const char *name);
