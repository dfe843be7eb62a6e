/*
 * A TCP socket that listens, with an error that says where and why not.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

/*
 * `address` is numeric (IPv6 may stand in brackets, as in a URL) or a name, of which the first
 * address that works is taken; "::" takes IPv4 too.  Port 0 is any free one.  Returns the socket,
 * non-blocking and closed on exec, or -1 (ERROR_BAD_REQUEST, ERROR_UNAVAILABLE).
 */
int listen_open(const char *address, unsigned port, struct error *err);

/* Is every address that listen_open() could take one of this machine alone?  A Unix socket's is. */
bool listen_is_loopback(const char *address);

unsigned listen_port(int fd);
