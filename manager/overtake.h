/*
 * At a broker one project's queue stands in front of everybody else's work, and a manager is given
 * a bounded part of it: it may hold nothing but messages of that project.  The database has all
 * that waits.  So a project of which something waits while no worker has anything of it is told of
 * again to this manager alone, past the queue; whichever message comes first brings the operation.
 */
#pragma once

#include "ledger/work.h"
#include "manager/state.private.h"

/* Does so for a queue of a backend, when it is time.  By the thread that ticks. */
int overtake(struct manager_lane *lane, const struct work *base, struct error *err);
