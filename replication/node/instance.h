/*
 * The instance of a storage agent: a random UUID that is kept in the lock file of its run
 * directory, so that an agent that is started again is the same one, and an agent of another
 * machine or with another run directory is not, whatever its node name is.
 */
#pragma once

#include "common/arena.h"

/* `lock` is the file's descriptor; the lock is held.  Where it cannot be kept the instance is that
 * of this start alone, and a warning says so. */
const char *instance_of(struct arena *arena, int lock);
