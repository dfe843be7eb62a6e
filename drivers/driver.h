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
 * Arguments and results of calls are in driver_call.h, the pool report in driver_pool.h.  A filter
 * is a driver whose handle holds the next driver (fault.c).
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/gib.h"
#include "config/config.h"
#include "drivers/driver_call.h"
#include "drivers/driver_pool.h"

/* The features of a driver; each bit has a row in driver_features. */
enum driver_feature {
    DRIVER_MULTIATTACH = 1 << 0,
    DRIVER_ONLINE_EXTEND = 1 << 1,
    DRIVER_THIN = 1 << 2,
    DRIVER_THICK = 1 << 3,
    /* The functions of a bit exist all together or not at all. */
    DRIVER_SNAPSHOT = 1 << 4, /* create_snapshot, delete_snapshot, list_snapshots */
    DRIVER_CLONE = 1 << 5,    /* clone_volume, clone_snapshot */
    DRIVER_REVERT = 1 << 6,   /* revert_volume */
    DRIVER_MANAGE = 1 << 7,   /* get_manageable, manage_volume, unmanage_volume, list_manageable */
    DRIVER_ASSIST = 1 << 8,   /* prepare_assist, complete_assist */
    /* get_manageable_snapshot, manage_snapshot, unmanage_snapshot, list_manageable_snapshots */
    DRIVER_MANAGE_SNAPSHOT = 1 << 9,
    DRIVER_RECLAIM = 1 << 10, /* get_usage, reclaim_volume */
};

/* Ended with a NULL name.  Each has a contract test in tests/contract/test_driver_features.c. */
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

struct driver {
    const char *name;       /* value of volume_driver */
    const char *class_path; /* the same in configurations written for Cinder; NULL: none */
    const char *vendor_name;
    const char *storage_protocol; /* "file", "nfs", … as reported to the scheduler */
    unsigned features;
    /* Tables of section OPTION_BACKEND, ended with NULL: those shared with its family, then its
     * own.  A key is in one table only. */
    const struct option *const *options;

    int (*open)(const struct driver_backend *backend, void **ret_handle, struct error *err);
    void (*close)(void *handle);

    /* Pools with their capacity, into the arena; returns how many, or -1. */
    int (*get_pools)(void *handle, struct arena *arena, struct driver_pool **ret,
                     struct error *err);

    int (*create_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         struct driver_created *ret, struct error *err);
    /* A volume that is open in a running guest stays, and the call fails. */
    int (*delete_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         struct error *err);
    /* The object gets the name of another id, which no earlier worker knows.  Never replaces
     * another object; works also while a guest has it open.  Repeated it does nothing: an object
     * that has the new name already, or neither name, is no failure. */
    int (*rename_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const char *new_name_id, struct error *err);
    enum driver_outcome (*extend_volume)(void *handle, struct arena *arena,
                                         const struct driver_volume *volume, int64_t new_gb,
                                         struct error *err);
    /* Virtual size in bytes, read from a new descriptor so that no cached value is used (X23), and
     * flushed: the caller writes it into a row (S2).  Works on a locked image.  -1 with
     * ERROR_NOT_FOUND when there is no object. */
    int (*get_size)(void *handle, struct arena *arena, const struct driver_volume *volume,
                    int64_t *ret_bytes, struct error *err);
    /* connection_info: {"driver_volume_type", "data": {…}} (a new reference).  An object larger
     * than its record is accepted: a guest may have grown it after its extend was abandoned (X24).
     * ERROR_BAD_REQUEST, ERROR_CONFLICT: not this host, or not now; nothing has changed, and
     * clients get the reason. */
    int (*connect)(void *handle, struct arena *arena, const struct driver_volume *volume,
                   const json_t *connector, json_t **ret, struct error *err);
    /* Every object of this backend's naming, for the check of files against rows: calls
     * found(arg, name_id, virtual bytes or -1). */
    int (*list_volumes)(void *handle, struct arena *arena,
                        void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                        struct error *err);

    /* Optional functions; NULL: the driver does not need it. */

    /* Only volume->hosts are still connected: the connections of other hosts end.  Pools of such
     * a backend report POOL_ENDS_CONNECTIONS; then no connect() of the volume runs at the same
     * time. */
    int (*disconnect)(void *handle, struct arena *arena, const struct driver_volume *volume,
                      struct error *err);

    /* An extend has ended, with any outcome (X39, D8). */
    void (*extend_finished)(void *handle, const struct driver_volume *volume, int64_t size_gb,
                            bool grown);

    /* Drafts (half-made files), for the consistency check; calls found().  Changes nothing. */
    int (*list_drafts)(void *handle, struct arena *arena,
                       void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                       struct error *err);

    /* Functions that not every storage has.  NULL: not supported, as a bit of `features` reports.
     * The end of this file has the rules for all of them. */

