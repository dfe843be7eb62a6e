/*
 * TLS of the HTTP server: certificate, key and client authorities, read and verified before the
 * server listens.
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
    struct revocations *revocations; /* of clients' certificates; NULL: not checked */
};

/* Files and priorities as in http_server_settings; ERROR_BAD_REQUEST names the file, or the keyword
 * of the priorities, and the reason. */
int http_tls_read(struct arena *arena, const struct http_server_settings *settings,
                  struct http_tls *ret, struct error *err);

/* The name (RFC 4514; on the heap) in the client's certificate, "" when it has none, if it was
 * issued by one of the authorities and allows use by a client: one without a purpose does.  NULL:
 * it was not. */
char *http_tls_client(struct MHD_Connection *mhd);

/* Was the certificate of this connection's client revoked meanwhile? */
bool http_tls_is_revoked(struct revocations *revocations, struct MHD_Connection *mhd);
