/*
 * A storage driver: one struct of functions.
 *
 * Contract.  Every call may come twice with the same arguments and the second does nothing: create
 * finds the object there, delete finds it gone, extend finds it large enough.  A driver never
 * touches the database and keeps no state that a restart needs.  Calls that change one volume never
 * overlap, nor do they overlap those that read it (create_snapshot, clone_volume), which may come
 * side by side; the same is true of one snapshot, which delete_snapshot changes and clone_snapshot
 * reads, whatever happens to its volume meanwhile.  The caller sees to it, also across processes.
 * A call waits for nothing that another worker has in use (driver_fence_busy()).  The format of an
 * image is the recorded one, always stated, never probed.  Nothing ever shrinks.  What a call has
 * done, and the size that it tells, is on the disk: it outlives a loss of power.
 *
 * What a call is given and gives is in driver_call.h, what a backend tells of its pools in
 * driver_pool.h.  A filter is a driver whose handle holds the next driver (fault.c).
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/gib.h"
#include "config/config.h"
#include "drivers/driver_call.h"
#include "drivers/driver_pool.h"

/* What a driver can do; each bit has its row in driver_features. */
enum driver_feature {
    DRIVER_MULTIATTACH = 1 << 0,
    DRIVER_ONLINE_EXTEND = 1 << 1,
    DRIVER_THIN = 1 << 2,
    DRIVER_THICK = 1 << 3,
    /* The functions that each stands for are all there, or none of them. */
    DRIVER_SNAPSHOT = 1 << 4, /* create_snapshot, delete_snapshot, list_snapshots */
    DRIVER_CLONE = 1 << 5,    /* clone_volume, clone_snapshot */
    DRIVER_REVERT = 1 << 6,   /* revert_volume */
    DRIVER_MANAGE = 1 << 7,   /* get_manageable, manage_volume, unmanage_volume, list_manageable */
    DRIVER_ASSIST = 1 << 8,   /* prepare_assist, settle_assist */
    /* get_manageable_snapshot, manage_snapshot, unmanage_snapshot, list_manageable_snapshots */
    DRIVER_MANAGE_SNAPSHOT = 1 << 9,
    DRIVER_RECLAIM = 1 << 10, /* get_usage, reclaim_volume */
};

/* Ended with a NULL name.  Each has a promise in tests/contract/test_driver_features.c. */
extern const struct driver_feature_row {
    enum driver_feature bit;
    const char *name;       /* as operators read it */
    const char *capability; /* as pools report it; NULL: not at all */
} driver_features[];

struct driver_backend {
    const char *name; /* section of the configuration */
    const struct config *config;
    const char *state_directory; /* of the service; a driver may keep mount points below it */
    /* Has the backend a volume that was made: at this provider_location, with this name_id, or any
     * where NULL?  1 yes, 0 no, -1 nobody can tell.  Asked while storage is opened, from that
     * thread.  NULL: there is nobody to ask. */
    int (*knows)(const struct driver_backend *backend, const char *provider_location,
                 const char *name_id);
    void *knows_arg;
    bool only_looks; /* who opens it leaves nothing there */
    bool for_nova;   /* [compute] service = nova: Nova connects what it gives out */
    /* Root of the volume API of this process; NULL before it listens, and when the process ends.
     * For any thread.  NULL: this process has none. */
    const char *(*volume_url)(const struct driver_backend *backend);
    const void *volume_url_arg;
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
     * (X24).  ERROR_BAD_REQUEST, ERROR_CONFLICT: not this host, or not now; nothing has begun, and
     * clients read why. */
    int (*connect)(void *handle, struct arena *arena, const struct driver_volume *volume,
                   const json_t *connector, json_t **ret, struct error *err);
    /* Every object of this backend's naming, for the check of files against rows: calls
     * found(arg, name_id, virtual bytes or -1). */
    int (*list_volumes)(void *handle, struct arena *arena,
                        void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                        struct error *err);

    /* Optional ones; NULL means the driver has no use for it. */

    /* Only volume->hosts are connected any more: what connect() has begun for others ends.  Pools
     * of such a backend say POOL_ENDS_CONNECTIONS; then no connect() of the volume runs beside
     * it. */
    int (*disconnect)(void *handle, struct arena *arena, const struct driver_volume *volume,
                      struct error *err);

    /* An extend has ended, in whatever way (X39, D8). */
    void (*extend_finished)(void *handle, const struct driver_volume *volume, int64_t size_gb,
                            bool grown);

    /* What is half made, for the check; calls found().  Changes nothing. */
    int (*list_drafts)(void *handle, struct arena *arena,
                       void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                       struct error *err);

    /* Functions that not every storage has.  NULL: it cannot; so says a bit of `features`, and the
     * end of this file what counts for all of them. */

