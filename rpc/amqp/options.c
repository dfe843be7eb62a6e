/*
 * The options of the broker: oslo.messaging's names where the meaning is the same.  In a file of
 * their own, because programs built without the broker's library know them, too.
 */
#include "rpc/amqp/amqp.h"
#include "rpc/amqp/settings.h"

#define SECTION        "oslo_messaging_rabbit"
#define FILLS(member_) OPTION_FILLS(struct receiver_settings, member_)

/* clang-format off */
const struct option amqp_options[] = {
    { .section = "DEFAULT", .key = "transport_url", .type = OPTION_TEXT, .secret = true,
      .help = "rabbit://USER:PASSWORD@HOST:PORT[,USER:PASSWORD@HOST2:PORT2]/VHOST[?ssl=1]: the broker between "
              "the API and the managers. Unset: messages stay in this process, whose API and manager are the only ones." },
    { .section = "DEFAULT", .key = "control_exchange", .type = OPTION_TEXT, FILLS(source.exchange), .fallback = "openstack",
      .help = "Exchange of the broker that all messages go through." },
    { .section = SECTION, .key = "amqp_durable_queues", .type = OPTION_BOOL, FILLS(source.durable), .fallback = "true",
      .help = "The exchange and the queues survive a restart of the broker. All peers of a broker must agree." },
    { .section = SECTION, .key = "amqp_auto_delete", .type = OPTION_BOOL, FILLS(source.auto_delete), .fallback = "false",
      .help = "The exchange and the queues are deleted with their last user. All peers of a broker must agree." },
    { .section = SECTION, .key = "rabbit_quorum_queue", .type = OPTION_BOOL, FILLS(source.quorum), .fallback = "true",
      .help = "Queues are replicated quorum queues, durable always. All peers of a broker must agree." },
    { .section = SECTION, .key = "rabbit_transient_quorum_queue", .type = OPTION_BOOL, FILLS(source.transient_quorum), .fallback = "false",
      .help = "The queues of fanout messages are quorum queues too." },
    { .section = SECTION, .key = "rabbit_transient_queues_ttl", .type = OPTION_SECONDS, FILLS(source.transient_ttl_s),
      .fallback = "1800", .max = 2000000, .help = "Seconds after which an unused queue of fanout messages is deleted; 0: never." },
    { .section = SECTION, .key = "rabbit_qos_prefetch_count", .type = OPTION_INT, FILLS(source.prefetch), .fallback = "64", .min = 1, .max = 65535,
      .help = "Messages of each queue that a manager takes at once." },
    { .section = SECTION, .key = "heartbeat_timeout_threshold", .type = OPTION_SECONDS, FILLS(link.heartbeat_s), .fallback = "60", .max = 3600,
      .help = "Seconds without a heartbeat after which the connection counts as broken; 0: never. The broker's "
              "smaller value wins." },
    { .section = SECTION, .key = "rabbit_retry_interval", .type = OPTION_SECONDS, FILLS(link.retry_ms), .unit = 1000, .fallback = "1",
      .min = 1, .max = 3600, .help = "Seconds before the first attempt to connect again." },
    { .section = SECTION, .key = "rabbit_retry_backoff", .type = OPTION_SECONDS, FILLS(link.retry_more_ms), .unit = 1000,
      .fallback = "2", .max = 3600, .help = "Seconds by which the pause grows with each attempt." },
    { .section = SECTION, .key = "rabbit_interval_max", .type = OPTION_SECONDS, FILLS(link.retry_most_ms), .unit = 1000, .fallback = "10",
      .min = 1, .max = 3600, .help = "The longest pause in seconds." },
    { .section = SECTION, .key = "ssl", .type = OPTION_BOOL, .fallback = "false",
      .help = "Connect with TLS; ssl=1 in transport_url is the same." },
    { .section = SECTION, .key = "ssl_ca_file", .type = OPTION_TEXT, FILLS(link.ca_file),
      .help = "Authorities that may have signed the broker's certificate (PEM). Unset: the system's." },
    { .section = SECTION, .key = "ssl_cert_file", .type = OPTION_TEXT, FILLS(link.cert_file),
      .help = "Certificate to show to the broker (PEM)." },
    { .section = SECTION, .key = "ssl_key_file", .type = OPTION_TEXT, FILLS(link.key_file),
      .help = "Private key of ssl_cert_file (PEM)." },
    { .section = SECTION, .key = "ssl_verify", .type = OPTION_BOOL, FILLS(link.verify), .fallback = "true",
      .help = "Refuse a broker whose certificate is not signed by the authorities or names another host." },
    OPTIONS_END
};
/* clang-format on */
