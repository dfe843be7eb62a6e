/*
 * Sockets in the file system: "unix:/run/scoria/api.sock" where an address is given.
 *
 * The file PATH.lock beside the socket is locked while the socket is in use: of two processes that
 * start at once one listens, and a socket left by a dead process is replaced.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* The path after "unix:"; NULL: another kind of address. */
const char *unix_socket_path(const char *address);

/* URL for http/client.h: "http+unix://%2Frun%2Fscoria%2Fapi.sock", https when `secure`. */
char *unix_socket_url(struct arena *arena, const char *path, bool secure);

struct unix_socket {
    int lock; /* descriptor of the locked file; with `alone` of the unlocked directory; -1: no
               * socket */
    bool alone;
    const char *path;
    dev_t device; /* the path is still the socket's while these two match */
    ino_t inode;
};

struct unix_socket_access {
    const char *mode;  /* of the file, octal; NULL: 0660 */
    const char *group; /* name or number; NULL: the process's */
    bool alone;        /* no lock file beside it: the directory itself is locked while the path
                        * changes */
};

/* Returns the listening socket, non-blocking and closed on exec, or -1 (ERROR_BAD_REQUEST, also
 * when another process listens there). `path` must live as long as the socket. */
int unix_socket_listen(const char *path, const struct unix_socket_access *access,
                       struct unix_socket *ret, struct error *err);

/* Removes the file if it is still the socket's. */
void unix_socket_remove(struct unix_socket *socket);
