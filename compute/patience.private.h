/*
 * The calls of a patient hypervisor, each in a thread of its own (compute/patience.h).
 */
#pragma once

#include "common/arena.h"
#include "common/detached_call.h"
#include "compute/patience.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#define ERRAND_DAEMON "libvirt" /* the key of errands that ask no guest */

/* The work of a detached call. */
struct errand {
    LIST_ENTRY(errand) next; /* of trims */
    struct patience *patience;
    void (*run)(struct errand *errand);
    struct arena *arena;
    const char *key; /* who is asked */
    const char *instance_uuid, *volume_id;
    struct disk disk; /* that is asked for, and the answer */
    int64_t bytes;
    const char *top, *base;
    struct disk_overlay *overlays;
    unsigned count;
    const char *const *list;
    struct io_limits limits;
    struct disk_limits *limited;
    const char *trim; /* the id of one, which nobody waits for: its end is fetched; NULL: no trim */
    const char *project_id;     /* of a trim; "": not known */
    struct detached_call *call; /* that of a trim */
    int64_t ended_us;           /* behind run() */
    int result;
    struct error err;
};

LIST_HEAD(errands, errand);

struct patience {
    struct hypervisor hypervisor; /* first: a pointer to it is a pointer to this */
    struct hypervisor *inner;
    int64_t patience_ms;
    struct detached_calls *calls;
    pthread_mutex_t lock; /* guards the trims */
    struct errands trims;
};

/* In the errand's arena; key: the instance, or libvirt when there is none. */
struct errand *errand_new(struct hypervisor *hypervisor, void (*body)(struct errand *errand),
                          const char *instance_uuid, const char *volume_id);
/* About a disk of a guest, which is copied; the texts may be NULL. */
struct errand *errand_on_disk(struct hypervisor *hypervisor, void (*body)(struct errand *errand),
                              const struct disk *disk, const char *top, const char *base);
void errand_free(struct errand *errand);

/* For calls that work on a pointer to an errand. */
extern const struct detached_function errand_function;

/* Takes it.  NULL when the answer did not come; else the errand, which is the caller's again. */
struct errand *errand_run(struct errand *errand, struct error *err);
/* Takes it.  Its result, and its error. */
int errand_end(struct errand *errand, struct error *err);

/* ---- trims (patience_trim.c) ---- */

/* As the hypervisor's. */
int patience_trim_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                       const struct disk_trim *trim, struct error *err);
/* Those that have not ended go when they end. */
void patience_abandon_trims(struct patience *patience);
