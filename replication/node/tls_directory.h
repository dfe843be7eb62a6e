/*
 * A directory with certificates under the names by which QEMU finds them, for exports of replicas
 * (server-…) and for targets that use exports of other nodes (client-…).
 */
#pragma once

#include "common/error.h"

struct tls_files { /* absolute paths */
    const char *cert, *key, *ca;
    const char *crl; /* of a server's clients; NULL: none */
};

/* Makes it, with links to the files: one that is renewed counts from the next start of a daemon
 * on. */
int tls_directory_make(const char *path, const struct tls_files *files, struct error *err);
/* ERROR_UNAVAILABLE: the lists of revoked certificates are not there, which QEMU takes for none. */
int tls_directory_check(const char *path, struct error *err);
