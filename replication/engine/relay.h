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
 * It cannot see which request an answer is for: a peer that has answered some and never answers the
 * others is silent only when something else is sent.  So where nothing is, it asks for something
 * itself: as one more client of the volume it has a sector read, which each replica is asked for.
 *
 * What it cannot see then: a peer that answers this and not what waits for its disk.
 */
#pragma once

#include "common/error.h"

#include <stdint.h>

struct relay_settings {
    const char *path; /* to listen at for one client, */
    const char *host, *port;
    const char *volume; /* socket of the volume's clients */
    int64_t silence_ms; /* within which the client is to come, too */
};

/* Connects, and listens.  ERROR_UNAVAILABLE: nobody is there. */
int relay_start(const struct relay_settings *settings, struct error *err);
