/*
 * Names of hosts as Cinder writes them: node@backend#pool.
 */
#pragma once

#include "common/arena.h"

/* node@backend of node@backend#pool, in the arena; NULL for NULL. */
char *host_backend(struct arena *arena, const char *host);
