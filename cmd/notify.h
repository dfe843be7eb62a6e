/*
 * What a service tells the program that started it: systemd's notification protocol (sd_notify(3)),
 * datagrams to the socket that NOTIFY_SOCKET names (a path, or '@' and a name in the abstract name
 * space).  Without that variable nothing is sent.
 *
 * The watchdog has a thread of its own.  It asks `alive` before each sign of life, and the question
 * goes through the parts that must work: when one of them hangs, so does the thread, and the
 * starter ends the process.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them, so that programs we start
 * do not speak in our name. -1: they make no sense. */
int notify_open(struct notify **ret, struct error *err);
/* READY=1 with a STATUS; begins the watchdog when one is wanted. */
void notify_ready(struct notify *notify, const char *status, bool (*alive)(void *arg), void *arg);
/* STOPPING=1; the watchdog goes on as a mere sign of life until notify_close(). */
void notify_stopping(struct notify *notify);
void notify_close(struct notify *notify); /* NULL is fine */
