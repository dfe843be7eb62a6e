/*
 * A filter that makes its driver fail, report wrong outcomes and delay: for tests, and for drills
 * by configuration.
 *
 *     volume_driver = fault
 *     fault_driver = file
 *     fault_plan = extend_volume:fail-after:0.1, *:delay:1:50
 *
 * Thread-safe if the deciding function is.
 */
#pragma once

#include "drivers/fault_plan.h"

/* A handle around another driver's handle, which it closes in its own close(). */
void *fault_new(const struct driver *next, void *next_handle, fault_decide *decide, void *arg);

/* A driver that describes itself like `next` and has the same optional functions; for a handle of
 * fault_new(). */
void fault_describe(const struct driver *next, struct driver *ret);

bool fault_crashed(void *handle);
void fault_reset(void *handle); /* the service has restarted: calls are passed on again */
