/*
 * Instance of a storage agent: a random UUID stored in the lock file of its run directory.  A
 * restarted agent has the same instance; an agent on another machine or with another run directory
 * has another one, whatever its node name is.
 */
#pragma once

#include "common/arena.h"

/* `lock` is the locked file's descriptor.  If the instance cannot be stored it lasts for this start
 * only, with a warning in the log. */
const char *instance_of(struct arena *arena, int lock);
