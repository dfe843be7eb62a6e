/*
 * A process between a storage daemon and a replica of another host carries bytes from a Unix socket
 * to a TCP connection and back, and disconnects an unresponsive peer.
 *
 * The daemon's NBD client has no timeout of its own: where its peer hangs, each request waits for
 * ever, the quorum with it, and so does the removal of the child. The relay knows that bytes were
 * sent and that none have come back since, and closes both sides when that lasts too long; then the
 * daemon receives an I/O error at once. The kernel's keepalive probes detect a host that has died,
 * also between requests. The relay lives as long as the connection, whatever becomes of the process
 * that started it, and carries ciphertext.
 *
 * It cannot see which request a response is for: a peer that has answered some requests and never
 * answers the others is silent only when something else is sent. So on an idle connection it causes
 * a request itself: as one more client of the volume it reads a sector, which the quorum reads from
 * each replica.
 *
 * What it cannot detect then: a peer that answers this read and not the requests that wait for its
 * disk.
 */
#pragma once

#include "common/error.h"

#include <stdint.h>

struct relay_settings {
    const char *path; /* to listen at for one client, */
    const char *host, *port;
    const char *volume; /* socket of the volume's clients */
    int64_t silence_ms; /* also the time in which the client must connect */
};

/* Connects, and listens. ERROR_UNAVAILABLE: the peer does not accept the connection. */
int relay_start(const struct relay_settings *settings, struct error *err);
