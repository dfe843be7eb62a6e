/*
 * Environment and preloaded object of a storage daemon.
 */
#pragma once

#include "common/arena.h"

/* A file in memory with daemon_preload.c, compiled, which the child is to have as `preload_fd` in
 * daemon_environment(). The caller closes the descriptor, which is closed on exec. -1 with errno.
 */
int daemon_preload_open(void);

/* This process's environment and the daemon's additions. `preload_fd`: its number in the daemon;
 * -1: without. `logs`: the directory of write logs (replication/engine/write_log.h). The array and
 * the additions live in `arena`. */
char *const *daemon_environment(struct arena *arena, int preload_fd, const char *logs);
