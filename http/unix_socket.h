/*
 * Sockets in the file system: "unix:/run/scoria/api.sock" where an address is given.
 *
 * A file beside the socket, of the same name with ".lock" behind it, is locked as long as somebody
 * listens: so of two who start at once one listens, and what a dead process has left is replaced.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* The path behind "unix:"; NULL: the address is another kind. */
const char *unix_socket_path(const char *address);

/* How http/client.h calls it: "http+unix://%2Frun%2Fscoria%2Fapi.sock", https when `secure`. */
char *unix_socket_url(struct arena *arena, const char *path, bool secure);

struct unix_socket {
    int lock; /* held; of one that is alone the directory, free; -1: there is no socket */
    bool alone;
    const char *path;
    dev_t device; /* what the path names is still ours while these two agree */
    ino_t inode;
};

struct unix_socket_access {
    const char *mode;  /* of the file, octal; NULL: 0660 */
    const char *group; /* name or number; NULL: the process's */
    bool alone;        /* no file may stand beside it: for as long as the path changes hands, the
                        * directory itself is locked */
};

/* Returns what listens, non-blocking and closed on exec, or -1 (ERROR_BAD_REQUEST, also when
 * somebody else listens there).  `path` must live as long as the socket. */
int unix_socket_listen(const char *path, const struct unix_socket_access *access,
                       struct unix_socket *ret, struct error *err);

/* Removes the file, if it is still ours. */
void unix_socket_remove(struct unix_socket *socket);
