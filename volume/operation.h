/*
 * Operations: the record of work in progress, its owner and lease.
 *
 * A worker claims an operation by one conditional update; a second delivery finds it claimed, moved
 * on or gone.  A lease that ran out means that the owner is dead: recovery hands the operation out
 * again.  Reservations belong to an operation and end with it.
 *
 * Phases: queued → running → (extend only: sending → waiting → completing) → gone.
 *
 * Cancelled is what somebody has put an end to while a worker had it, or whose traces have to be
 * looked at: it has given back everything and does nothing any more, but nothing else begins on its
 * volume before it is gone.  That is when its worker has ended, or its lease is over.
 */
#pragma once

#include "volume/volume.h"

struct operation {
    const char *id, *kind, *target_id, *volume_id, *host, *phase;
    const char *project_id, *user_id, *request_id;
    const char *previous_status;
    int64_t new_size_gb;
    bool failed;
    const char *owner;
    int64_t lease_until, deadline, attempts;
    const char *arguments;          /* JSON or NULL */
    int64_t created_at, updated_at; /* all instants are of the database's clock */
};

#define PHASE_QUEUED     "queued"
#define PHASE_RUNNING    "running"
#define PHASE_SENDING    "sending"    /* keys are stored, the event's answer is not known yet */
#define PHASE_WAITING    "waiting"    /* the compute side has accepted, or may have */
#define PHASE_COMPLETING "completing" /* the report is stored, the manager has to finish */
#define PHASE_ANSWERED   "answered"   /* connect: the result waits for the request that asked */
#define PHASE_CANCELLED  "cancelled"

/*
 * Writes the record, phase queued, and the message that brings it to the managers of fields->host.
 * Read from `fields`: volume_id, target_id (NULL: the volume), host, project_id, previous_status,
 * new_size_gb, arguments; user and request are the context's.  A target that has an operation
 * already is ERROR_CONFLICT.
 */
int operation_insert(struct work *work, int kind, const struct operation *fields,
                     const char **ret_id, struct error *err);
/* By id, and by target: 1 found, 0 none, -1 failed. */
int operation_get(struct work *work, const char *id, struct operation *ret, struct error *err);
int operation_of(struct work *work, const char *target_id, struct operation *ret,
                 struct error *err);
/* Every one that works on a volume, also on its attachments, also cancelled ones; how many. */
int operation_on(struct work *work, const char *volume_id, struct operation **ret,
                 struct error *err);

/* operation_get() for a worker that wants to act on it: 0 also when it is not `owner`'s any more,
 * so a worker that was paused beyond its lease ends nothing that another one works on. */
int operation_held(struct work *work, const char *id, const char *owner, struct operation *ret,
                   struct error *err);

/*
 * Claims for `owner` until now + lease: only when nobody holds it with a live lease, it is not
 * answered, it is not waiting for a deadline that is still to come, and nothing cancelled is left
 * on the volume.  A queued one becomes running; a cancelled one stays so.  1 claimed (*ret filled),
 * 0 not (gone or taken), -1 failed.
 */
int operation_claim(struct work *work, const char *id, const char *owner, struct operation *ret,
                    struct error *err);
/* From one phase to another if still held by `owner`, who keeps it or lets go; 1 done, 0 lost. */
int operation_move(struct work *work, const char *id, const char *owner, const char *from,
                   const char *to, bool keep_owner, struct error *err);
/* Lets go of it, not to be looked at before `deadline`; 1 done, 0 lost. */
int operation_postpone(struct work *work, const char *id, const char *owner, int64_t deadline,
                       struct error *err);
/* Lets go of it, to be tried again from `retry_at`; 1 done, 0 lost. */
int operation_retry(struct work *work, const char *id, const char *owner, int64_t retry_at,
                    struct error *err);
/* Notes how far it has come, in its `arguments`, also when it was cancelled; 1 done, 0 lost. */
int operation_note(struct work *work, const char *id, const char *owner, const char *arguments,
                   struct error *err);
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
/* Puts an end to it, whoever has it; its reservations must be settled before.  Gone at once when no
 * worker can be at it and it has left no traces, else cancelled. */
int operation_cancel(struct work *work, const struct operation *operation, struct error *err);
/* The worker of a cancelled one has ended: it goes, and what waited for that is told to begin.
 * 1 done, 0 it is not cancelled or somebody else's. */
int operation_close(struct work *work, const struct operation *operation, const char *owner,
                    struct error *err);
/* Deletes the record; reservations must be settled before. */
int operation_end(struct work *work, const char *id, struct error *err);
/* Phase answered with `arguments` as the result, for the request that waits. */
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
};
/* The `most` oldest at a backend (node@backend); how many. For a reading transaction: it looks at
 * all of the backend's. */
int operation_orphans(struct work *work, const char *host, const struct orphan_rule *rule,
                      unsigned most, struct operation **ret, struct error *err);
/* Writes its message again, if it is still nobody's. */
int operation_hand_out(struct work *work, const struct operation *orphan,
                       const struct orphan_rule *rule, struct error *err);
/* Every operation, oldest first; how many. */
int operation_list(struct work *work, struct operation **ret, struct error *err);

/* The topic of the managers of a host (node@backend#pool or node@backend). */
char *operation_topic(struct arena *arena, const char *host);
/* Writes the message that makes a manager look at the operation. */
int operation_notify(struct work *work, const struct operation *operation, const char *method,
                     struct error *err);