    /* The volume's content of one moment between begin and end of the call, and its size then.
     * One that is there already stays as it is, however the volume went on: DONE.  Attached, or
     * open in a guest: DONE where the storage itself takes that moment below a guest that writes
     * (a reflink of a raw file does).  DEFERRED: only the guest's host could make it, and nothing
     * has been done (prepare_assist); a caller without such a host fails the operation with a
     * message that says so.  ERROR_BAD_REQUEST: this volume can have none, attached or not. */
    enum driver_outcome (*create_snapshot)(void *handle, struct arena *arena,
                                           const struct driver_volume *volume,
                                           const struct driver_snapshot *snapshot,
                                           const struct driver_progress *progress,
                                           struct driver_created *ret, struct error *err);
    /* No other object's content changes.  A crash leaves it whole, or no longer readable and to be
     * deleted again; the caller gives it to nobody once this was called.  DEFERRED where its file
     * lies below the image that a guest has open. */
    enum driver_outcome (*delete_snapshot)(void *handle, struct arena *arena,
                                           const struct driver_volume *volume,
                                           const struct driver_snapshot *snapshot,
                                           const struct driver_progress *progress,
                                           struct error *err);
    /*
     * What create_snapshot() or, with `deletes`, delete_snapshot() has said to be DEFERRED, in two
     * halves; between them the guest's host does its part.  Nothing else is begun on the volume and
     * its snapshots meanwhile, but that guests leave it.
     *
     * prepare_assist(): the files are ready for it.  Whoever reads the volume sees no difference,
     * whichever of them the guest writes.  1: the host has done its part already.
     */
    int (*prepare_assist)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot, bool deletes,
                          struct driver_assist *ret, struct error *err);
    /* Whatever was told, where the files and those who have them open say more they are believed.
     * 1: it is done, `ret` of a snapshot that is made.  0: it is not, and will not be by a host
     * that is late; of what was prepared nothing is left.  -1: nobody can tell yet. */
    int (*settle_assist)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot, bool deletes,
                         enum driver_told told, struct driver_created *ret, struct error *err);
    /* As list_volumes(); no object is told of by both. */
    int (*list_snapshots)(void *handle, struct arena *arena,
                          void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                          struct error *err);

    /* As create_volume(), with the source's content at the head and zeros behind it; fence and
     * attempt are the new volume's.  Several calls may have the same source at once, but no other
     * call changes it meanwhile (the caller sees to it).  The new one needs nothing of the
     * source when the call has succeeded: that may change and go.  Recorded as smaller than the
     * source: ERROR_BAD_REQUEST. A source that is larger than its own record is taken whole, and
     * the new one is as large.  A source that is attached or open in a guest is taken as by
     * create_snapshot(); where that would be DEFERRED: ERROR_CONFLICT. */
    int (*clone_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_volume *source, const struct driver_progress *progress,
                        struct driver_created *ret, struct error *err);
    int (*clone_snapshot)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *source,
                          const struct driver_progress *progress, struct driver_created *ret,
                          struct error *err);

    /* Content and size become the snapshot's, which stays.  They are made beside the volume and
     * put in its place in one step, so a crash leaves the one or the other whole; here alone
     * something is replaced.  A worker that comes late would undo what was written since: the
     * caller renames the volume first (rename_volume()), for each worker anew, and what a late one
     * puts under an old name is nobody's.  No volume of that name: ERROR_NOT_FOUND, and none is
     * made.  Attached, or open in a guest: ERROR_BACKEND, nothing has changed.  ERROR_BAD_REQUEST:
     * nor can it ever, as others lie above the snapshot. */
    int (*revert_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot,
                         const struct driver_progress *progress, struct error *err);

    /*
     * An object that somebody else made becomes a volume, and a volume somebody else's again: only
     * its name changes, and with it who answers for it.  `source_name` is what list_manageable()
     * said, or a plain name.  ERROR_BAD_REQUEST: a name that leads elsewhere or is of our own
     * naming, nothing there, an image that is empty, encrypted, of another format than volumes of
     * this backend have, or with parts in other files.  ERROR_CONFLICT: a guest has it open.
     */

    /* Looks, and changes nothing: the virtual size that the volume will have at the least.  Of one
     * that an earlier manage_volume() has taken over the size is told, too. */
    int (*get_manageable)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const char *source_name, int64_t *ret_bytes, struct error *err);
    /* The object gets the volume's name and mode, in one step and never over another one; content
     * and size stay.  One under the volume's name already is the answer of an earlier call.  After
     * a failure it may be under either: who does not call again, calls unmanage_volume(). */
    int (*manage_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const char *source_name, struct driver_created *ret, struct error *err);
    /* The object gets the name "unmanaged-" and the volume's id, under which no list of volumes has
     * it and list_manageable() does.  Never over another one; one that is under neither name is no
     * failure.  ERROR_BAD_REQUEST while it needs other objects, or they need it; ERROR_BACKEND
     * while a guest has it open.  Without a provider_location it is looked for everywhere. */
    int (*unmanage_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct error *err);
    /* Every object in the pool (NULL: in any) that is a volume or might become one; the texts live
     * until `found` returns. */
    int (*list_manageable)(void *handle, struct arena *arena, const char *pool,
                           void (*found)(void *arg, const struct driver_candidate *candidate),
                           void *arg, struct error *err);

    /*
     * The same of a snapshot: an object that somebody else made becomes one of the volume, on whose
     * storage it must lie, and one is let go of.  Neither the volume nor a guest sees it.
     */

    /* `name_id` of *ret is the snapshot that has the object already, as far as the storage knows:
     * whether there is such a one the caller must ask, and then hands that to manage_snapshot(). */
    int (*get_manageable_snapshot)(void *handle, struct arena *arena,
                                   const struct driver_volume *volume,
                                   const struct driver_snapshot *snapshot, const char *source_name,
                                   struct driver_candidate *ret, struct error *err);
    /* ERROR_BAD_REQUEST also when another snapshot has it by now. */
    int (*manage_snapshot)(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot,
                           const struct driver_candidate *source, struct driver_created *ret,
                           struct error *err);
    /* What is a part of its volume's storage stays there, and keeps the volume from being deleted.
     * ERROR_BAD_REQUEST and ERROR_CONFLICT: nothing has changed. */
    int (*unmanage_snapshot)(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, struct error *err);
    int (*list_manageable_snapshots)(void *handle, struct arena *arena, const char *pool,
                                     void (*found)(void *arg,
                                                   const struct driver_candidate *candidate),
                                     void *arg, struct error *err);

    /* Bytes that the image of its guests takes on the storage, flushed before they are counted.
     * Changes nothing, attached or not. */
    int (*get_usage)(void *handle, struct arena *arena, const struct driver_volume *volume,
                     int64_t *ret_bytes, struct error *err);
    /* Gives back room that holds nothing: whoever reads the volume, its snapshots or its clones
     * sees no difference at any moment, nor after a crash.  Cancelled: what was given back is.
     * Attached, or open in a guest that writes: ERROR_CONFLICT, nothing has changed.
     * ERROR_BAD_REQUEST: this volume cannot, here, and it says why.  *ret_before stays, unless the
     * storage has counted for itself what the volume took before, and better than get_usage(). */
    int (*reclaim_volume)(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_progress *progress, int64_t *ret_before,
                          struct error *err);
};