    /* The volume's content at one moment during the call, and its size then.  An existing snapshot
     * is left unchanged, even if the volume has changed since: DONE.  Attached, or open in a guest:
     * DONE where the storage itself takes that moment below a guest that writes (a reflink of a raw
     * file does).  DEFERRED: only the guest's host could make it, and nothing has been done
     * (prepare_assist); a caller without such a host fails the operation with a message to that
     * effect.  ERROR_BAD_REQUEST: this volume can have no snapshot, attached or not. */
    enum driver_outcome (*create_snapshot)(void *handle, struct arena *arena,
                                           const struct driver_volume *volume,
                                           const struct driver_snapshot *snapshot,
                                           const struct driver_progress *progress,
                                           struct driver_created *ret, struct error *err);
    /* No other object's content changes.  A crash leaves it whole, or unreadable and to be deleted
     * again; the caller does not use it after this call.  DEFERRED where its file lies below the
     * image that a guest has open. */
    enum driver_outcome (*delete_snapshot)(void *handle, struct arena *arena,
                                           const struct driver_volume *volume,
                                           const struct driver_snapshot *snapshot,
                                           const struct driver_progress *progress,
                                           struct error *err);
    /*
     * A create_snapshot() or, with `deletes`, a delete_snapshot() that returned DEFERRED, in two
     * halves; between them the guest's host does its part.  No other operation on the volume and
     * its snapshots begins meanwhile; guests may detach.
     *
     * prepare_assist(): prepares the files.  Readers of the volume see no difference, whichever
     * file the guest writes.  1: the host has done its part already.
     */
    int (*prepare_assist)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot, bool deletes,
                          struct driver_assist *ret, struct error *err);
    /* The files and the locks on them override the report.  1: done, `ret` is the new snapshot if
     * one was made.  0: not done, and a late host can no longer do it; nothing of the preparation
     * is left.  -1: the outcome is still unknown. */
    int (*complete_assist)(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot, bool deletes,
                           enum driver_reported told, struct driver_created *ret,
                           struct error *err);
    /* As list_volumes(); no object is reported by both. */
    int (*list_snapshots)(void *handle, struct arena *arena,
                          void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                          struct error *err);

    /* As create_volume(), with the source's content at the start and zeros after it; fence and
     * attempt are the new volume's.  Several calls may have the same source at once, but no other
     * call changes it meanwhile (the caller ensures this).  After success the new volume is
     * independent of the source.  Recorded as smaller than the source: ERROR_BAD_REQUEST.  A source
     * that is larger than its own record is copied whole, and the new volume is as large.  A source
     * that is attached or open in a guest is read as by create_snapshot(); where that would be
     * DEFERRED: ERROR_CONFLICT. */
    int (*clone_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_volume *source, const struct driver_progress *progress,
                        struct driver_created *ret, struct error *err);
    int (*clone_snapshot)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *source,
                          const struct driver_progress *progress, struct driver_created *ret,
                          struct error *err);

    /* Content and size become the snapshot's, which stays.  They are made beside the volume and
     * replace it in one step, so a crash leaves the one or the other whole; only this function
     * replaces an object.  A late worker would undo later writes: the caller renames the volume
     * first (rename_volume()), anew for each worker, and the result of a late worker under an old
     * name belongs to no volume.  No volume of that name: ERROR_NOT_FOUND, and none is made.
     * Attached, or open in a guest: ERROR_BACKEND, nothing has changed.  ERROR_BAD_REQUEST: it
     * never can, as other images lie above the snapshot. */
    int (*revert_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot,
                         const struct driver_progress *progress, struct error *err);

    /*
     * Manage: an existing object becomes a volume.  Unmanage: a volume becomes an object outside
     * this service.  Only the name changes.  `source_name` is one of list_manageable(), or a plain
     * name.  ERROR_BAD_REQUEST: a name that leads elsewhere or has the form of this service, a
     * missing object, an image that is empty, encrypted, of another format than volumes of this
     * backend have, or with parts in other files.  ERROR_CONFLICT: a guest has it open.
     */

    /* Reads only: the least virtual size of the future volume; also of an object that an earlier
     * manage_volume() has renamed. */
    int (*get_manageable)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const char *source_name, int64_t *ret_bytes, struct error *err);
    /* The object gets the volume's name and mode, in one step, never replacing another object;
     * content and size stay.  An object under the volume's name already is the result of an earlier
     * call.  After a failure it may have either name: a caller that does not retry calls
     * unmanage_volume(). */
    int (*manage_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const char *source_name, struct driver_created *ret, struct error *err);
    /* The object gets the name "unmanaged-" and the volume's id, which lists of volumes skip and
     * list_manageable() reports.  Never replaces another object; an object under neither name is no
     * failure.  ERROR_BAD_REQUEST while it needs other objects, or they need it; ERROR_BACKEND
     * while a guest has it open.  Without a provider_location all pools are searched. */
    int (*unmanage_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct error *err);
    /* Every object in the pool (NULL: in any) that is a volume or might become one; its strings
     * live until `found` returns. */
    int (*list_manageable)(void *handle, struct arena *arena, const char *pool,
                           void (*found)(void *arg, const struct driver_candidate *candidate),
                           void *arg, struct error *err);

    /*
     * The same for snapshots: an existing object becomes a snapshot of the volume, on whose storage
     * it must lie, or the reverse.  Neither the volume nor a guest sees a difference.
     */

    /* `name_id` of *ret is the snapshot that has the object already, as far as the storage knows:
     * the caller checks whether that snapshot exists and passes the result to manage_snapshot(). */
    int (*get_manageable_snapshot)(void *handle, struct arena *arena,
                                   const struct driver_volume *volume,
                                   const struct driver_snapshot *snapshot, const char *source_name,
                                   struct driver_candidate *ret, struct error *err);
    /* ERROR_BAD_REQUEST also when another snapshot has the object by now. */
    int (*manage_snapshot)(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot,
                           const struct driver_candidate *source, struct driver_created *ret,
                           struct error *err);
    /* An object inside its volume's storage stays there, and keeps the volume from being deleted.
     * ERROR_BAD_REQUEST and ERROR_CONFLICT: nothing has changed. */
    int (*unmanage_snapshot)(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, struct error *err);
    int (*list_manageable_snapshots)(void *handle, struct arena *arena, const char *pool,
                                     void (*found)(void *arg,
                                                   const struct driver_candidate *candidate),
                                     void *arg, struct error *err);

    /* Bytes that the active image takes on the storage, flushed before they are counted.  Changes
     * nothing, attached or not. */
    int (*get_usage)(void *handle, struct arena *arena, const struct driver_volume *volume,
                     int64_t *ret_bytes, struct error *err);
    /* Reclaims unused space: readers of the volume, its snapshots and its clones see no difference
     * at any moment, nor after a crash.  Cancelled: the space reclaimed so far stays reclaimed.
     * Attached, or open in a guest that writes: ERROR_CONFLICT, nothing has changed.
     * ERROR_BAD_REQUEST: unsupported for this volume here, with the reason.  *ret_before stays,
     * unless the storage has measured the previous usage itself, more exactly than get_usage(). */
    int (*reclaim_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_progress *progress, int64_t *ret_before,
                          struct error *err);
};

