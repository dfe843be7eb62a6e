/*
 * Operations: the record of work in progress, its kind, its owner and its lease.
 *
 * A worker claims an operation by one conditional update; a second delivery finds it claimed, moved
 * on or gone.  A lease that ran out means that the owner is dead: recovery hands the operation out
 * again, in the phase that it had.  So the work of every phase is repeatable.  Reservations belong
 * to an operation and end with it.
 *
 * Phases: queued → running → (completed by the compute side: [preparing →] sending → waiting →
 * completing) → gone.
 *
 * Cancelled: ended while a worker had it, or with effects that must be inspected.  It has released
 * its reservations and does nothing any more, but no other operation begins on its volume before it
 * is gone.  It is gone when its worker has ended, or its lease has expired.
 */
#pragma once

#include "db/outbox.h"
#include "operation/status.h"
#include "operation/work.h"

#include <jansson.h>

enum operation_phase {
#define PHASE(name, text) PHASE_##name,
#include "operation/phase.def"
#undef PHASE
    PHASES /* stored by another version of this program */
};
const char *operation_phase_text(enum operation_phase phase);

struct operation;
typedef int operation_function(struct work *work, const struct operation *operation,
                               struct error *err);
/* Of a worker that holds it; the meaning of `arg` depends on the kind. */
typedef int operation_body(struct work *work, const struct operation *held, void *arg,
                           struct error *err);

/* The common properties of operations of a name.  Each kind is exported by the file that implements
 * it; a function may be NULL. */
struct operation_kind {
    const char *name;           /* "extend", as stored */
    const char *method;         /* of the message to a manager */
    const char *message_action; /* number of the user message's action, "007" */
    const char *message_detail; /* of a failure without a reason of its own; NULL: each has one */
    const struct object_kind *object; /* whose status it changes; NULL: none */
    uint64_t may_start_from;          /* bits of statuses; 0: it starts with its object */
    unsigned meanwhile, on_failure;
    unsigned char is[PHASES]; /* state in each phase as seen by others (model/conflict.h) */
    bool leaves_traces; /* once begun, a cancelled one may have effects that must be inspected */
    /* finish() begins with operation_end_held(), and uses nothing that changes while it has its
     * owner. */
    bool ends_as_claimed;
    bool single_queue; /* it never has several (turns): its end looks for none */
    bool awaited;      /* requests wait for its end */
    /* Checked by its worker right before each effect: is it, as claimed, still valid?  1, 0, or
     * -1. */
    operation_function *still_valid;
    operation_body *finish;     /* the work has ended with the outcome `arg`: releases everything */
    operation_body *progress;   /* an int of percent, below 100; NULL: not shown */
    operation_function *cancel; /* releases its reservations */
    operation_function *reevaluate; /* users of the object have changed, or a part has ended */
};

/* All there are, ended with NULL: a table above this folder. */
extern const struct operation_kind *const operation_kinds[];
const struct operation_kind *operation_kind_find(const char *name); /* NULL: none */

/* One of several queues that an operation enters and leaves at once. */
struct operation_turn {
    const char *of; /* a volume or a snapshot */
    bool only_reads;
};

struct operation {
    const char *id;
    const struct operation_kind *kind; /* never NULL: an unknown kind has only a name */
    const char *target_id; /* unique among the operations; its own id once it is cancelled */
    const char *object_id; /* its object: the target, also when it is cancelled; or another one */
    const char *volume_id, *host;
    /* a volume or a snapshot with a queue: one at a time runs of its operations, the oldest first,
     * but those about another object, which only read it, side by side; NULL: none, or several */
    const char *turn_of;
    const struct operation_turn
        *turns; /* several queues; written by operation_insert(), and not read */
    unsigned turn_count;
    /* read by operation_insert(): the rest of the transaction adds no condition for its begin, and
     * its volume is new or has the queue `turn_of` */
    bool at_once;
    enum operation_phase phase;
    const char *project_id, *user_id, *request_id;
    const char *previous_status;
    int64_t new_size_gb;
    bool failed;
    const char *owner;
    int64_t lease_until, deadline, attempts;
    bool has_deadline;              /* 0 is one that has passed, too */
    const char *arguments;          /* JSON or NULL */
    int64_t created_at, updated_at; /* all instants are of the database's clock */
    const char *waits_for;          /* the object that its last worker found in use; NULL: none */
    bool is_long;                   /* it moves much data, and runs on the workers for that */
    int progress;                   /* percent of its work, below 100; -1: unknown */
};

