/*
 * Operations: the record of work in progress, its kind, its owner and its lease.
 *
 * A worker claims an operation by one conditional update; a second delivery finds it claimed, moved
 * on or gone.  A lease that ran out means that the owner is dead: recovery hands the operation out
 * again, in the phase that it had.  So the work of every phase is repeatable.  Reservations belong
 * to an operation and end with it.
 *
 * Phases: queued → running → (what the compute side ends: [preparing →] sending → waiting →
 * completing) → gone.
 *
 * Cancelled is what somebody has put an end to while a worker had it, or whose traces have to be
 * looked at: it has given back everything and does nothing any more, but nothing else begins on its
 * volume before it is gone.  That is when its worker has ended, or its lease is over.
 */
#pragma once

#include "db/outbox.h"
#include "ledger/status.h"
#include "ledger/work.h"

#include <jansson.h>

enum operation_phase {
#define PHASE(name, text) PHASE_##name,
#include "ledger/phase.def"
#undef PHASE
    PHASES /* stored by another version of this program */
};
const char *operation_phase_text(enum operation_phase phase);

struct operation;
typedef int operation_function(struct work *work, const struct operation *operation,
                               struct error *err);
/* Of a worker that holds it; what `arg` is, its kind says. */
typedef int operation_body(struct work *work, const struct operation *held, void *arg,
                           struct error *err);

/* What the operations of a name have in common.  Each is exported by the file that is its meaning;
 * a function may be NULL. */
struct operation_kind {
    const char *name;                 /* "extend", as stored */
    const char *method;               /* of the message that brings it to a manager */
    const char *message_action;       /* number of the user message's action, "007" */
    const struct object_kind *object; /* whose status it moves; NULL: nothing's */
    uint64_t may_start_from;          /* bits of statuses; 0: it begins with its object */
    unsigned meanwhile, on_failure;
    unsigned char is[PHASES]; /* to whoever meets it in that phase (volume/conflict.h) */
    bool leaves_traces;       /* begun and cancelled: somebody has to look what it has done */
    /* Right before each effect, for whoever holds it: is it still wanted? 1, 0, or -1. */
    operation_function *wanted;
    operation_body *finish;     /* the work has ended, `arg` says how: everything about it goes */
    operation_body *progress;   /* an int of percent, below 100; NULL: nobody sees it */
    operation_function *cancel; /* gives back what it has reserved */
    operation_function *settle; /* who uses the object has changed, or a part has ended */
};

/* All there are, ended with NULL: a table above this folder. */
extern const struct operation_kind *const operation_kinds[];
const struct operation_kind *operation_kind_find(const char *name); /* NULL: none */

/* One of several that an operation has at once, or none of them. */
struct operation_turn {
    const char *of; /* a volume or a snapshot */
    bool only_reads;
};

struct operation {
    const char *id;
    const struct operation_kind *kind; /* never NULL: one that is not known has only a name */
    const char *target_id; /* unique among the operations; its own id once it is cancelled */
    const char *object_id; /* what it is about: the target, also when it is cancelled */
    const char *volume_id, *host;
    const char *turn_of; /* a volume or a snapshot: one at a time is worked on of those with the
                          * same one, the oldest first, but those about another object, which only
                          * read it, side by side; NULL: waits for none, or for several */
    const struct operation_turn *turns; /* these; written by operation_insert(), and not read */
    unsigned turn_count;
    enum operation_phase phase;
    const char *project_id, *user_id, *request_id;
    const char *previous_status;
    int64_t new_size_gb;
    bool failed;
    const char *owner;
    int64_t lease_until, deadline, attempts;
    const char *arguments;          /* JSON or NULL */
    int64_t created_at, updated_at; /* all instants are of the database's clock */
    const char *waits_for;          /* what its last worker found in use; NULL: nothing */
    bool is_long; /* it moves much data, which the backend's workers for that alone do */
    int progress; /* percent of its work, below 100; -1: not known */
};

/* Is it the compute side's turn?  Its report ends that, or the deadline. */
static inline bool operation_awaits_report(const struct operation *operation) {
    return operation->phase == PHASE_SENDING || operation->phase == PHASE_WAITING;
}

/* Is `one` in front of `other` wherever they stand in a line? */
bool operation_is_older(const struct operation *one, const struct operation *other);

/*
 * Writes the record, phase queued, and the message that brings it to the managers of fields->host.
 * Read from `fields`: volume_id, target_id (NULL: the volume), turn_of or turns, host, project_id,
 * previous_status, new_size_gb, arguments, created_at (0: now); user and request are the context's.
 * A target that has an operation already is ERROR_CONFLICT.
 */
int operation_insert(struct work *work, const struct operation_kind *kind,
                     const struct operation *fields, const char **ret_id, struct error *err);
/* Of one that was just inserted: it reads a part of the files of another volume, and does not begin
 * while a snapshot is taken out of them. */
