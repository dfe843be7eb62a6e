/*
 * What the agent needs of a hypervisor; libvirt.c is the real one, tests have their own.
 * Thread-safe; calls block, for ever when a guest does (patience.h).
 * ERROR_UNAVAILABLE always means that the hypervisor, or the guest, does not answer: a
 * call that changes something may have taken effect all the same (A10).  ERROR_CONFLICT means "not
 * now, look again": the guest has just stopped or moved, or something else works on it.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/io_limits.h"

#include <stdbool.h>
#include <stdint.h>

enum disk_state {
    DISK_NOT_HERE, /* no domain here has a disk with this serial */
    DISK_RUNNING,  /* a running or paused guest holds it */
    DISK_OFF,      /* a domain has it, but is not running */
};

struct disk {
    enum disk_state state;
    char instance_uuid[37];
    char serial[37];   /* the volume's id */
    char target[64];   /* vda */
    char device[64];   /* what a running guest calls the device; "" when it says no name */
    char source[4096]; /* path of the image; "" when it is no file or device of this host */
    char format[16];   /* raw, qcow2 */
    int64_t capacity;  /* bytes, virtual; of a running guest's disk only, and 0 while a job runs */
    bool job;          /* a block job runs on it, or its guest is just being moved */
    int64_t job_done,
        job_total; /* how far the job is, in units of its own; 0, 0: it does not say */
    bool moving;   /* the latter: for as long as that takes */
    bool read_only;
    bool discards; /* what the guest gives up is given back */
    bool network;  /* it is served over NBD: its size is the server's */
};

/* That the guest goes on in another file. */
struct disk_overlay {
    const struct disk *disk;
    const char *path;
};

/* What the user of a disk may take. */
struct disk_limits {
    struct disk_limits *next;
    struct disk disk; /* its instance, serial, target and source */
    struct io_limits limits;
    bool ours; /* set by limit_disk() */
};

/* `project_id`, NULL where it is not known, shares the places out. */
struct disk_trim {
    const char *id, *project_id;
};

struct hypervisor {
    /* Is there a domain with this UUID? 1 yes, 0 no, -1 the hypervisor does not answer. */
    int (*has_instance)(struct hypervisor *hypervisor, const char *instance_uuid,
                        struct error *err);
    /* Finds the disk whose serial is the volume's id, in the instance (or in any when NULL).
     * Several disks with the serial: ERROR_BACKEND. */
    int (*find_disk)(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                     const char *volume_id, struct disk *ret, struct error *err);
    /* Grows a disk of a running guest; never shrinks it, however long the call is held up in
     * between (A4). */
    int (*grow_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     int64_t bytes, struct error *err);
    /* The images that a running guest's disk is read through, the one it writes to (`source`)
     * first; NULL ends them. */
    int (*list_chain)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *const **ret, struct error *err);
    /* The guest goes on in overlays, each a qcow2 image made above its disk's source, at one moment
     * for all these disks of one guest.  Nothing changes when one of these is not in its source any
     * more, or an overlay is not there. */
    int (*snapshot_disks)(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk_overlay *overlays, unsigned count, struct error *err);
    /* Begins a job that takes images out of the chain.  What lies between disk->source and `base`
     * (NULL: all below) comes up into disk->source; or, with `top`, what has been written from
     * there down to above `base` goes into `base`.  Nothing begins when disk->source is not the
     * disk's any more. */
    int (*merge_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *top, const char *base, struct error *err);
    /* What the guest is started from the next time names of disk->source's chain that image alone:
     * what lies below it then, its header says.  Nothing when it names another image, or none. */
    int (*forget_chain)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                        struct error *err);
    /* The guest that has the disk trims its file systems, if one of them lies there.  0: it has;
     * 1: it is at it, and asked again with the same id it says how that has ended; the one behind
     * patience.h says this, libvirt's own returns at the end.  ERROR_BAD_REQUEST: it cannot. */
    int (*trim_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     const struct disk_trim *trim, struct error *err);
    /* Disks of running guests that have the id of a volume; NULL ends the list.  No guest is
     * asked. */
    int (*list_limits)(struct hypervisor *hypervisor, struct arena *arena, struct disk_limits **ret,
                       struct error *err);
    /* From now on, for as long as the guest runs.  All of it is settled (io_limits.h). */
    int (*limit_disk)(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const struct io_limits *limits, struct error *err);
    /* UUIDs of the guests in which an agent that died may have left something; NULL ends them. */
    int (*list_used)(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                     struct error *err);
    /* Takes away what was left in one of them. */
    int (*tidy)(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                struct error *err);
    /* UUIDs of the guests that an I/O error has stopped; NULL ends them.  No guest is asked. */
    int (*list_stopped)(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                        struct error *err);
    /* Lets one of them go on, when each of its disks that has failed is a volume over NBD whose
     * server is there again: 1.  0: it is stopped for another reason, or the server is not. */
    int (*go_on)(struct hypervisor *hypervisor, struct arena *arena, const char *instance_uuid,
                 struct error *err);
    void (*free)(struct hypervisor *hypervisor);
};

/* Connects later. -1: libvirt itself is not there. */
int hypervisor_libvirt_new(const char *uri, struct hypervisor **ret, struct error *err);
