/*
 * A storage driver: one struct of functions.
 *
 * Contract.  Every call is idempotent: repeated with the same arguments, create finds the object
 * present, delete finds it gone, extend finds it large enough.  A driver never touches the database
 * and keeps no state that a restart needs.  Calls that change one volume never overlap, nor do they
 * overlap those that read it (create_snapshot, clone_volume), which may come side by side; the same
 * is true of one snapshot, which delete_snapshot changes and clone_snapshot reads, whatever happens
 * to its volume meanwhile.  The caller ensures this, also across processes.  A call never waits for
 * an object that another worker uses (driver_fence_busy()).  The format of an image is the recorded
 * one, always stated, never probed.  Nothing ever shrinks.  The effects of a call and the size that
 * it reports are durable: they survive a loss of power.
 *
 * An id names an object and never leads to another one: where it might (a path, an empty id, a
 * character or a length that the storage gives a meaning), every call with it fails with
 * ERROR_BAD_REQUEST (volume_name_fits()).
 *
 * connect() returns "driver_volume_type" and in "data" what that type requires: local and gpfs
 * device_path; nfs and quobyte export (the share), name (of the file) and options if there are any,
 * with mount_point_base beside "data"; nbd transport, export and socket, or host, port, tls and
 * tls_directory.  Each has name and format, and discard: false where guests must not discard.  The
 * manager adds the keys common to all backends.
 *
 * The functions, with the contract of each, are the rows of driver.def, from which the struct, the
 * filter of faults (fault.c), its plan, the features and their reports follow.  Arguments and
 * results of calls are in driver_call.h, the pool report in driver_pool.h.  A filter is a driver;
 * its handle holds the next driver.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/gib.h"
#include "config/config.h"
#include "drivers/driver_call.h"
#include "drivers/driver_pool.h"

/* The features of a driver, of which each has a row in driver.def. */
enum {
#define FEATURE(bit, name, capability) DRIVER_##bit##_BIT,
#include "drivers/driver.def"
};
enum driver_feature {
    DRIVER_REQUIRED = 0,
    DRIVER_OPTIONAL = 0,
#define FEATURE(bit, name, capability) DRIVER_##bit = 1 << DRIVER_##bit##_BIT,
#include "drivers/driver.def"
};

/* Ended with a NULL name. */
extern const struct driver_feature_row {
    enum driver_feature bit;
    const char *name;       /* for operators */
    const char *capability; /* the key in the pool report; NULL: not reported */
} driver_features[];

struct driver;

struct driver_backend {
    const char *name; /* section of the configuration */
    const struct config *config;
    const char *state_directory; /* of the service; for mount points of drivers */
    const char *node;            /* of this host's storage agent; NULL: unknown */
    /* Has the backend a recorded volume: at this provider_location, with this name_id, or any where
     * NULL?  1 yes, 0 no, -1 unknown.  Called while storage is opened, from that thread.  NULL:
     * there is no database to query. */
    int (*has_volume)(const struct driver_backend *backend, const char *provider_location,
                      const char *name_id);
    void *has_volume_arg;
    bool probe_only; /* the caller only reads: nothing is created */
    bool for_nova;   /* [compute] service = nova: Nova uses the connections */
    /* Every driver of the program, ended with NULL, for one that is a filter of another. */
    const struct driver *const *drivers;
    /* Root of the volume API of this process; NULL before it listens and while the process ends.
     * For any thread.  NULL: this process has none. */
    const char *(*volume_url)(const struct driver_backend *backend);
    const void *volume_url_arg;
};

/* driver_NAME_call: the type of each function. */
#define DRIVER_LIST(...) __VA_ARGS__
#define CALL(feature, result, name, parameters, arguments, subject, output)                        \
    typedef result driver_##name##_call(void *handle, struct arena *arena, DRIVER_LIST parameters, \
                                        struct error *err);
#include "drivers/driver.def"

struct driver {
    const char *name;       /* value of volume_driver */
    const char *class_path; /* the same in configurations written for Cinder; NULL: none */
    const char *vendor_name;
    const char *storage_protocol; /* "file", "nfs", … as reported to the scheduler */
    unsigned properties;          /* the features that do not follow from functions */
    bool reads_extra_specs;       /* of a type, to make a volume; others get none */
    /* Tables of section OPTION_BACKEND, ended with NULL: those shared with its family, then its
     * own.  A key is in one table only. */
    const struct option *const *options;

    int (*open)(const struct driver_backend *backend, void **ret_handle, struct error *err);
    void (*close)(void *handle);
    /* An extend has ended, with any outcome (X39, D8).  NULL: the driver does not need it. */
    void (*extend_finished)(void *handle, const struct driver_volume *volume, int64_t size_gb,
                            bool grown);

#define CALL(feature, result, name, parameters, arguments, subject, output) \
    driver_##name##_call *name;
#include "drivers/driver.def"
};

extern const struct driver file_driver, nfs_driver, netapp_nfs_driver, powerstore_nfs_driver,
    quobyte_driver, memory_driver, fault_driver;

/* The features of the driver: its properties, and those that it has all functions of. */
unsigned driver_supported(const struct driver *driver);
/* For a pool report (a new reference): each feature that has a key there. */
json_t *driver_capabilities(unsigned features);

/* Below, `drivers` ends with NULL. */

/* Appends the options of every backend and of all drivers to the first `count` of `tables`, each
 * table once; returns the new count, at most `most`. */
size_t driver_add_options(const struct driver *const *drivers, const struct option **tables,
                          size_t count, size_t most);

/* By the value of volume_driver: its name, or the class path in cinder.conf.  NULL: unknown. */
const struct driver *driver_find(const struct driver *const *drivers, const char *name);
/* Nearest known name, for messages. */
const char *driver_nearest(const struct driver *const *drivers, const char *name);

/*
 * A function that no driver has yet
 *
 * migrate_volume(volume, pool, ret_created, progress)
 *     The same volume once more in another pool of this backend, while the old one stays as it
 *     is. The caller records the new place, then deletes at the old one; after a failure, at the
 *     new one. Attached: ERROR_CONFLICT. To another backend: a copy (data/copy.h).
 */
