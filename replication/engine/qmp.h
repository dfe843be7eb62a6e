/*
 * A client of QEMU's Machine Protocol on a Unix socket: one command after the other, each with a
 * deadline, and the events that come between.
 *
 * What the daemon sends is bounded and judged: a line that is too long, is no JSON or answers what
 * nobody asked breaks the connection, as does silence beyond the deadline or the daemon's end
 * (ERROR_UNAVAILABLE).  A broken connection stays so: every later call fails at once, because
 * nobody knows whether the command was done.  A refusal by the daemon (ERROR_BACKEND, with its
 * words) breaks nothing.
 *
 * A client belongs to one thread at a time.  Deadlines also pass while the machine is suspended.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct qmp;

/* Waits for the greeting and negotiates.  A server has one client at a time: who comes second hears
 * no greeting. */
int qmp_connect(const char *path, int64_t timeout_ms, struct qmp **ret, struct error *err);
void qmp_close(struct qmp *qmp); /* NULL is fine */
/*
 * To be called once for a daemon that has just begun, before any qmp_connect().  The very first
 * client may meet it while it hands the socket from one thread to another: both then read from it,
 * and bytes of commands are lost.  This one says nothing and goes when it was greeted.
 */
int qmp_await_ready(const char *path, int64_t timeout_ms, struct error *err);

/* Takes `arguments`, which may be NULL.  *ret, of the arena, is what the command returns; `ret` may
 * be NULL. */
int qmp_execute(struct qmp *qmp, struct arena *arena, const char *command, json_t *arguments,
                int64_t timeout_ms, json_t **ret, struct error *err);

/* The oldest event not taken yet: 1 and *ret, of the arena; 0: there is none now; -1: the
 * connection is broken and all events before that were taken. */
int qmp_event(struct qmp *qmp, struct arena *arena, json_t **ret, struct error *err);

/* Readable when it has sent something; -1: broken. */
int qmp_fd(const struct qmp *qmp);

/* Were events thrown away because too many came that nobody took?  Asked once. */
bool qmp_events_lost(struct qmp *qmp);