/* Is a report of the compute side pending?  The report or the deadline ends that. */
static inline bool operation_awaits_report(const struct operation *operation) {
    return operation->phase == PHASE_SENDING || operation->phase == PHASE_WAITING;
}

/* Is `one` before `other` in every queue? */
bool operation_is_older(const struct operation *one, const struct operation *other);

/*
 * Writes the record, phase queued, and the message to the managers of fields->host.  Read from
 * `fields`: volume_id, target_id (NULL: the volume, or with an object_id the operation itself),
 * object_id (NULL: the target), turn_of or turns, host, project_id, previous_status, new_size_gb,
 * arguments, created_at (0: now), at_once; user and request are the context's.  With at_once, and
 * no other operation in its queue or on its volume, it is claimed for the manager of this process
 * instead of the message, if that takes it (operation/taker.h).  A target that has an operation
 * already is ERROR_CONFLICT.
 */
int operation_insert(struct work *work, const struct operation_kind *kind,
                     const struct operation *fields, const char **ret_id, struct error *err);
/* For one that was just inserted: it reads files of another volume, and does not begin while a
 * snapshot is removed from them. */
int operation_reads(struct work *work, const char *id, const char *volume_id, struct error *err);
/* For one that `held->owner` holds, in no queue yet or in that one: it reads another volume, and
 * is in its queue from now on.  `waits`: released until it is first there, not counted as an
 * attempt. */
int operation_follow(struct work *work, const struct operation *held, const char *volume_id,
                     bool waits, struct error *err);
/* For one that `held->owner` holds in its own queue: released until the older ones there have
 * ended.  This attempt counts, as it has begun something. */
int operation_let_pass(struct work *work, const struct operation *held, struct error *err);
/* For one that `held->owner` holds: it reads the other volume no longer, and leaves its queue. */
int operation_unfollow(struct work *work, const struct operation *held, struct error *err);
/* The same as operation_insert(), unless one of the kind with the same arguments waits for a worker
 * on the volume: then that one is reused, with a new count of attempts. */
int operation_insert_once(struct work *work, const struct operation_kind *kind,
                          const struct operation *fields, struct error *err);
/* By id, and by target: 1 found, 0 none, -1 failed. */
int operation_get(struct work *work, const char *id, struct operation *ret, struct error *err);
int operation_of(struct work *work, const char *target_id, struct operation *ret,
                 struct error *err);
/* The operation about a snapshot of the volume in which the compute side takes part; until its end
 * no other operation begins there: 1 found, 0 none. */
int operation_assisted(struct work *work, const char *volume_id, struct operation *ret,
                       struct error *err);
/* Those in phase running about a part of the volume, its snapshots for instance, and not about
 * itself: how many. */
int operation_begun(struct work *work, const char *volume_id, struct operation **ret,
                    struct error *err);
/* Every operation on a volume, its attachments and snapshots, also one on several objects, one that
 * reads it for another volume, and cancelled ones; for a snapshot's id those in its queue; how
 * many. */
int operation_on(struct work *work, const char *volume_id, struct operation **ret,
                 struct error *err);

/* Of these those about one object, those in several queues, and all cancelled ones: few, however
 * long the queue is. */
int operation_about(struct work *work, const char *volume_id, const char *object_id,
                    struct operation **ret, struct error *err);

/* operation_get() for a worker that acts on it: 0 also when its owner is no longer `owner`, so a
 * worker that was paused beyond its lease does not end another worker's operation. */
int operation_held(struct work *work, const char *id, const char *owner, struct operation *ret,
                   struct error *err);
/* The same without reading it: 1 it is held, 0 not. */
int operation_is_held(struct work *work, const char *id, const char *owner, struct error *err);

/*
 * Claims for `owner` until now + lease: only without a live lease, unanswered, not waiting for a
 * future deadline, without a cancelled operation on the volume, first in its queue, and free to
 * begin at the volume's files (operation/queue.private.h).  A queued one becomes running; a
 * cancelled one stays so.
 *
 * 1 claimed (*ret filled), 0 not (gone or taken), 2 not: its kind or phase is of another version of
 * the program (*ret filled): its managers get it after a pause; -1 failed.
 */
int operation_claim(struct work *work, const char *id, const char *owner, struct operation *ret,
                    struct error *err);