extern const struct driver file_driver, nfs_driver, netapp_nfs_driver, powerstore_nfs_driver,
    quobyte_driver, memory_driver, fault_driver;

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
 * Functions that not every storage has
 *
 * A backend can do what its driver has a function for; NULL: it cannot.  Those that make sense only
 * together share a bit in enum driver_feature, every other one has its own.  The manager checks
 * that bit before the operation begins, not by calling.  A function comes with its bit and its row,
 * its call in fault.c (PASS_ON_OPTIONAL(), and NULL in fault_describe() where the next driver has
 * none; behind a filter that a configuration made it fails with ERROR_BAD_REQUEST then), with its
 * name in fault_plan.c, and with a promise in test_driver_features.c, which runs for every driver
 * that sets the bit, alone and behind the filter: once, twice, after a lost answer, without the
 * fence, with a guest on the image.  tests/fault fails every system call in turn.
 *
 * The contract at the head of this file holds for them, too.  Beyond it:
 *
 * - A new object bears an id that the record had before the call, so every attempt finds the object
 *   of another one.  It is filled under a name of its own attempt and gets its final name last,
 *   never replacing another one: a crash leaves a half-made object, which the next attempt and the
 *   delete remove, or a whole one.
 * - Long calls report progress (struct driver_progress), except where the storage works in one
 *   step.  Cancelled: the call removes its half-made object and fails with ERROR_CONFLICT.  A fence
 *   that no longer holds leaves everything in place except the file of its own attempt, as another
 *   worker owns the rest by now.
 * - "Attached" means as above that a guest on any host may have the image open.  A call that must
 *   be sure checks QEMU's locks as well (image_lock_look()), as delete_volume() does.
 *
 * Those that no driver has yet:
 *
 * migrate_volume(volume, pool, ret_created, progress)
 *     The same volume once more in another pool of this backend, while the old one stays as it
 *     is. The caller records the new place, then deletes at the old one; after a failure, at the
 *     new one. Attached: ERROR_CONFLICT. To another backend: copy_out() there, copy_in() here.
 * copy_out(volume or snapshot, descriptor, progress)
 *     The content in raw form, all of its size, into a descriptor that may be a pipe. Attached:
 *     ERROR_CONFLICT, as the content would be of no one moment; a snapshot's can always be read.
 * copy_in(volume, descriptor, progress)
 *     Raw content from a descriptor until its end into a volume that was made and not used since;
 *     zeros after the end; more than the volume holds is ERROR_BAD_REQUEST.  A crash leaves an
 *     undefined content: the caller copies again from the start, or deletes the volume.  Attached,
 *     or open in a guest: ERROR_BACKEND, nothing has changed.
 */