int operation_reads(struct work *work, const char *id, const char *volume_id, struct error *err);
/* The same, unless one of the kind with the same arguments waits for a worker on the volume: then
 * that one serves, and has all its attempts again. */
int operation_insert_once(struct work *work, const struct operation_kind *kind,
                          const struct operation *fields, struct error *err);
/* By id, and by target: 1 found, 0 none, -1 failed. */
int operation_get(struct work *work, const char *id, struct operation *ret, struct error *err);
int operation_of(struct work *work, const char *target_id, struct operation *ret,
                 struct error *err);
/* The one about a snapshot of the volume that the compute side has a part in, and until its end
 * nothing else begins there: 1 found, 0 none. */
int operation_assisted(struct work *work, const char *volume_id, struct operation *ret,
                       struct error *err);
/* Those in phase running about something of the volume's, its snapshots for instance, and not about
 * itself: how many. */
int operation_begun(struct work *work, const char *volume_id, struct operation **ret,
                    struct error *err);
/* Every one that works on a volume, also on its attachments and snapshots, also with others at
 * once, also one that reads it for another volume, also cancelled ones; of a snapshot's id those
 * that have their turn there; how many. */
int operation_on(struct work *work, const char *volume_id, struct operation **ret,
                 struct error *err);

/* Of these those about one object, those that have several turns, and all that are cancelled: few,
 * however many are queued there. */
int operation_about(struct work *work, const char *volume_id, const char *object_id,
                    struct operation **ret, struct error *err);

/* operation_get() for a worker that wants to act on it: 0 also when it is not `owner`'s any more,
 * so a worker that was paused beyond its lease ends nothing that another one works on. */
int operation_held(struct work *work, const char *id, const char *owner, struct operation *ret,
                   struct error *err);

/*
 * Claims for `owner` until now + lease: only when nobody holds it with a live lease, it is not
 * answered, it is not waiting for a deadline that is still to come, nothing cancelled is left on
 * the volume, it is its turn, and it may begin at the volume's files (ledger/turn.private.h).  A
 * queued one becomes running; a cancelled one stays so.  1 claimed (*ret filled), 0 not (gone or
 * taken), -1 failed.
 */
int operation_claim(struct work *work, const char *id, const char *owner, struct operation *ret,
                    struct error *err);
/* From one phase to another if still held by `owner`, who keeps it or lets go; 1 done, 0 lost. */
int operation_move(struct work *work, const char *id, const char *owner, enum operation_phase from,
                   enum operation_phase to, bool keep_owner, struct error *err);
/* Until when it waits for a report, when it does. */
int operation_set_deadline(struct work *work, const char *id, int64_t deadline, struct error *err);
/* The same, with what is kept beside it, unless that was changed since `seen` was read, or the
 * report is in. */
int operation_await(struct work *work, const struct operation *seen, int64_t deadline,
                    const char *arguments, struct error *err);
/* The report that it waits for is in: phase completing, nobody's.  1 done, 0 it waits for none. */
int operation_report(struct work *work, const struct operation *operation, bool failed,
                     struct error *err);
/* Nobody will report any more: as if its deadline were over, and a manager is told. */
int operation_hurry(struct work *work, const struct operation *operation, struct error *err);
/* The settle() of the target's operation, when there is one. */
int operation_settle(struct work *work, const char *target_id, struct error *err);
/* The same after one of the operations that it waits for: failed for good, when that has. */
int operation_part_ended(struct work *work, const char *target_id, bool failed, struct error *err);
/* Lets go of it, not to be looked at before `deadline`; 1 done, 0 lost. */
int operation_postpone(struct work *work, const char *id, const char *owner, int64_t deadline,
                       struct error *err);
/* Lets go of it, to be tried again from `retry_at`; 1 done, 0 lost. */
int operation_retry(struct work *work, const char *id, const char *owner, int64_t retry_at,
                    struct error *err);
/* The same by who has claimed it and not begun: that was no attempt. */
int operation_put_back(struct work *work, const char *id, const char *owner, int64_t retry_at,
                       struct error *err);
/* The same by a worker that found in use `what` it needs: that was no attempt either.  Unless it
 * reads another volume's files itself it keeps new readers of its own away until it has had its
 * turn. */
int operation_wait_for(struct work *work, const char *id, const char *owner, const char *what,
                       int64_t retry_at, struct error *err);
/* Its worker is of those that do not move much data, and has found that it would: it goes on with
 * one of those that do.  That was no attempt.  1 done, 0 lost. */
int operation_make_long(struct work *work, const char *id, const char *owner, struct error *err);
/* How far its work is; 1 done, 0 lost. */
int operation_set_progress(struct work *work, const char *id, const char *owner, int percent,
                           struct error *err);
/* Notes how far it has come, in its `arguments`, also when it was cancelled; 1 done, 0 lost. */
int operation_note(struct work *work, const char *id, const char *owner, const char *arguments,
                   struct error *err);
