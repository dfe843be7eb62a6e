/*
 * Is an export of an NBD server there?
 */
#pragma once

#include <stdbool.h>

/* At a Unix socket.  Asks for what it is, as a client would in front of its first request, and
 * leaves; one that does not answer within a second is not there. */
bool nbd_serves(const char *socket_path, const char *name);
