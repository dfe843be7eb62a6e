/*
 * Status of the service for its supervisor: systemd's notification protocol (sd_notify(3)),
 * datagrams to the socket in NOTIFY_SOCKET (a path, or '@' and a name in the abstract name space).
 * Without that variable nothing is sent.
 *
 * The watchdog has its own thread.  It calls `alive` before each notification, which calls the
 * parts that must work: if one of them hangs, so does the thread, and the supervisor kills the
 * process.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them, so that child processes do
 * not notify in place of this one.  -1: malformed. */
int notify_open(struct notify **ret, struct error *err);
/* READY=1 with a STATUS; starts the watchdog if requested. */
void notify_ready(struct notify *notify, const char *status, bool (*alive)(void *arg), void *arg);
/* STOPPING=1; watchdog notifications continue without a check until notify_close(). */
void notify_stopping(struct notify *notify);
void notify_close(struct notify *notify); /* NULL is fine */
