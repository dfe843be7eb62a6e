/*
 * One delivery of an operation to one manager: claims it, does the work of its kind and phase,
 * completes it.
 *
 * A job has no state beyond the operations table.  It runs in one thread; between its transactions
 * it holds no lock and no transaction (X40).
 */
#pragma once

#include "manager/runtime/state.private.h"
#include "model/operations.h"
#include "model/snapshot/snapshot.h"
#include "model/volume/reclaim.h"
#include "model/volume/source.h"

struct job {
    struct manager *manager;
    struct manager_host *host;
    const struct manager_lane *lane; /* of its worker */
    const struct manager_backend *backend;
    struct arena *arena;
    struct context context;
    struct work base;           /* for work_transaction() */
    struct operation operation; /* as claimed */
    struct volume volume;       /* as of the claim, or the last reload */
    bool has_volume;
    struct snapshot snapshot; /* the operation's object, as of the claim */
    bool has_snapshot;
    bool has_snapshots;          /* a volume that is deleted, as of the claim */
    struct volume_source source; /* of a new volume */
    const json_t *extra_specs;   /* of its type, for a driver that reads them; NULL: none */
    struct running running;
    struct driver_fence fence; /* for drivers: is the lease valid, is the work still wanted? */
    bool fenced_off;           /* it refused once: the driver's results are void */
    const char *found_in_use;  /* by the driver, which did nothing then: no result either */
    bool is_too_long;          /* the same: it would move much data, which this worker must not */
    bool ended;                /* this worker has ended the operation: nothing is left to cancel */
    struct driver_progress progress; /* the same for long work, checked at intervals */
    int64_t progress_asked_us, progress_noted_us, progress_logged_us;
    int progress_percent; /* as recorded last */
    bool renamed;         /* a delete: the object has a name unknown to earlier workers */
};

/* A claim for this manager by the transaction of a request. */
struct job_claim {
    int64_t asked_us; /* steady, of its lease; 0: its work has begun */
    bool counted;     /* as an attempt */
};
/* Handles one operation.  `own`: by a message of this process, of which others hear later.
 * `claim`: NULL when there is none.  0: this delivery is done; -1: deliver it again. */
int job_run(struct manager_lane *lane, const char *operation_id, bool own, struct job_claim *claim,
            struct error *err);

/* jobs/extend.c, jobs/volume.c …: one function for each kind of operation. */
typedef int job_function(struct job *job, struct error *err);
#define OPERATION(name) job_function job_##name;
#include "model/operations.def"
#undef OPERATION
/* For any kind: it was cancelled, and has no active worker any more (jobs/volume.c). */
job_function job_close;

/* The driver's call for job->snapshot of job->volume.  1: only the guest's host could do it, see
 * `err`. */
int job_make_snapshot(struct job *job, struct driver_created *ret, struct error *err);
/*
 * A snapshot below a guest is created, or deleted, with the help of the guest's host
 * (jobs/assist.c). `finish` completes the operation, with success or failure.
 */
struct job_assist {
    bool deletes;
    int (*finish)(struct job *job, bool done, const struct driver_created *created,
                  struct error *err);
    /* Removes the files that this worker prepared after the operation got another worker, or was
     * cancelled, if the snapshot is unwanted; NULL: they stay. */
    int (*undo)(struct job *job, struct error *err);
};
/* The driver cannot do it alone.  1: nor can any host, see `failure`. */
int job_assist_begin(struct job *job, const struct job_assist *assist, struct error *failure,
                     struct error *err);
/* In any phase but running. */
int job_assist_go_on(struct job *job, const struct job_assist *assist, struct error *err);
/*
 * The guest discards the unused blocks of a volume in use (jobs/trim.c). 1: no guest has the volume
 * any more, and job->volume is updated; otherwise the operation is handled.
 */
int job_trim_begin(struct job *job, struct error *err);
/* In any phase but running. */
int job_trim_go_on(struct job *job, struct error *err);
/* The completion of any reclaim. */
int job_reclaim_end(struct job *job, const struct reclaim_ending *ending, struct error *err);
/* Bytes allocated by the volume. */
int job_usage(struct job *job, int64_t *ret_bytes, struct error *err);
/* Of an upload that was cancelled (jobs/upload.c): its image and its snapshot, if it has any.  -1:
 * to be repeated. */
int job_discard_upload(struct job *job, struct error *err);
/* Destroys the object of job->snapshot, after recording that.  0: it is gone; 1 and `failure`: it
 * stays; 2, the same: only the host of a guest could do it; 3, of a delete of the volume: that of
 * its object removes it; -1: the result could not be recorded, or the operation has another
 * worker. */
int job_drop_snapshot(struct job *job, struct error *failure, struct error *err);
/* Of a delete: deletes the volume's snapshots first.  0: there is none any more but those that its
 * object contains; 1 and `failure`: one stays; -1: the result could not be recorded, or the
 * operation has another worker. */
int job_delete_snapshots(struct job *job, struct error *failure, struct error *err);
/* Of a delete, once its object is gone: the rows of the snapshots that it contained. */
int job_delete_snapshot_rows(struct job *job, struct error *err);
/* Of a delete, before its object is destroyed or released (jobs/rename.c): an earlier worker that
 * resumes right before its effect finds nothing under the name it knows.  `fence`: NULL when the
 * delete was cancelled.  0 done; 1 the object cannot be read, and nothing has changed; -1 to be
 * retried. */
