/*
 * A hypervisor for tests: disks in memory, faults and pauses on demand, calls counted.  Its disks'
 * capacity is the one that guests see; thread-safe.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"

enum fake_call {
    FAKE_HAS_INSTANCE,
    FAKE_FIND_DISK,
    FAKE_GROW_DISK,
    FAKE_LIST_CHAIN,
    FAKE_SNAPSHOT_DISKS,
    FAKE_MERGE_DISK,
    FAKE_FLUSH_DISK,
    FAKE_FORGET_CHAIN,
    FAKE_TRIM_DISK,
    FAKE_LIST_LIMITS,
    FAKE_LIMIT_DISK,
    FAKE_LIST_USED,
    FAKE_TIDY,
    FAKE_LIST_STOPPED,
    FAKE_GO_ON,
    FAKE_CALLS
};

struct fake_hypervisor;

struct fake_hypervisor *fake_hypervisor_new(void);
void fake_hypervisor_free(struct fake_hypervisor *fake);
struct hypervisor *fake_hypervisor_of(struct fake_hypervisor *fake);

/* An instance without disks. */
void fake_hypervisor_add_instance(struct fake_hypervisor *fake, const char *instance_uuid);

/* A disk, and its instance when it is new; replaces the one that the instance has of this
 * volume. */
void fake_hypervisor_put(struct fake_hypervisor *fake, const char *volume_id,
                         const struct disk *disk);

/* The disk is in no instance any more. */
void fake_hypervisor_remove(struct fake_hypervisor *fake, const char *volume_id);

/* No disk is seen, as by a hypervisor that has just been started, until they are. */
void fake_hypervisor_hide(struct fake_hypervisor *fake, bool hidden);

/* Capacity of the volume's first disk in bytes, -1 when there is none. */
int64_t fake_hypervisor_capacity(struct fake_hypervisor *fake, const char *volume_id);

/* The next `times` calls fail so; `after`: the call has taken effect all the same. */
void fake_hypervisor_fail(struct fake_hypervisor *fake, enum fake_call call, enum error_kind kind,
                          unsigned times, bool after);

/* Growing reports success, but adds nothing. */
void fake_hypervisor_pretend(struct fake_hypervisor *fake);

/* An overlay that is there for a snapshot; they all go. */
void fake_hypervisor_put_file(struct fake_hypervisor *fake, const char *path);
void fake_hypervisor_remove_files(struct fake_hypervisor *fake);

/* The disk, of one image at first, gets one more on top. */
void fake_hypervisor_put_above(struct fake_hypervisor *fake, const char *volume_id,
                               const char *path);
/* Names of the disk's images, the present one first, with blanks between; the caller's to free. */
char *fake_hypervisor_chain(struct fake_hypervisor *fake, const char *volume_id);
/* A block job runs on the disk, a foreign one when there was none, with this progress.  It ends,
 * and has taken effect when it was a requested merge. */
void fake_hypervisor_job(struct fake_hypervisor *fake, const char *volume_id, int64_t done,
                         int64_t total);
void fake_hypervisor_end_job(struct fake_hypervisor *fake, const char *volume_id, bool done);

/* The project that the last trim was for, "" when none was known; when none is at work. */
const char *fake_hypervisor_trimmed_for(struct fake_hypervisor *fake);
/* Guests are at their trims, until they are not. */
void fake_hypervisor_trims(struct fake_hypervisor *fake, bool goes_on);

/* Calls of grow_disk, snapshot_disks, merge_disk and trim_disk stop and wait while held; awaiting
 * the first one. */
void fake_hypervisor_hold(struct fake_hypervisor *fake);
void fake_hypervisor_await_held(struct fake_hypervisor *fake);
void fake_hypervisor_release(struct fake_hypervisor *fake);

/* Does the definition that its guest is started from name no image below the present one? */
bool fake_hypervisor_forgot_chain(struct fake_hypervisor *fake, const char *volume_id);

/* The disk with this serial number has the file of another volume from now on. */
void fake_hypervisor_swap(struct fake_hypervisor *fake, const char *volume_id, const char *file_id);

/* The limits of the disk: -1 when there is none; and that another program sets them. */
int64_t fake_hypervisor_limit(struct fake_hypervisor *fake, const char *volume_id,
                              enum io_limit limit);
void fake_hypervisor_set_limit(struct fake_hypervisor *fake, const char *volume_id,
                               enum io_limit limit, int64_t value);

unsigned fake_hypervisor_count(struct fake_hypervisor *fake, enum fake_call call);
