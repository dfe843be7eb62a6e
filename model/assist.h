/*
 * Work of a running guest's host for an operation: the host, the deadline of its report, and the
 * handling of silence.
 *
 * An agent of this service may have died with the request.  It reports progress every ten seconds;
 * after a longer silence its deadline is over, and the request is repeated, at growing intervals.
 * The last deadline of all is kept beside, in the operation's arguments.  A compute service is
 * asked once.
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

/* The only attachment, if it is to an instance: the guest's. */
const struct attachment *assist_guest(const struct volume *volume);

/* The host of that guest has an agent, which has not reported for service_down_time: no report is
 * expected.  1, 0, or -1. */
int assist_host_is_down(struct work *work, const struct volume *volume, struct error *err);

/* For the worker that holds it (operation_body), from phase sending or waiting.  The request was
 * sent, or may have been: phase waiting, and the worker releases it.  The argument is a bool: the
 * request may be repeated. */
operation_body assist_sent;
/* The request was repeated, or could not be: continues to wait.  The argument is a bool: for longer
 * than before. */
operation_body assist_silent;
/* Continues to wait until `until_us`. */
int assist_continue(struct work *work, const struct operation *held, int64_t until_us,
                    struct error *err);

/* For one that waits after its deadline: is at `now_us` only the deadline of a silence over? */
bool assist_repeats(struct arena *arena, const struct operation *operation, int64_t now_us);
/* A progress report: a host is at work. */
int assist_progressed(struct work *work, const struct operation *operation, struct error *err);
/* The final report of a host: 1 it was awaited, 0 it was not. */
int assist_report(struct work *work, const struct operation *operation, bool failed,
                  struct error *err);
