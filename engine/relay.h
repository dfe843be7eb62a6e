/*
 * Between a storage daemon and a replica of another host stands a process that carries bytes from
 * a Unix socket to a TCP connection and back, and that cuts off who is silent.
 *
 * The daemon's NBD client has no time limit of its own: where its peer hangs, each request waits
 * for ever, the quorum with it, and taking the child away waits, too.  The relay knows that
 * something was sent and that nothing has come back since, and closes both sides when that lasts
 * too long; then the daemon hears an I/O error at once.  A host that is gone is found by the
 * kernel's probes, also between requests.  It lives as long as the connection, whatever becomes of
 * who started it, and what it carries is ciphertext to it.
 *
 * What it cannot see: a peer that has answered some requests and never answers the others, when no
 * new one is sent.  Whoever serves replicas to others ends an export that does not answer.
 */
#pragma once

#include "common/error.h"

#include <stdint.h>

/* Connects, and listens at `path` for one client, which is to come within that time, too.
 * ERROR_UNAVAILABLE: nobody is there. */
int relay_start(const char *path, const char *host, const char *port, int64_t silence_ms,
                struct error *err);
