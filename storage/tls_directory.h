/*
 * A directory with certificates under the names by which QEMU finds them, for exports of replicas
 * (server-…) and for targets that use exports of other nodes (client-…).
 */
#pragma once

#include "common/error.h"

/* Makes it, with links to the files: one that is renewed counts from the next start of a daemon on.
 * All paths are absolute. */
int tls_directory_make(const char *path, const char *cert_file, const char *key_file,
                       const char *ca_file, struct error *err);
