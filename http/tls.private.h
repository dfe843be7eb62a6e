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
struct revocations;

/* Texts of PEM files. */
struct http_tls {
    const char *cert, *key;          /* NULL: no TLS */
    const char *ca;                  /* NULL: clients need no certificate */
    const char *priorities;          /* of GnuTLS: versions and ciphers */
    struct revocations *revocations; /* of clients' certificates; NULL: none are looked at */
};

/* Files and priorities as in http_server_settings; ERROR_BAD_REQUEST names the file, or the word of
 * the priorities, and what is wrong with it. */
int http_tls_read(struct arena *arena, const struct http_server_settings *settings,
                  struct http_tls *ret, struct error *err);

/* The name (RFC 4514; of the heap) in the certificate that the client of this connection has shown,
 * "" when it has none, if it is of one of the authorities and may be used by a client: one that names
 * no purpose may.  NULL: it is not. */
char *http_tls_client(struct MHD_Connection *mhd);

/* Was a certificate that the client of this connection has shown taken back by now? */
bool http_tls_is_revoked(struct revocations *revocations, struct MHD_Connection *mhd);
