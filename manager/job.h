/*
 * One delivery of an operation to one manager: claim it, do what its kind and phase ask, finish it.
 *
 * A job holds nothing that the operations table does not say.  It runs in one thread; between its
 * transactions it holds no lock and no transaction (X40).
 */
#pragma once

#include "manager/state.private.h"
#include "volume/operations.h"
#include "volume/reclaim.h"
#include "volume/snapshot.h"
#include "volume/source.h"

struct job {
    struct manager *manager;
    struct manager_host *host;
    const struct manager_lane *lane; /* whose worker has it */
    const struct manager_backend *backend;
    struct arena *arena;
    struct context context;
    struct work base;           /* for work_transaction() */
    struct operation operation; /* as claimed */
    struct volume volume;       /* as it was then, or at the last look */
    bool has_volume;
    struct snapshot snapshot; /* that the operation is about, as it was at the claim */
    bool has_snapshot;
    struct volume_source source; /* of a volume that is made */
    const json_t *extra_specs;   /* of its type; NULL: it has none */
    struct running running;
    struct driver_fence fence; /* drivers ask: does the lease hold, is the work still wanted? */
    bool fenced_off;           /* it refused once: whatever the driver said then is no verdict */
    const char *found_in_use;  /* by the driver, which did nothing more: no verdict either */
    bool is_too_long; /* the same: it would move much data, and here is no worker for that */
    struct driver_progress progress; /* the same for what takes long, asked once in a while */
    int64_t progress_asked_us, progress_noted_us, progress_logged_us;
    int progress_percent; /* as it was last written down */
    bool renamed;         /* a delete: the object has a name that no worker before this one knows */
};

/* Handles one operation. 0: nothing more to do with this delivery; -1: deliver it again. */
int job_run(struct manager_lane *lane, const char *operation_id, struct error *err);

/* extend_job.c, volume_jobs.c …: one function for each kind of operation. */
typedef int job_function(struct job *job, struct error *err);
#define OPERATION(name) job_function job_##name;
#include "volume/operations.def"
#undef OPERATION
/* Of any kind: it was cancelled, and nobody is at it any more (volume_jobs.c). */
job_function job_close;

/* The driver's call for job->snapshot of job->volume.  1: only the guest's host could do it, and
 * `err` says so. */
int job_make_snapshot(struct job *job, struct driver_created *ret, struct error *err);
/*
 * A snapshot below a guest is made, or deleted, with the help of the guest's host (assist_job.c).
 * `finish` ends the operation: done, or not.
 */
struct job_assist {
    bool deletes;
    int (*finish)(struct job *job, bool done, const struct driver_created *created,
                  struct error *err);
};
/* The driver has said that it cannot do it alone.  1: nor can any host, and `failure` says why. */
int job_assist_begin(struct job *job, const struct job_assist *assist, struct error *failure,
                     struct error *err);
/* In any phase but running. */
int job_assist_go_on(struct job *job, const struct job_assist *assist, struct error *err);
/*
 * A volume in use gives back room by its guest (trim_job.c).  1: no guest has the volume any more,
 * and job->volume says so; else all is said.
 */
int job_trim_begin(struct job *job, struct error *err);
/* In any phase but running. */
int job_trim_go_on(struct job *job, struct error *err);
/* How it has ended: that of reclaim_job.c. */
int job_reclaim_end(struct job *job, const struct reclaim_ending *ending, struct error *err);
/* Bytes that the volume takes. */
int job_usage(struct job *job, int64_t *ret_bytes, struct error *err);
/* One that this worker has made when its operation was another's by now, or cancelled, goes when
 * nobody wants it any more.  0: there is none; 1: it is somebody else's matter. */
int job_clean_up_snapshot(struct job *job, struct error *err);
/* What this worker has prepared for a guest's host when its operation was another's by now, or
 * cancelled, is undone when nobody wants the snapshot any more. */
