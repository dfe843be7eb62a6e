/*
 * The options of the broker: oslo.messaging's names where the meaning is the same.  In a file of
 * their own, because programs built without the broker's library know them, too.
 */
#include "rpc/amqp/amqp.h"

#define SECTION "oslo_messaging_rabbit"

/* clang-format off */
const struct option amqp_options[] = {
    { .section = "DEFAULT", .key = "transport_url", .type = OPTION_TEXT, .secret = true,
      .help = "rabbit://USER:PASSWORD@HOST:PORT[,USER:PASSWORD@HOST2:PORT2]/VHOST[?ssl=1]: the broker between "
              "the API and the managers. Unset: messages stay in this process, whose API and manager are the only ones." },
    { .section = "DEFAULT", .key = "control_exchange", .type = OPTION_TEXT, .fallback = "openstack",
      .help = "Exchange of the broker that all messages go through." },
    { .section = SECTION, .key = "amqp_durable_queues", .type = OPTION_BOOL, .fallback = "true",
      .help = "The exchange and the queues survive a restart of the broker. All peers of a broker must agree." },
    { .section = SECTION, .key = "amqp_auto_delete", .type = OPTION_BOOL, .fallback = "false",
      .help = "The exchange and the queues are deleted with their last user. All peers of a broker must agree." },
    { .section = SECTION, .key = "rabbit_quorum_queue", .type = OPTION_BOOL, .fallback = "true",
      .help = "Queues are replicated quorum queues, durable always. All peers of a broker must agree." },
    { .section = SECTION, .key = "rabbit_transient_quorum_queue", .type = OPTION_BOOL, .fallback = "false",
      .help = "The queues of fanout messages are quorum queues too." },
    { .section = SECTION, .key = "rabbit_transient_queues_ttl", .type = OPTION_SECONDS, .fallback = "1800", .max = 2000000,
      .help = "Seconds after which an unused queue of fanout messages is deleted; 0: never." },
    { .section = SECTION, .key = "rabbit_qos_prefetch_count", .type = OPTION_INT, .fallback = "64", .min = 1, .max = 65535,
      .help = "Messages of each queue that a manager takes at once." },
    { .section = SECTION, .key = "heartbeat_timeout_threshold", .type = OPTION_SECONDS, .fallback = "60", .max = 3600,
      .help = "Seconds without a heartbeat after which the connection counts as broken; 0: never. The broker's "
              "smaller value wins." },
    { .section = SECTION, .key = "rabbit_retry_interval", .type = OPTION_SECONDS, .fallback = "1", .min = 1, .max = 3600,
      .help = "Seconds before the first attempt to connect again." },
    { .section = SECTION, .key = "rabbit_retry_backoff", .type = OPTION_SECONDS, .fallback = "2", .max = 3600,
      .help = "Seconds by which the pause grows with each attempt." },
    { .section = SECTION, .key = "rabbit_interval_max", .type = OPTION_SECONDS, .fallback = "10", .min = 1, .max = 3600,
      .help = "The longest pause in seconds." },
    { .section = SECTION, .key = "ssl", .type = OPTION_BOOL, .fallback = "false",
      .help = "Connect with TLS; ssl=1 in transport_url is the same." },
    { .section = SECTION, .key = "ssl_ca_file", .type = OPTION_TEXT,
      .help = "Authorities that may have signed the broker's certificate (PEM). Unset: the system's." },
    { .section = SECTION, .key = "ssl_cert_file", .type = OPTION_TEXT,
      .help = "Certificate to show to the broker (PEM)." },
    { .section = SECTION, .key = "ssl_key_file", .type = OPTION_TEXT,
      .help = "Private key of ssl_cert_file (PEM)." },
    { .section = SECTION, .key = "ssl_verify", .type = OPTION_BOOL, .fallback = "true",
      .help = "Refuse a broker whose certificate is not signed by the authorities or names another host." },
    OPTIONS_END
};
/* clang-format on */