int job_rename(struct job *job, const struct driver_fence *fence, struct error *err);
/* Releases existing storage that the volume manages, or was about to. */
int job_let_go_of_object(struct job *job, const struct driver_fence *fence, struct error *err);
/* Of a new job: its fence and its progress, for drivers (runtime/job_fence.c). */
void job_set_fence(struct job *job);
/* 0: the fence holds, and held at each check by the driver.  -1: the operation may have another
 * worker, or its resources are in use, so a failure of the driver is void: the operation is
 * released. */
int job_check_lease(struct job *job, struct error *err);
/* Of a copy or a transfer whose argument is the job (struct copy, struct http_transfer_call): -1
 * when the fence does not hold; the progress, and -1 when the work is to end. */
int job_copy_may(void *job, struct error *err);
int job_copy_report(void *job, int64_t done_bytes, int64_t all_bytes, struct error *err);
static inline const char *job_owner(const struct job *job) {
    return job->manager->settings.owner;
}
/* The connection information of the storage, for attachment_refresh(); NULL: see `err`. */
const char *job_connection_info(struct job *job, struct error *err);
/* The driver's view of a volume; and in a job, with its fence. */
struct driver_volume driver_volume_of(const struct volume *volume);
struct driver_volume job_driver_volume(const struct job *job);
struct driver_volume job_driver_volume_of(const struct job *job, const struct volume *volume);
struct driver_snapshot job_driver_snapshot(const struct job *job, const struct snapshot *snapshot);
/* Does the volume's object exist on the backend?  1, 0, or -1 when unknown. */
int job_find_object(struct job *job, struct error *err);
/* Reloads the volume: -1 also when it is gone. */
int job_look_again(struct job *job, struct error *err);
/*
 * A transaction on the job's operation: `body` gets its current row.  A worker suspended beyond its
 * lease changes nothing of another one's work: 1, this manager does not hold the operation any
 * more, or its phase has changed.
 */
int job_held(struct job *job, operation_body *body, void *arg, struct error *err);
/* The same for callers that cannot continue without it: ERROR_CONFLICT. */
int job_must_hold(struct job *job, operation_body *body, void *arg, struct error *err);
/* job_held() with the finish() of its kind. */
__attribute__((nonnull(2))) int job_finish(struct job *job, void *ending, struct error *err);
/* Without a finish(): deletes the operation.  0 also when another worker had it already. */
int job_end(struct job *job, struct error *err);
/* A transaction that does not need the operation to be held. */
int job_transaction(struct job *job, work_body *body, void *arg, struct error *err);
int job_read(struct job *job, work_body *body, void *arg, struct error *err);
/* Releases it for a retry after `pause_us`; a repeated attempt that ends with the manager is not
 * counted. */
int job_retry(struct job *job, int64_t pause_us, struct error *err);
/* The same when other operations go first: soon, then at longer intervals. */
int job_later(struct job *job, struct error *err);
/* The same before it has started: does not count as an attempt. */
int job_put_back(struct job *job, int64_t pause_us, struct error *err);
/* Results of job_clean_up.unwanted(). */
enum {
    CLEAN_UP_WANTED,
    CLEAN_UP_UNWANTED,
    CLEAN_UP_LATER, /* another worker is about to decide that */
};
/* How an object is removed that a worker made after its operation had ended. */
struct job_clean_up {
    const char *name;    /* in the record of one that is deferred */
    work_body *unwanted; /* with the job; -1: unknown */
    int (*take_away)(struct job *job, struct error *err); /* 0, or -1 */
};
/* Of a new volume, a new snapshot, the files of one that is prepared (jobs/create.c); of managed
 * storage (jobs/manage.c); of the snapshot that an upload reads (jobs/upload.c). */
extern const struct job_clean_up clean_up_volume, clean_up_snapshot, clean_up_assist,
    clean_up_managed, clean_up_upload;

/*
 * For a late worker: takes its object away if it is unwanted.  A removal that fails, or is not
 * decided yet, is recorded as an operation of its own (model/unwanted_object.h), as no other worker
 * knows of an object that this one made after the operation had ended.  `continued`: the end has
 * failed, and the next worker continues the operation: then the first failed query ends it.  0:
 * there is none, or its removal is recorded; 1: it is not unwanted; -1 is in the log, and the
 * object may stay.
 */
int job_clean_up(struct job *job, const struct job_clean_up *clean_up, bool continued,
                 struct error *err);
/* While the database refuses; none in a manager without threads.  False: it stops. */
bool job_pause(struct job *job, int64_t pause_us);
/* Had the operation no earlier worker?  One from before the start of this manager may have had one:
 * claims are not synced. */
bool job_is_first(const struct job *job);
/* Does the failure leave the outcome open?  An earlier attempt may have done the work, and an
 * unavailable backend reports nothing.  A first attempt that fails has done nothing.  During a
 * shutdown the backend itself may have stopped. */
bool job_is_uncertain(const struct job *job, const struct error *failure);
/* Is an object that cannot be read queried again?  It may stay so for ever, and then its volume
 * could not even be deleted, or unmanaged. */
bool job_looks_again(const struct job *job, const struct error *why);
/* Of a kind unknown to the managers of the release before, which use up attempts: are there fewer
 * than `most`, or have these not had the time of so many yet? */
bool job_may_try(const struct job *job, int64_t attempts, int64_t most, int64_t pause_us);
/* Then it is released, and the backend is queried again later. */
#define ASK_AGAIN_PAUSE_US (10 * SECOND_US)
int job_ask_again(struct job *job, const struct error *failure, struct error *err);
