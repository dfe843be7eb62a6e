/*
 * Probe of an export of an NBD server.
 */
#pragma once

#include <stdbool.h>

/* Does a server at a Unix socket have this export?  Negotiates like a client up to the first
 * request and disconnects; a server that does not respond within a second counts as absent. */
bool nbd_probe(const char *socket_path, const char *name);
