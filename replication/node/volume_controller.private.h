/*
 * Internals of a volume controller.  Its thread and its assignments are in volume_controller.c, the
 * actions of its states in controller_work.c, which runs these parts:
 *
 *   controller_rebuild.c       rebuilds, repairs, adds and removes replicas
 *   controller_scrub.c         compares them
 *   controller_snapshots.c     takes snapshots
 *   controller_revert.c        reverts the volume to a snapshot
 *   controller_recovery.c      evaluates a forced recovery from one replica
 *   controller_exports.c       exports the volume to other hosts
 *   controller_unresponsive.c  excludes unresponsive pools
 *   controller_report.c        reports the status
 *
 * Below them are controller_target.c, common to all, and controller_jobs.c, which of them runs.
 *
 * controller_states.c has the order in which they follow each other.
 */
#pragma once

#include "common/backoff.h"
#include "replication/engine/replica_access.h"
#include "replication/node/client_exports.h"
#include "replication/node/controller_states.h"
#include "replication/node/device_export.h"
#include "replication/node/forced_recovery.h"
#include "replication/node/pool_calls.h"
#include "replication/node/rebuild_failures.h"
#include "replication/node/volume_controller.h"

#define SCRUB_TIME_SIZE 24

struct volume_controller {
    const struct volume_controller_settings *settings;
    char uid[UUID_SIZE];
    pthread_t thread;
    int wake_fd;                /* readable after a change of the following fields */
    pthread_mutex_t lock;       /* guards them */
    struct assignment *pending; /* held; NULL: none */
    bool ends, unlisted;
    unsigned state; /* enum controller_state; its own thread reads it without the lock */
    /* Of its thread: */
    struct arena *arena;
    const char *run;
    struct assignment *assignment, *opened; /* the current one; the target's; held */
    struct pool_calls *calls;               /* to pools of this node, */
    struct replica_access local;            /* and the target's access by them */
    struct target *target;
    bool unresponsive[MEMBERS_MOST]; /* pools of the assignment, at the last check */
    unsigned awaited;                /* number of voters in them for which clients wait */
    unsigned export_ports[CLIENT_EXPORTS_MOST]; /* of the assignment's clients; 0: not exported */
    struct device_export device;                /* that of the open target */
    int64_t device_bytes;                       /* its size in this step; 0: there is none */
    bool reached_otherwise;      /* replicas have another path of access from the next start */
    struct target_status status; /* its texts are the target's */
    const char *phase;
    int64_t generation; /* the last one that was reconciled */
    struct error trouble;
    struct backoff backoff; /* of opening and starting the target */
    unsigned work;          /* enum replica_work_state */
    struct rebuild_failures rebuild_failures;
    int64_t scrub_us;                    /* when the next scrub is due */
    struct target_scrub scrub, scrubbed; /* the running one; the last finished one, */
    unsigned resyncs;                    /* status.resyncs at the start of the running one */
    char scrubbed_at[SCRUB_TIME_SIZE];   /* end of the last one; "": none */
    char snapshot[UUID_SIZE];            /* the current or last one */
    unsigned revert;                     /* enum node_revert_state, of the target */
    int64_t attempt; /* number of the current attempt at the revert; 0: none yet */
    struct {
        int64_t number;
        unsigned state;     /* enum forced_state */
        const char *reason; /* NULL: none */
        struct error why;
    } recovery; /* the last requested one */
};

/* ---- controller_target.c ---- */

/* Changes its state; NULL: the table has no row for that event. */
const struct state_row *volume_controller_take(struct volume_controller *controller,
                                               enum controller_event event);
/* The same with the lock held. */
const struct state_row *volume_controller_change_state(struct volume_controller *controller,
                                                       enum controller_event event);
/* The same of a revert. */
const struct state_row *volume_controller_take_revert(struct volume_controller *controller,
                                                      enum node_revert_event event);

bool volume_controller_is_assigned(const struct volume_controller *controller);
bool volume_controller_is_remote(const struct volume_controller *controller, unsigned i);
/* The replica in the last status of its target; NULL: none. */
const struct target_replica *volume_controller_status_of(const struct volume_controller *controller,
                                                         const char *uid);