/* Counts an attempt of one that is claimed, as read in this transaction, with one that a loss of
 * power has taken. */
int operation_begin(struct work *work, struct operation *claimed, struct error *err);
/* Counts the first attempt of one that its request has claimed.  1 done, 0 `owner` has lost it, or
 * it is counted. */
int operation_begin_first(struct work *work, const char *id, const char *owner, struct error *err);
/* Before an attempt without a limit of their number: an eighth of its age, a second at least. */
int64_t operation_pause_us(const struct operation *operation, int64_t clock_us, int64_t most_us);
/* From one phase to another if still held by `owner`, which keeps or releases it; 1 done, 0
 * lost. */
int operation_move(struct work *work, const char *id, const char *owner, enum operation_phase from,
                   enum operation_phase to, bool keep_owner, struct error *err);
/* Its deadline for a report, when it waits for one. */
int operation_set_deadline(struct work *work, const char *id, int64_t deadline, struct error *err);
/* The same, and stores its arguments, unless those were changed since `seen` was read, or the
 * report has arrived. */
int operation_await(struct work *work, const struct operation *seen, int64_t deadline,
                    const char *arguments, struct error *err);
/* The report that it waits for has arrived: phase completing, without an owner.  1 done, 0 it waits
 * for none. */
int operation_report(struct work *work, const struct operation *operation, bool failed,
                     struct error *err);
/* There will be no report: its deadline ends now, and a manager is notified. */
int operation_end_deadline(struct work *work, const struct operation *operation, struct error *err);
/* Calls reevaluate() of the target's operation, when there is one. */
int operation_reevaluate(struct work *work, const char *target_id, struct error *err);
/* The same after the end of one of the operations that it waits for: with `failure`, a final
 * one, which is noted. */
int operation_part_ended(struct work *work, const char *target_id, const struct error *failure,
                         struct error *err);
/* Keeps the text of a failure for the worker or the transaction that ends the operation; the first
 * one stays. */
int operation_note_failure(struct work *work, const struct operation *operation,
                           const struct error *failure, struct error *err);
/* `ret` is unchanged when none was noted. */
void operation_read_failure(struct arena *arena, const struct operation *operation,
                            struct error *ret);
/* Releases it until `deadline`; 1 done, 0 lost. */
int operation_postpone(struct work *work, const char *id, const char *owner, int64_t deadline,
                       struct error *err);
/* Releases it for a retry at `retry_at`; 1 done, 0 lost. */
int operation_retry(struct work *work, const char *id, const char *owner, int64_t retry_at,
                    struct error *err);
/* The same for a worker that has not begun: an attempt that is counted already is taken back. */
int operation_put_back(struct work *work, const char *id, const char *owner, int64_t retry_at,
                       struct error *err);
/* The same for a worker that found `what` in use: not counted as an attempt either.  Unless it
 * reads another volume's files itself it blocks new readers of its own until it has run. */
int operation_wait_for(struct work *work, const char *id, const char *owner, const char *what,
                       int64_t retry_at, struct error *err);
/* A worker for short work has found that it moves much data: a worker for such work continues.  Not
 * counted as an attempt.  1 done, 0 lost. */
int operation_make_long(struct work *work, const char *id, const char *owner, struct error *err);
/* Sets its progress; 1 done, 0 lost. */
int operation_set_progress(struct work *work, const char *id, const char *owner, int percent,
                           struct error *err);
/* Stores its progress in `arguments`, also when it was cancelled; 1 done, 0 lost. */
int operation_note(struct work *work, const char *id, const char *owner, const char *arguments,
                   struct error *err);
/* The final size of its object is known: adjusts its reservation. */
int operation_set_size(struct work *work, const char *id, int64_t size_gb, struct error *err);
/* Renews the lease of a running one of `owner`; 1 done, 0 lost. */
int operation_renew(struct work *work, const char *owner, const char *id, struct error *err);
/* The end of side effects by the worker's own steady clock, under a lease requested at `asked_us`
 * of that clock: somewhat earlier, as clocks of two hosts differ. */
static inline int64_t operation_safe_until(const struct settings *settings, int64_t asked_us) {
    return asked_us + settings->operation_lease_s * SECOND_US / 6 * 5;
}
/* Ends the leases of former processes of this manager: owner begins with `prefix` and is not
 * `owner`. */
int operation_end_stale_leases(struct work *work, const char *prefix, const char *owner,
                               struct error *err);
