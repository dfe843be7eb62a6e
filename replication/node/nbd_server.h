/*
 * A storage daemon that lets other hosts in: over NBD with TLS, at a port of its own.
 */
#pragma once

#include "replication/engine/qmp.h"

struct nbd_server_settings {   /* what they point to outlives them */
    const char *program;       /* NULL: qemu-storage-daemon */
    const char *tls_directory; /* tls_directory.h; NULL: there is no TLS */
    const char *host;          /* address to listen at */
    unsigned first_port, last_port;
    int64_t timeout_ms; /* of one answer of a daemon; 0: 10 000 */
};

struct nbd_server_request {
    /* Only who shows a certificate with this CN, or with just this subject (of
     * http_exchange.client); both NULL: whoever shows one of the authority. */
    const char *client, *subject;
    unsigned port; /* no other; 0: any of the settings' that is free */
};

/* Without what was not given. */
struct nbd_server_settings nbd_server_with_defaults(const struct nbd_server_settings *settings);

/* Can it be looked for in a certificate? */
int nbd_server_check_client(const char *client, struct error *err);

/* The caller holds RUN/lock and no daemon runs in `run`.  It listens, and exports nothing yet; its
 * monitor is the caller's, and so is a daemon that has begun when this fails. */
int nbd_server_start(const struct nbd_server_settings *settings, const char *run,
                     const struct nbd_server_request *request, unsigned *ret_port, struct qmp **ret,
                     struct error *err);

/* One command; takes `arguments`, which may be NULL. */
int nbd_server_execute(const struct nbd_server_settings *settings, struct qmp *qmp,
                       const char *command, json_t *arguments, struct error *err);
