/*
 * One qemu-storage-daemon for each run directory, which outlives the process that started it.
 *
 * Two locks of the kernel, which neither a pause nor a clock can revoke, identify owner and daemon:
 *
 *   RUN/lock    is held by the process that owns the volume's target;
 *   RUN/daemon  is held by the daemon itself from before its first instruction to its end, and
 *               contains its process id.  The daemon runs as long as the lock is held, and there is
 *               never a second one.  A process is killed only if it has this file open: an id that
 *               was reused, or is of another namespace, is never taken for it.
 *
 * It is started without a shell, in a session of its own, with no descriptor of this program; its
 * output is in RUN/log. Its monitor is RUN/qmp, its clients' socket RUN/nbd.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* TLS between daemons: as our own servers (http/tls.c). */
#define DAEMON_TLS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* Makes the directory if it is missing; the caller closes *ret. ERROR_CONFLICT: another process has
 * the lock, or died a moment ago while it started a daemon. */
int daemon_lock(const char *run, int *ret, struct error *err);

bool daemon_runs(const char *run);

struct qmp;

/* The caller holds RUN/lock and no daemon runs. On success it listens at both sockets and *ret is
 * its monitor; otherwise it was ended. */
int daemon_start(const char *run, const char *program, int64_t timeout_ms, struct qmp **ret,
                 struct error *err);
/* The two parts of a start: the second waits. */
int daemon_begin(const char *run, const char *program, struct error *err);
int daemon_await_ready(const char *run, int64_t timeout_ms, struct qmp **ret, struct error *err);

/* 0: it has ended, or did not run. ERROR_UNAVAILABLE: the kernel does not end the process. */
int daemon_kill(const char *run, int64_t timeout_ms, struct error *err);

/* Waits for its end. ERROR_UNAVAILABLE: it still runs. */
int daemon_await_end(const char *run, int64_t timeout_ms, struct error *err);
/* Truncates the log when it has grown beyond a limit: clients can cause output without end. */
void daemon_trim_log(const char *run);

const char *daemon_path(struct arena *arena, const char *run, const char *name);

/* Removes the directory and the files that a daemon has left there. The caller holds RUN/lock, and
 * no other process is about to take it. */
void daemon_clear(const char *run);
