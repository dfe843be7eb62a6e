/*
 * Settings of connections and queues, which the options of the broker fill; without the broker's
 * library, as the options are known in each build.
 */
#pragma once

#include "common/clock.h"
#include "rpc/amqp/url.h"

struct link_settings {
    const struct amqp_url *url;
    const struct clock *clock;
    const char *program;                        /* of the connection's name in the broker */
    const char *ca_file, *cert_file, *key_file; /* NULL: the system's; none */
    bool verify;
    int heartbeat_s;                                /* 0: none */
    int64_t retry_ms, retry_more_ms, retry_most_ms; /* pauses: first, growth, longest */
};

struct source_settings {
    const char *exchange; /* of topics */
    const char *server;
    bool durable, auto_delete, quorum, transient_quorum;
    int transient_ttl_s;
    unsigned prefetch; /* of each queue */
};

struct receiver_settings {
    struct link_settings link;
    struct source_settings source;
    unsigned workers; /* of each topic */
};
