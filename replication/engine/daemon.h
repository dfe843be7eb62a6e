/*
 * One qemu-storage-daemon for each run directory, which outlives the process that started it.
 *
 * Two locks of the kernel, which no pause and no clock can take away, say who is who:
 *
 *   RUN/lock    is held by whoever decides about the volume, as long as it decides;
 *   RUN/daemon  is held by the daemon itself from before its first instruction to its end, and
 *               has its process id in it.  So the daemon runs as long as the lock is held, and
 *               there is never a second; who is killed has this file open: a number that was given
 *               anew, or is of another namespace, is never taken for it.
 *
 * It is started without a shell, in a session of its own, with no descriptor of ours; what it says
 * is in RUN/log.  Its monitor is RUN/qmp, its clients' socket RUN/nbd.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What daemons speak with each other: as our own servers (http/tls.c). */
#define DAEMON_TLS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* Makes the directory if need be; *ret is to be closed. ERROR_CONFLICT: another decides, or died a
 * moment ago while it started a daemon. */
int daemon_lock(const char *run, int *ret, struct error *err);

bool daemon_runs(const char *run);

/* The caller holds RUN/lock and no daemon runs. It listens at both sockets when this returns, or
 * is gone. */
int daemon_start(const char *run, const char *program, int64_t timeout_ms, struct error *err);

/* 0: it is gone, or was not there. ERROR_UNAVAILABLE: the kernel does not let it die. */
int daemon_kill(const char *run, int64_t timeout_ms, struct error *err);

/* Waits for its end. ERROR_UNAVAILABLE: it still runs. */
int daemon_await_end(const char *run, int64_t timeout_ms, struct error *err);
/* What it has said is taken away where that has become much: clients can make it say more. */
void daemon_trim_log(const char *run);

const char *daemon_path(struct arena *arena, const char *run, const char *name);

/* Removes the directory and what a daemon that runs no more has left there.  The caller holds
 * RUN/lock, and nobody is about to open it. */
void daemon_clear(const char *run);
