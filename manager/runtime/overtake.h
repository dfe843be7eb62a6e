/*
 * Fairness beyond the broker's queue: one project's messages may stand before all others, and a
 * manager prefetches a bounded number, possibly of that project only.  The database has all queued
 * operations.  So a project with queued and no running operations is announced once more to this
 * manager alone, past the queue; the first message to arrive starts the operation.
 */
#pragma once

#include "manager/runtime/state.private.h"
#include "operation/work.h"

/* Does so for a queue of a backend, when due.  Called by the ticker thread. */
int overtake(struct manager_lane *lane, const struct work *base, struct error *err);
