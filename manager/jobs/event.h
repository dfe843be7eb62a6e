/*
 * Requests to the compute side about one instance of a job's volume: finds host and agent, sends,
 * classifies.
 */
#pragma once

#include "manager/runtime/job.h"

/*
 * To the current host of the instance according to the rows.  0 with the verdict, and in `answer`
 * the reason unless EVENT_ACCEPTED; -1 when the database could not be read: nothing was sent or
 * decided, to be retried.  `completion`: the sender must guarantee a report (R36); otherwise the
 * event is for information only (R32).
 */
int event_send(struct job *job, const char *instance_uuid, bool completion, enum event_verdict *ret,
               struct error *answer, struct error *err);

/* Does it decide a repeated request?  An unreachable or busy host does not show the outcome of the
 * earlier one; one that cannot do it is as conclusive as a report: the guest is off. */
bool event_is_certain(enum event_verdict verdict, const struct error *answer);

/* The same for its part of a snapshot of the volume; fills ids, host and endpoint. */
int event_assist(struct job *job, const char *instance_uuid, struct compute_assist *assist,
                 enum event_verdict *ret, struct error *answer, struct error *err);

/* The same for discarding unused blocks of the volume. */
int event_trim(struct job *job, const char *instance_uuid, bool again, enum event_verdict *ret,
               struct error *answer, struct error *err);
