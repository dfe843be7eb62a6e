/*
 * What a storage daemon is started with beside its arguments.
 */
#pragma once

#include "common/arena.h"

/* A file in memory with daemon_preload.c, compiled, which the child is to have as `number` in
 * daemon_environment().  The descriptor is the caller's, closed on exec.  -1 with errno. */
int daemon_preload_open(void);

/* Ours and what the daemon is to have beside it.  `preload_fd`: its number in the daemon; -1: it
 * goes without.  `logs`: the directory of write logs (replication/engine/write_log.h).  The array
 * and what is added live in `arena`. */
char *const *daemon_environment(struct arena *arena, int preload_fd, const char *logs);