/* Cancels it, whatever its owner, after its kind's cancel().  Gone at once when it has neither a
 * worker nor effects to inspect, else cancelled. */
int operation_cancel(struct work *work, const struct operation *operation, struct error *err);
/* Writes one that is cancelled: a manager inspects the effects of an earlier one of the kind on the
 * object, which has ended. */
int operation_inspect(struct work *work, const struct operation_kind *kind,
                      const struct operation *fields, struct error *err);
/* The worker of a cancelled one has ended: it is removed, and the operations behind it are
 * notified.  1 done, 0 it is not cancelled or has another owner. */
int operation_close(struct work *work, const struct operation *operation, const char *owner,
                    struct error *err);
/* Releases its object: from `meanwhile` to `status`; 1 when the status was no longer the
 * operation's (an operator reset it): then it stays. */
int operation_leave(struct work *work, const char *object_id, const struct operation_kind *kind,
                    unsigned status, struct error *err);
/* Deletes the record and notifies the next in its queue; its reservations must be committed or
 * released before. */
int operation_end(struct work *work, const struct operation *ended, struct error *err);
/* The same by its worker, as it was claimed: 1 when it has another owner or is cancelled by now,
 * and nothing has changed. */
int operation_end_held(struct work *work, const struct operation *held, struct error *err);
/* The same for the target's operation, when there is one. */
int operation_end_of(struct work *work, const char *target_id, struct error *err);
/* Phase answered with `arguments` as the result, for the waiting request; it leaves its queue. */
int operation_answer(struct work *work, const char *id, const char *arguments, struct error *err);
/* Deletes answers that were not fetched for `age_us`. */
int operation_expire(struct work *work, int64_t age_us, struct error *err);

/*
 * Operations without a worker: the lease has expired, or the message was written long ago without a
 * claim; a waiting one only after its deadline.
 */
struct orphan_rule {
    int64_t waiting_since_us; /* the message of a waiting or cancelled one: lost when it is older */
    int64_t queued_since_us;  /* the message of any other; 0: never */
    bool is_long;             /* operations that move much data, or all others */
    bool
        /* messages may be delayed: one for a queued operation is lost when it is older than the
         * operation was then, too */
        patient;
    bool sparing; /* patient, also for a waiting one, counted from its deadline */
};
/* The `most` oldest at a backend (node@backend); how many.  For a reading transaction: it scans all
 * of the backend's. */
int operation_orphans(struct work *work, const char *host, const struct orphan_rule *rule,
                      unsigned most, struct operation **ret, struct error *err);
/* Is there any operation, at whatever backend?  1, 0, or -1. */
int operation_any(struct work *work, struct error *err);
/* Writes its message again, if it still has no owner. */
int operation_redeliver(struct work *work, const struct operation *orphan,
                        const struct orphan_rule *rule, struct error *err);
/*
 * For each project without a running operation on this backend: its queued operation announced
 * longest ago, before `waiting_since_us`. Projects with an operation announced after
 * `announced_since_us` that still waits are skipped.  Operations that move much data form a class
 * of their own.  The `most` oldest; how many.  The cost grows with the number of waiting projects,
 * not of operations.
 */
int operation_unserved(struct work *work, const char *host, bool is_long, int64_t waiting_since_us,
                       int64_t announced_since_us, unsigned most, struct operation **ret,
                       struct error *err);
/* It was announced now: 1, 0 it has an owner by now. */
int operation_note_announced(struct work *work, const struct operation *operation,
                             struct error *err);
/* How many unanswered operations of a kind a volume has: 0, or -1. */
int operation_count(struct work *work, const char *volume_id, const struct operation_kind *kind,
                    int64_t *ret, struct error *err);
/* Every operation, oldest first; how many. */
int operation_list(struct work *work, struct operation **ret, struct error *err);

/* Its `arguments`, parsed; NULL when there are none. */
const json_t *operation_arguments(struct arena *arena, const struct operation *operation);

/* The topic of the managers of a host (node@backend#pool or node@backend): for operations that move
 * much data, or for all others. */
char *operation_topic(struct arena *arena, const char *host, bool is_long);
/* The message that makes a manager process the operation; `method` NULL: its kind's. */
struct outbox_message operation_message(struct arena *arena, const struct operation *operation,
                                        const char *method);
/* Writes it. */
int operation_notify(struct work *work, const struct operation *operation, const char *method,
                     struct error *err);
