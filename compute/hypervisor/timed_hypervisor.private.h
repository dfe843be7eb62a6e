/*
 * The calls of a timed hypervisor (timed_hypervisor.h), each in a thread of its own.
 */
#pragma once

#include "common/arena.h"
#include "common/detached_call.h"
#include "compute/hypervisor/timed_hypervisor.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#define TIMED_CALL_DAEMON "libvirt" /* the key of calls that query no guest */

/* The argument of a detached call. */
struct timed_call {
    LIST_ENTRY(timed_call) next; /* of the list of trims */
    struct timed_hypervisor *timed;
    void (*run)(struct timed_call *call);
    struct arena *arena;
    const char *key; /* the guest, or the daemon */
    const char *instance_uuid, *volume_id;
    struct disk disk; /* argument and result */
    int64_t bytes;
    const char *top, *base;
    struct disk_overlay *overlays;
    unsigned count;
    const char *const *list;
    struct io_limits limits;
    struct disk_limits *limited;
    const char *trim;               /* the id of a trim, which is polled; NULL: another call */
    const char *project_id;         /* of a trim; "": unknown */
    struct detached_call *detached; /* of a trim */
    int64_t ended_us;               /* when run() returned */
    int result;
    struct error err;
};

LIST_HEAD(timed_calls, timed_call);

struct timed_hypervisor {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    struct hypervisor *inner;
    int64_t timeout_ms;
    struct detached_calls *calls;
    pthread_mutex_t lock; /* guards the trims */
    struct timed_calls trims;
};

/* In the call's arena; the key is the instance, or libvirt when there is none. */
struct timed_call *timed_call_new(struct hypervisor *hypervisor,
                                  void (*body)(struct timed_call *call), const char *instance_uuid,
                                  const char *volume_id);
/* About a disk of a guest, which is copied; the texts may be NULL. */
struct timed_call *timed_call_on_disk(struct hypervisor *hypervisor,
                                      void (*body)(struct timed_call *call),
                                      const struct disk *disk, const char *top, const char *base);
void timed_call_free(struct timed_call *call);

/* For detached calls whose argument is a pointer to a timed call. */
extern const struct detached_function timed_call_function;

/* Takes ownership.  NULL: it timed out; otherwise the call, which belongs to the caller again. */
struct timed_call *timed_call_run(struct timed_call *call, struct error *err);
/* Takes ownership; returns the call's result and error. */
int timed_call_end(struct timed_call *call, struct error *err);

/* ---- trims (timed_trim.c) ---- */

/* The hypervisor's trim_disk(). */
int timed_trim_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                    const struct disk_trim *trim, struct error *err);
/* Running trims are freed when they end. */
void timed_trims_abandon(struct timed_hypervisor *timed);
