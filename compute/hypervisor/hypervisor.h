/*
 * The agent's interface to a hypervisor; libvirt.c implements it, tests have their own.
 * Thread-safe; calls may block as long as a guest does (timed_hypervisor.h).  ERROR_UNAVAILABLE
 * always means that the hypervisor or the guest does not respond: the outcome of a call that
 * changes something is unknown (A10).  ERROR_CONFLICT means a temporary condition, to be checked
 * again: the guest has just stopped or migrated, or another operation is in progress.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/io_limits.h"

#include <stdbool.h>
#include <stdint.h>

enum disk_state {
    DISK_NOT_HERE, /* no domain here has a disk with this serial number */
    DISK_RUNNING,  /* a running or paused guest has it */
    DISK_OFF,      /* a domain has it, but is not running */
};

struct disk {
    enum disk_state state;
    char instance_uuid[37];
    char serial[37];   /* the volume's id */
    char target[64];   /* vda */
    char device[64];   /* the device's name in the running guest; "" when unknown */
    char source[4096]; /* path of the image; "" when it is not a file or device of this host */
    char format[16];   /* raw, qcow2 */
    int64_t capacity;  /* bytes, virtual; of a running guest's disk only, and 0 while a job runs */
    bool job;          /* a block job runs on it, or its guest is being migrated */
    int64_t job_done, job_total; /* progress of the job, in units of its own; 0, 0: unknown */
    bool moving;                 /* the guest is being migrated */
    bool read_only;
    bool discards; /* discards of the guest deallocate space */
    bool network;  /* it is served over NBD: its size is the server's */
    bool recorded; /* Nova has defined the domain, with its own record of the image's path */
};

/* A new overlay above the disk's image. */
struct disk_overlay {
    const struct disk *disk;
    const char *path;
};

/* I/O limits of a disk. */
struct disk_limits {
    struct disk_limits *next;
    struct disk disk; /* its instance, serial, target and source */
    char file_id[37]; /* the volume in the name of its file; "": none */
    struct io_limits limits;
    bool ours;      /* set by limit_disk() */
    char group[37]; /* then the serial number given to that */
};

/* `project_id`, NULL if unknown, is the unit of fairness. */
struct disk_trim {
    const char *id, *project_id;
};

struct hypervisor {
    /* Is there a domain with this UUID?  1 yes, 0 no, -1 the hypervisor does not respond. */
    int (*has_instance)(struct hypervisor *hypervisor, const char *instance_uuid,
                        struct error *err);
    /* Finds the disk whose serial number is the volume's id, in the instance (or in any when NULL).
     * Several disks with the serial number: ERROR_BACKEND. */
    int (*find_disk)(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                     const char *volume_id, struct disk *ret, struct error *err);
    /* Grows a disk of a running guest; never shrinks it, however long the call is delayed (A4). */
    int (*grow_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     int64_t bytes, struct error *err);
    /* The chain of images of a running guest's disk, the active one (`source`) first, ended by
     * NULL. */
    int (*list_chain)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *const **ret, struct error *err);
    /* Switches the disks of one guest to overlays atomically; each is a qcow2 image whose backing
     * file is its disk's source.  Nothing changes when a disk's active image is not its source any
     * more, or an overlay is missing. */
    int (*snapshot_disks)(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk_overlay *overlays, unsigned count, struct error *err);
    /* Starts a job that removes images from the chain.  The images between disk->source and `base`
     * (NULL: all below) are merged into disk->source; or, with `top`, the images from there down to
     * above `base` are merged into `base`.  Nothing is started when disk->source is not the active
     * image any more. */
    int (*merge_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *top, const char *base, struct error *err);
    /* Writes what QEMU keeps in memory of a disk of a running guest.  After a merge that is, until
     * the guest flushes, all that leads to the merged blocks: their former file must not be
     * removed before. */
    int (*flush_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      struct error *err);
    /* Removes the backing chain of disk->source from the guest's persistent definition, so that the
     * image's header defines it at the next start.  No effect when the definition names another
     * image or no chain. */
    int (*forget_chain)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                        struct error *err);
    /* Has the guest trim its file systems, if one of them is on the disk.  0: completed; 1: in
     * progress, a repeated call with the same id returns the outcome.  Only the implementation of
     * timed_hypervisor.h returns 1; libvirt's own blocks until the end.  ERROR_BAD_REQUEST: not
     * supported. */
    int (*trim_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     const struct disk_trim *trim, struct error *err);
    /* Disks of running guests whose serial number is the id of a volume; NULL ends the list.  No
     * guest is queried. */
    int (*list_limits)(struct hypervisor *hypervisor, struct arena *arena, struct disk_limits **ret,
                       struct error *err);
    /* Effective while the guest runs.  All limits are explicit (io_limits.h).  The disk is found by
     * its source, or its target where it has none, and disks of one serial number share them. */
    int (*limit_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const struct io_limits *limits, struct error *err);
    /* UUIDs of the guests in which a terminated agent may have left resize guards; ended by
     * NULL. */
    int (*list_guarded)(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                        struct error *err);
    /* Removes the guards from one of them. */
    int (*remove_guards)(struct hypervisor *hypervisor, struct arena *arena,
                         const char *instance_uuid, struct error *err);
    /* UUIDs of the guests that an I/O error has stopped; ended by NULL.  No guest is queried. */
    int (*list_stopped)(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                        struct error *err);
    /* Resumes one of them, when each of its failed disks is a volume over NBD whose server is
     * available again: 1.  0: it is stopped for another reason, or the server is not available. */
    int (*resume)(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                  struct error *err);
    void (*free)(struct hypervisor *hypervisor);
};

/* Loads the library and connects when it is first used. */
struct hypervisor *hypervisor_libvirt_new(const char *uri);
