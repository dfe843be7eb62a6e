/*
 * The event for one instance of a job's volume: finds the host and the agent, sends, judges.
 */
#pragma once

#include "manager/job.h"

/* `completion`: the sender must be sure of a report (R36); else the event is only news (R32). */
enum event_verdict event_send(struct job *job, const char *instance_uuid, bool completion,
                              struct error *err);