/* The size that its object is to have is known now: what it has reserved is for that. */
int operation_set_size(struct work *work, const char *id, int64_t size_gb, struct error *err);
/* Prolongs the lease of one that a living worker of `owner` has in its hands; 1 done, 0 lost. */
int operation_renew(struct work *work, const char *owner, const char *id, struct error *err);
/* How long a worker may begin side effects, by its own steady clock, under a lease that it began to
 * ask for at `asked_us` of that clock: somewhat shorter, for clocks of two hosts that disagree. */
static inline int64_t operation_safe_until(const struct settings *settings, int64_t asked_us) {
    return asked_us + settings->operation_lease_s * SECOND_US / 6 * 5;
}
/* Ends the leases of former incarnations of this manager: owner begins with `prefix` and is not
 * `owner`. */
int operation_disown(struct work *work, const char *prefix, const char *owner, struct error *err);
/* Puts an end to it, whoever has it, after its kind's cancel().  Gone at once when no worker can be
 * at it and it has left no traces, else cancelled. */
int operation_cancel(struct work *work, const struct operation *operation, struct error *err);
/* The worker of a cancelled one has ended: it goes, and what waited for that is told to begin.
 * 1 done, 0 it is not cancelled or somebody else's. */
int operation_close(struct work *work, const struct operation *operation, const char *owner,
                    struct error *err);
/* Ends its hold on its object: from `meanwhile` to `status`; 1 when the status was no longer the
 * operation's (an operator reset it): then it stays. */
int operation_leave(struct work *work, const char *object_id, const struct operation_kind *kind,
                    unsigned status, struct error *err);
/* Deletes the record, and what waits for its turn is told; reservations must be settled before. */
int operation_end(struct work *work, const char *id, struct error *err);
/* That of the target, when there is one. */
int operation_end_of(struct work *work, const char *target_id, struct error *err);
/* Phase answered with `arguments` as the result, for the request that waits; nobody else waits for
 * its turn any more. */
int operation_answer(struct work *work, const char *id, const char *arguments, struct error *err);
/* Deletes answers that nobody fetched for `age_us`. */
int operation_expire(struct work *work, int64_t age_us, struct error *err);

/*
 * What nobody works on: its lease ran out, or nobody has taken it up although its message was
 * written long ago; what waits, only when its deadline is over.
 */
struct orphan_rule {
    int64_t waiting_since_us; /* a message for what waits or is cancelled: lost when it is older */
    int64_t queued_since_us;  /* one for anything else; 0: never */
    bool is_long;             /* those of work that moves much data, or all others */
    bool patient; /* messages may be on their way: one for a queued operation is lost when
                               * it is older than the operation was then, too */
    bool sparing; /* patient, and so is one for what waits, counted from its deadline */
};
/* The `most` oldest at a backend (node@backend); how many. For a reading transaction: it looks at
 * all of the backend's. */
int operation_orphans(struct work *work, const char *host, const struct orphan_rule *rule,
                      unsigned most, struct operation **ret, struct error *err);
/* Writes its message again, if it is still nobody's. */
int operation_hand_out(struct work *work, const struct operation *orphan,
                       const struct orphan_rule *rule, struct error *err);
/*
 * One of each project that no worker has anything of at a backend: of those that wait for one the
 * one that was told of longest ago, before `waiting_since_us`; none of a project of which one was
 * since `told_since_us` and still waits.  Work that moves much data, and all other, is looked at
 * apart.  The `most` oldest; how many.  It costs as many projects as wait there, whatever the
 * length of their lines.
 */
int operation_unserved(struct work *work, const char *host, bool is_long, int64_t waiting_since_us,
                       int64_t told_since_us, unsigned most, struct operation **ret,
                       struct error *err);
/* It was told of just now: 1, 0 somebody has it by now. */
int operation_note_told(struct work *work, const struct operation *operation, struct error *err);
/* How many of a kind on a volume have no answer yet: 0, or -1. */
int operation_count(struct work *work, const char *volume_id, const struct operation_kind *kind,
                    int64_t *ret, struct error *err);
/* Every operation, oldest first; how many. */
int operation_list(struct work *work, struct operation **ret, struct error *err);

/* Its `arguments`, read; NULL when there are none. */
const json_t *operation_arguments(struct arena *arena, const struct operation *operation);

/* The topic of the managers of a host (node@backend#pool or node@backend): that of work that moves
 * much data, or of all other work. */
char *operation_topic(struct arena *arena, const char *host, bool is_long);
/* The message that makes a manager look at the operation; `method` NULL: its kind's. */
struct outbox_message operation_message(struct arena *arena, const struct operation *operation,
                                        const char *method);
/* Writes it. */
int operation_notify(struct work *work, const struct operation *operation, const char *method,
                     struct error *err);
