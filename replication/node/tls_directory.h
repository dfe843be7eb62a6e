/*
 * A directory with certificates under the names that QEMU expects, for exports of replicas
 * (server-…) and for targets that use exports of other nodes (client-…).
 */
#pragma once

#include "common/error.h"

struct tls_files { /* absolute paths */
    const char *cert, *key, *ca;
    const char *crl; /* of a server's clients; NULL: none */
};

/* Creates it with links to the files; a renewed file applies from the next start of a daemon. */
int tls_directory_make(const char *path, const struct tls_files *files, struct error *err);
/* ERROR_UNAVAILABLE: the configured revocation lists are missing, which QEMU would take for empty
 * ones. */
int tls_directory_check(const char *path, struct error *err);