extern const struct driver file_driver, nfs_driver, netapp_nfs_driver, powerstore_nfs_driver,
    quobyte_driver, replicated_driver, memory_driver, fault_driver;

/* Every driver of this build, ended with NULL. */
extern const struct driver *const drivers[];

/* Puts the options of every backend and of all drivers behind the first `count` of `tables`, each
 * table once; how many there are then, `most` at the most. */
size_t driver_add_options(const struct option **tables, size_t count, size_t most);

/* By the value of volume_driver: our short name, or the class path that cinder.conf has. */
const struct driver *driver_find(const char *name); /* NULL: unknown */
/* Nearest known name, for messages. */
const char *driver_nearest(const char *name);

/*
 * Functions that not every storage has
 *
 * A backend can do what its driver has a function for; NULL: it cannot. Those that make sense
 * only together share a bit in enum driver_feature, every other one has its own, and whoever wants
 * the work done asks for that bit before the operation begins: nobody learns it by calling. A
 * function comes with its bit and its row, its call in fault.c (PASS_ON_OPTIONAL(), and NULL in
 * fault_describe() where the next driver has none; behind a filter that a configuration made it
 * fails with ERROR_BAD_REQUEST then), with its name in fault_plan.c, and with a promise in
 * test_driver_features.c, which asks it of every driver that sets the bit, alone and behind the
 * filter: once, twice, after a lost answer, without the fence, with a guest on the image.
 * tests/fault takes every system call away from it.
 *
 * What the contract at the head of this file says counts for them, too. Beyond it:
 *
 * - What is made bears an id that the record had before the call, so every attempt finds what
 *   another one made. It is filled under a name of its own attempt and gets its own name last,
 *   never over another one: a crash leaves a half-made object, which the next attempt and the
 *   delete take away, or a whole one.
 * - What takes long tells how far it is (struct driver_progress), but for what the storage does in
 *   one step. Cancelled: the call takes away what it has half made and fails with ERROR_CONFLICT. A
 *   fence that no longer holds leaves everything where it is but the file of its own attempt, for
 *   that is another worker's now.
 * - "Attached" means as above that a guest on any host may have the image open. Who must be sure
 *   looks for QEMU's locks as well (image_lock_look()), as delete_volume() does.
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
 *     Raw content from a descriptor until its end into a volume that was made and has been
 *     nobody's since; zeros behind the end; more than the volume holds is ERROR_BAD_REQUEST. A
 *     crash leaves anything: the caller copies again from the beginning, or deletes the volume.
 *     Attached, or open in a guest: ERROR_BACKEND, nothing has changed.
 */
