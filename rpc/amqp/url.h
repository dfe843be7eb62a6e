/*
 * The address of the broker as oslo.messaging writes it:
 *
 *     rabbit://user:password@host:port,user:password@host2:port2/vhost?ssl=1
 *
 * Port 5672 (5671 with TLS), user guest and virtual host / unless given; user, password and virtual
 * host are percent-decoded; kombu is another word for rabbit.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

struct amqp_host {
    const char *name, *user, *password;
    int port;
};

struct amqp_url {
    struct amqp_host *hosts;
    unsigned host_count;
    const char *vhost;
    bool ssl;
};

/* `ssl`: TLS unless the URL specifies otherwise.  -1: ERROR_BAD_REQUEST, without the password. */
int amqp_url_parse(struct arena *arena, const char *text, bool ssl, struct amqp_url *ret,
                   struct error *err);
