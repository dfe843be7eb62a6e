/*
 * A listening TCP socket, with errors that name address and reason.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

/*
 * `address` is numeric (IPv6 also in brackets, as in a URL) or a name, of which the first working
 * address is used; "::" includes IPv4. Port 0 selects a free one.  Returns the socket, non-blocking
 * and closed on exec, or -1 (ERROR_BAD_REQUEST, ERROR_UNAVAILABLE).
 */
int listen_open(const char *address, unsigned port, struct error *err);

/* Are all addresses that listen_open() could use loopback addresses?  A Unix socket counts as
 * one. */
bool listen_is_loopback(const char *address);

unsigned listen_port(int fd);