int job_undo_assist(struct job *job, struct error *err);
/* Destroys the object of job->snapshot, which is marked for that before.  0: it is gone; 1 and
 * `failure`: it stays; 2, the same: only the host of a guest could do it; -1: what was done could
 * not be written down, or the work is another's. */
int job_drop_snapshot(struct job *job, struct error *failure, struct error *err);
/* Of a delete: the volume's snapshots go before it.  0: there is none any more; 1 and `failure`:
 * one stays; -1: what was done could not be written down, or is another's. */
int job_delete_snapshots(struct job *job, struct error *failure, struct error *err);
/* Of a delete, before its object is destroyed or given back (rename_job.c): an earlier worker of it
 * that sleeps right in front of its effect finds nothing under the name that it knows.  `fence`:
 * NULL when the delete was cancelled.  0 done; 1 the object cannot be read, and nothing has
 * changed; -1 it has to be tried again. */
int job_rename(struct job *job, const struct driver_fence *fence, struct error *err);
/* Somebody else's storage that the volume has become, or was about to, is nobody's again. */
int job_let_go_of_object(struct job *job, const struct driver_fence *fence, struct error *err);
/* 0: the fence holds, and held whenever the driver asked.  -1: the work may be another's, or what
 * it needs is in use, so a failure of the driver says nothing of the volume: the operation is given
 * back. */
int job_check_lease(struct job *job, struct error *err);
static inline const char *job_owner(const struct job *job) {
    return job->manager->settings.owner;
}
/* What connects the volume by its storage, for attachment_refresh(); NULL: `err` says why. */
const char *job_connection_info(struct job *job, struct error *err);
/* What a driver gets to know of a volume; and in a job, where it has a fence. */
struct driver_volume driver_volume_of(const struct volume *volume);
struct driver_volume job_driver_volume(const struct job *job);
struct driver_volume job_driver_volume_of(const struct job *job, const struct volume *volume);
struct driver_snapshot job_driver_snapshot(const struct job *job, const struct snapshot *snapshot);
/* Has the backend the volume's object?  1, 0, or -1 when nobody can tell. */
int job_find_object(struct job *job, struct error *err);
/* Reads the volume anew: -1 also when it is gone. */
int job_look_again(struct job *job, struct error *err);
/*
 * A transaction for what the job has in its hands: `body` gets the operation as its row is now.  A
 * worker that was paused beyond its lease changes nothing of what another one works on: 1, the
 * operation is not this manager's any more, or has moved on from the phase that the job knows.
 */
int job_held(struct job *job, operation_body *body, void *arg, struct error *err);
/* The same for whoever cannot go on without it: ERROR_CONFLICT when it is not this manager's. */
int job_must_hold(struct job *job, operation_body *body, void *arg, struct error *err);
/* job_held() with the finish() of its kind. */
__attribute__((nonnull(2))) int job_finish(struct job *job, void *ending, struct error *err);
/* Without one: it goes.  0 also when it was another's already. */
int job_end(struct job *job, struct error *err);
/* For what need not be held: the job's own transaction, or look at the rows. */
int job_transaction(struct job *job, work_body *body, void *arg, struct error *err);
int job_read(struct job *job, work_body *body, void *arg, struct error *err);
/* Gives it back to be tried again after `pause_us`. */
int job_retry(struct job *job, int64_t pause_us, struct error *err);
/* The same when others go first: soon, then at longer intervals. */
int job_later(struct job *job, struct error *err);
/* The same of one that has not begun: that was no attempt. */
int job_put_back(struct job *job, int64_t pause_us, struct error *err);
/* Is the failure one that says nothing of the volume?  An attempt before this one may have done the
 * work, and a backend that is away tells nobody.  A first attempt has done nothing and fails.  One
 * from before the start of this manager may have been another's: claims are not synced.  While this
 * process ends the backend may be what has ended. */
bool job_is_uncertain(const struct job *job, const struct error *failure);
/* Then it is given back, and the backend is asked again after a while. */
int job_ask_again(struct job *job, const struct error *failure, struct error *err);
