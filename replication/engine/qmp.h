/*
 * A client of QEMU's Machine Protocol on a Unix socket: one command after the other, each with a
 * deadline, and the events between them.
 *
 * The daemon's output is bounded and checked: a line that is too long or not JSON, and a response
 * without a request, break the connection, as does silence beyond the deadline or the daemon's end
 * (ERROR_UNAVAILABLE). A broken connection stays broken: every later call fails at once, because
 * the outcome of the command is unknown. An error response of the daemon (ERROR_BACKEND, with its
 * text) breaks nothing.
 *
 * A client belongs to one thread at a time. Deadlines also pass while the machine is suspended.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct qmp;

/* Waits for the greeting and negotiates. A server has one client at a time: a second one receives
 * no greeting. */
int qmp_connect(const char *path, int64_t timeout_ms, struct qmp **ret, struct error *err);
/* The two parts of it, for a daemon that starts: the first sends nothing and does not wait. */
int qmp_open(const char *path, struct qmp **ret, struct error *err);
int qmp_negotiate(struct qmp *qmp, int64_t timeout_ms, struct error *err);
void qmp_close(struct qmp *qmp); /* NULL is fine */

/* Takes `arguments`, which may be NULL. *ret, of the arena, is the return value of the command;
 * `ret` may be NULL. */
int qmp_execute(struct qmp *qmp, struct arena *arena, const char *command, json_t *arguments,
                int64_t timeout_ms, json_t **ret, struct error *err);

/* The oldest event not taken yet: 1 and *ret, of the arena; 0: there is none now; -1: the
 * connection is broken and all events before that were taken. */
int qmp_event(struct qmp *qmp, struct arena *arena, json_t **ret, struct error *err);

/* Readable when it has sent something; -1: broken. */
int qmp_fd(const struct qmp *qmp);

/* Were events dropped because too many were waiting? Reported once. */
bool qmp_events_lost(struct qmp *qmp);
