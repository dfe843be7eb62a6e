/*
 * What the compute side is told and asked about one instance of a job's volume: finds the host and
 * the agent, sends, judges.
 */
#pragma once

#include "manager/job.h"

/*
 * To where the rows say at this moment that the instance is.  0 with the verdict, and `answer` says
 * why it is not EVENT_ACCEPTED; -1 when the database could not be asked: nothing was sent, nothing
 * is decided, to be tried again.  `completion`: the sender must be sure of a report (R36); else the
 * event is only news (R32).
 */
int event_send(struct job *job, const char *instance_uuid, bool completion, enum event_verdict *ret,
               struct error *answer, struct error *err);

/* The same for its part of a snapshot of the volume; ids, host and endpoint are filled here. */
int event_assist(struct job *job, const char *instance_uuid, struct compute_assist *assist,
                 enum event_verdict *ret, struct error *answer, struct error *err);

/* The same for giving back room of the volume. */
int event_trim(struct job *job, const char *instance_uuid, bool again, enum event_verdict *ret,
               struct error *answer, struct error *err);
