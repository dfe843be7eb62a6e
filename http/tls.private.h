/*
 * TLS of the HTTP server: certificate, key and the authorities of client certificates, read and
 * tried before anything listens.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <microhttpd.h>
#include <stdbool.h>

struct http_server_settings;

/* Texts of PEM files. */
struct http_tls {
    const char *cert, *key; /* NULL: no TLS */
    const char *ca;         /* NULL: clients need no certificate */
    const char *priorities; /* of GnuTLS: versions and ciphers */
};

/* Files and priorities as in http_server_settings; ERROR_BAD_REQUEST names the file, or the word of
 * the priorities, and what is wrong with it. */
int http_tls_read(struct arena *arena, const struct http_server_settings *settings,
                  struct http_tls *ret, struct error *err);

/* Has the client of this connection shown a certificate of one of the authorities, which may be
 * used by a client?  One that names no purpose may. */
bool http_tls_client_is_trusted(struct MHD_Connection *mhd);
