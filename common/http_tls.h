/*
 * TLS of the HTTP server: certificate, key and the authorities of client certificates, read and
 * tried before anything listens.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <microhttpd.h>
#include <stdbool.h>

/* Texts of PEM files. */
struct http_tls {
    const char *cert, *key; /* NULL: no TLS */
    const char *ca;         /* NULL: clients need no certificate */
};

/* Files as in http_server_settings; ERROR_BAD_REQUEST names the file and what is wrong with it. */
int http_tls_read(struct arena *arena, const char *cert_file, const char *key_file,
                  const char *ca_file, struct http_tls *ret, struct error *err);

/* Has the client of this connection shown a certificate of one of the authorities? */
bool http_tls_client_is_trusted(struct MHD_Connection *mhd);