/* The i-th of its assignment, with this node's access to it. */
struct replica volume_controller_replica(const struct volume_controller *controller, unsigned i);
/* A forced recovery is requested and not confirmed: the volume is not exported. */
bool volume_controller_awaits_recovery(const struct volume_controller *controller);
/* The outcome of the current request is known. */
bool volume_controller_has_evaluated(const struct volume_controller *controller);
/* Of a served volume: a needed voter has failed, and the request is not evaluated. */
bool volume_controller_must_evaluate(const struct volume_controller *controller);

/* A daemon serves it, or runs its revert. */
bool volume_controller_is_started(const struct volume_controller *controller);
/* Reads the status of its target, and takes the event of a started or lost daemon. */
void volume_controller_read_status(struct volume_controller *controller);
/* Closes its target; a running daemon goes on. */
void volume_controller_close_target(struct volume_controller *controller);

/* ---- the parts ---- */

/* One step of reconciliation; returns how long to wait for the next, at most. */
int64_t volume_controller_work(struct volume_controller *controller);
void volume_controller_report(struct volume_controller *controller);

/* 0: its pools respond, or the unresponsive ones are excluded; -1: no pool may be accessed in this
 * step. */
int volume_controller_check_pools(struct volume_controller *controller, struct error *err);
/* The same of calls made since: -1: one was abandoned. */
int volume_controller_check_calls(const struct volume_controller *controller, struct error *err);
/* The same of the replicas that a running daemon may have open, before it is adopted. */
int volume_controller_probe_replicas(struct volume_controller *controller, struct error *err);

/* The next step of rebuilding, repairing, adding or removing a replica: one at a time, and within
 * the limit of the node (`rebuilds`). */
void volume_controller_rebuild(struct volume_controller *controller);
/* After failures for lack of space: the attempts that have more of it are due. */
void volume_controller_note_space(struct volume_controller *controller);
/* The next step of comparing them, if that is due; `soon`, or an interval from now on. */
void volume_controller_scrub(struct volume_controller *controller);
void volume_controller_scrub_soon(struct volume_controller *controller);
void volume_controller_scrub_later(struct volume_controller *controller);
/* Blocks without a majority, which are refused to clients, as the last comparison found them. */
int64_t volume_controller_undecided(const struct volume_controller *controller);
/* Takes the next assigned snapshot that no replica of this node holds. */
void volume_controller_snapshot(struct volume_controller *controller);
/* Cancels the current snapshot when it is not assigned any more: 0: none; 1: it is being
 * cancelled. */
int volume_controller_cancel_snapshot(struct volume_controller *controller, struct error *err);
/* The next step of the assigned revert; 1: in progress.  `outcome`: of the last watch. */
int volume_controller_revert(struct volume_controller *controller, int outcome, struct error *err);
/* Evaluates whether it is possible; -1: err has the awaited condition. */
int volume_controller_evaluate(struct volume_controller *controller, struct error *err);
/* The volume is served: the recovery is unnecessary, or done. */
void volume_controller_note_served(struct volume_controller *controller);
/* The assigned snapshots, for the status; the caller's. */
json_t *volume_controller_snapshots_json(const struct volume_controller *controller);

/* ---- controller_jobs.c ---- */

/* The daemon runs a block job of the volume. */
bool volume_controller_has_job(const struct volume_controller *controller);
/* Changes the state of copying and comparing. */
void volume_controller_take_work(struct volume_controller *controller,
                                 enum replica_work_event event);
/* Notes the outcome of a finished rebuild or snapshot, before another one starts. */
void volume_controller_end_jobs(struct volume_controller *controller);
/* `failed`: of this replica; NULL: success. */
void volume_controller_end_rebuild(struct volume_controller *controller, const char *replica,
                                   const struct error *failed);
/* NULL: it is not assigned. */
const struct assignment_snapshot *
volume_controller_assigned_snapshot(const struct volume_controller *controller, const char *uid);
/* Yields to other volumes; it is resumed when it is due. */
void volume_controller_end_scrub(struct volume_controller *controller);

/* ---- controller_exports.c ---- */

/* Of a served volume: exports it to the hosts in its assignment, and to no other, and as a device
 * if that is assigned. */
int volume_controller_reconcile_exports(struct volume_controller *controller, struct error *err);
/* Until the volume is served again. */
int volume_controller_stop_exports(struct volume_controller *controller, struct error *err);
int volume_controller_end_clients(const struct volume_controller *controller, struct error *err);
/* Fails while the volume's file does not respond. */
int volume_controller_end_device(struct volume_controller *controller, struct error *err);
