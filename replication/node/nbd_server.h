/*
 * A storage daemon that exports to other hosts over NBD with TLS, at a port of its own.
 */
#pragma once

#include "replication/engine/qmp.h"

struct nbd_server_settings {   /* referenced objects outlive them */
    const char *program;       /* NULL: qemu-storage-daemon */
    const char *tls_directory; /* tls_directory.h; NULL: no TLS */
    const char *host;          /* address to listen at */
    unsigned first_port, last_port;
    int64_t timeout_ms; /* of one answer of a daemon; 0: 10 000 */
};

struct nbd_server_request {
    /* Required CN of the client's certificate, or its required subject (of http_exchange.client);
     * both NULL: any certificate of the authority. */
    const char *client, *subject;
    unsigned port; /* the required port; 0: any free one of the settings */
};

/* The settings with defaults for missing ones. */
struct nbd_server_settings nbd_server_with_defaults(const struct nbd_server_settings *settings);

/* Checks that the name can be matched in a certificate. */
int nbd_server_check_client(const char *client, struct error *err);

/* The caller holds RUN/lock, and no daemon runs in `run`.  The server listens without exports; its
 * monitor is the caller's.  After a failure a daemon may run, which is the caller's, too. */
int nbd_server_start(const struct nbd_server_settings *settings, const char *run,
                     const struct nbd_server_request *request, unsigned *ret_port, struct qmp **ret,
                     struct error *err);

/* Runs one command of the monitor; takes `arguments`, which may be NULL. */
int nbd_server_execute(const struct nbd_server_settings *settings, struct qmp *qmp,
                       const char *command, json_t *arguments, struct error *err);
