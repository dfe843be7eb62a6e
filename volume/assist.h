/*
 * What the host of a running guest was asked to do for an operation: who that is, until when its
 * report is waited for, and what silence means.
 *
 * One of our own agents may have lost what it was asked for, with its life.  While it is at work it
 * says so every ten seconds; when it has been silent for longer, its deadline is over, and it is
 * asked again, at a growing pace.  The last deadline of all is kept beside, in the operation's
 * arguments.  A compute service is asked once.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/volume.h"

/* Of whoever has exactly one attachment, to an instance: who that is. */
const struct attachment *assist_guest(const struct volume *volume);

/* The host of that guest has an agent, which has not reported for service_down_time: no report is
 * to be expected.  1, 0, or -1. */
int assist_host_is_down(struct work *work, const struct volume *volume, struct error *err);

/* For the worker that holds it (operation_body), from phase sending or waiting.  The host was
 * asked, or may have been: phase waiting, and the worker lets go.  The argument is a bool: it may
 * be asked again. */
operation_body assist_sent;
/* It was asked again, or could not be: waits on.  The argument is a bool: for longer than
 * before. */
operation_body assist_silent;
/* Waits on until `until_us`. */
int assist_stay(struct work *work, const struct operation *held, int64_t until_us,
                struct error *err);

/* Of one that waits and whose deadline is over: is at `now_us` only that of a silence over? */
bool assist_asks_again(struct arena *arena, const struct operation *operation, int64_t now_us);
/* A sign of life: a host is at work. */
int assist_heard(struct work *work, const struct operation *operation, struct error *err);
/* The report of a host: 1 it was waited for, 0 it was not. */
int assist_report(struct work *work, const struct operation *operation, bool failed,
                  struct error *err);
