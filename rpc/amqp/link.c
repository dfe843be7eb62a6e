#include "rpc/amqp/link.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/thread.h"
#include "rpc/amqp/failure.h"
#include "rpc/amqp/incoming.h"

#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

#define HEADER_REASON "x-scoria-reason"

enum {
    CONNECT_MS = 5000,
    HANDSHAKE_MS = 10000,
    ANSWER_MS = 15000,
    FRAME_MOST = 131072,
    IDLE_MOST_MS = 1000,
    STEADY_MS = 10000 /* lifetime of a connection that resets the pause */
};

struct link {
    const struct link_settings *settings;
    amqp_connection_state_t connection; /* NULL: not open */
    struct incoming incoming;
    unsigned failures; /* consecutive */
    int64_t opened_us;
    char where[300];

    pthread_mutex_t
        lock; /* guards the members below: link_interrupt() must not meet a reused descriptor */
    int fd;
    bool interrupted;
};

/* ---- opening and closing ---- */

struct link *link_new(const struct link_settings *settings) {
    struct link *link = heap_new(sizeof(*link));

    link->settings = settings;
    link->fd = -1;
    pthread_mutex_init(&link->lock, NULL);
    return link;
}

void link_free(struct link *link) {
    pthread_mutex_destroy(&link->lock);
    free(link);
}

bool link_is_open(const struct link *link) {
    return link->connection != NULL;
}

int link_fd(const struct link *link) {
    return link->connection ? link->fd : -1;
}

amqp_connection_state_t link_connection(const struct link *link) {
    return link->connection;
}

const char *link_where(const struct link *link) {
    return link->where;
}

static void set_fd(struct link *link, int fd) {
    scoped_lock(&link->lock);
    link->fd = fd;
}

static bool is_interrupted(struct link *link) {
    scoped_lock(&link->lock);
    return link->interrupted;
}

void link_interrupt(struct link *link) {
    scoped_lock(&link->lock);
    link->interrupted = true;
    if (link->fd >= 0)
        shutdown(link->fd, SHUT_RDWR);
}

void link_drop(struct link *link) {
    set_fd(link, -1);
    if (link->connection)
        amqp_destroy_connection(link->connection);
    link->connection = NULL;
    incoming_end(&link->incoming);
}

void link_close(struct link *link) {
    const struct timeval soon = { .tv_sec = 2 };

    if (link->connection) {
        amqp_set_rpc_timeout(link->connection, &soon);
        amqp_connection_close(link->connection, AMQP_REPLY_SUCCESS);
    }
    link_drop(link);
}

static int open_tls(struct link *link, amqp_socket_t **ret, struct error *err) {
    const struct link_settings *settings = link->settings;
    amqp_socket_t *socket = amqp_ssl_socket_new(link->connection);
    const char *ca_file = settings->ca_file ? settings->ca_file : SYSTEM_CA;
    int status;

    if (!socket)
        return error_set(err, ERROR_UNAVAILABLE, "%s: cannot set up TLS", link->where);
    amqp_ssl_socket_set_verify_peer(socket, settings->verify);
    amqp_ssl_socket_set_verify_hostname(socket, settings->verify);
    if (amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: cannot set up TLS 1.2", link->where);
    if (settings->verify && (status = amqp_ssl_socket_set_cacert(socket, ca_file)) != 0)
        return failure_library(link->where, status, "ssl_ca_file cannot be used", err);
    if (settings->cert_file &&
        (status = amqp_ssl_socket_set_key(socket, settings->cert_file, settings->key_file)) != 0)
        return failure_library(link->where, status, "ssl_cert_file and ssl_key_file cannot be used",
                               err);
    *ret = socket;
    return 0;
}

static int open_socket(struct link *link, const struct amqp_host *host, struct error *err) {
    const struct timeval connect = { .tv_sec = CONNECT_MS / 1000 };
    const int heartbeat_s = link->settings->heartbeat_s;
    amqp_socket_t *socket = NULL;
    unsigned silence_ms;
    int status;

    if (link->settings->url->ssl) {
        if (open_tls(link, &socket, err) < 0)
            return -1;
    } else {
        socket = amqp_tcp_socket_new(link->connection);
        if (!socket)
            return error_set(err, ERROR_UNAVAILABLE, "%s: no memory", link->where);
    }
    status = amqp_socket_open_noblock(socket, host->name, host->port, &connect);
    if (status != AMQP_STATUS_OK)
        return failure_library(link->where, status, "cannot connect", err);
    set_fd(link, amqp_get_sockfd(link->connection));
    /* A peer that is unresponsive, or reads nothing, for two heartbeats is lost. */
    silence_ms = (unsigned)(heartbeat_s ? heartbeat_s : 60) * 2000;
    setsockopt(link->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    return 0;
}

static int log_in(struct link *link, const struct amqp_host *host, struct error *err) {
    const struct link_settings *settings = link->settings;
    char uuid[UUID_SIZE], name[128];
    amqp_table_entry_t entry = { .key = amqp_cstring_bytes("connection_name") };
    amqp_table_t properties = { .num_entries = 1, .entries = &entry };

    snprintf(name, sizeof name, "%s:%d:%s", settings->program, (int)getpid(),
             clock_uuid(settings->clock, uuid));
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = amqp_cstring_bytes(name);
    return failure_reply(link->where,
                         amqp_login_with_properties(link->connection, settings->url->vhost, 0,
                                                    FRAME_MOST, settings->heartbeat_s, &properties,
                                                    AMQP_SASL_METHOD_PLAIN, host->user,
                                                    host->password),
                         "login", err) == 0
               ? 0
               : -1;
}

int link_open_channel(struct link *link, unsigned channel, struct error *err) {
    amqp_channel_open(link->connection, (amqp_channel_t)channel);
    return failure_reply(link->where, amqp_get_rpc_reply(link->connection), "opening a channel",
                         err) == 0
               ? 0
               : -1;
}

static int open_host(struct link *link, const struct amqp_host *host, struct error *err) {
    const struct timeval handshake = { .tv_sec = HANDSHAKE_MS / 1000 };
    const struct timeval answer = { .tv_sec = ANSWER_MS / 1000 };

    snprintf(link->where, sizeof link->where, "broker %s:%d, virtual host %s", host->name,
             host->port, link->settings->url->vhost);
    link->connection = amqp_new_connection();
    if (!link->connection)
        abort();
    link->incoming.connection = link->connection;
    link->incoming.where = link->where;
    amqp_set_handshake_timeout(link->connection, &handshake);
    amqp_set_rpc_timeout(link->connection, &answer);
    if (open_socket(link, host, err) < 0 || log_in(link, host, err) < 0 ||
        link_open_channel(link, LINK_WORK, err) < 0 ||
        link_open_channel(link, LINK_DECLARE, err) < 0) {
        link_drop(link);
        return -1;
    }
    return 0;
}

int link_open(struct link *link, struct error *err) {
    const struct amqp_url *url = link->settings->url;
    unsigned char first = 0;

    if (url->host_count > 1)
        link->settings->clock->random(link->settings->clock->arg, &first, 1);
    error_set(err, ERROR_UNAVAILABLE, "it is ending");
    for (unsigned i = 0; i < url->host_count && !is_interrupted(link); i++)
        if (open_host(link, &url->hosts[(first + i) % url->host_count], err) == 0) {
            link->opened_us = clock_monotonic_us();
            return 0;
        }
    return -1;
}

struct backoff_limits link_pauses(const struct link_settings *settings) {
    bool grows = settings->retry_more_ms > 0;

    return (struct backoff_limits){
        .first_us = settings->retry_ms * 1000,
        .most_us = (grows ? settings->retry_most_ms : settings->retry_ms) * 1000,
        .step_us = settings->retry_more_ms * 1000,
        .jitter_percent = BACKOFF_JITTER,
        .clock = settings->clock,
    };
}

int64_t link_pause_ms(struct link *link) {
    const struct backoff_limits pauses = link_pauses(link->settings);

    if (link->connection && clock_monotonic_us() - link->opened_us > STEADY_MS * 1000)
        link->failures = 0;
    return backoff_pause_us(&pauses, ++link->failures) / 1000;
}

void link_works(struct link *link) {
    link->failures = 0;
}

/* ---- receiving ---- */

int link_next(struct link *link, struct link_event *ret, struct error *err) {
    const struct timeval now = { .tv_sec = 0 };
    struct link_event event = { .kind = LINK_NOTHING };

    while (event.kind == LINK_NOTHING) {
        amqp_frame_t frame;
        int status = amqp_simple_wait_frame_noblock(link->connection, &frame, &now);
        int taken;

        if (status == AMQP_STATUS_TIMEOUT)
            break;
        if (status != AMQP_STATUS_OK)
            return failure_library(link->where, status, "connection lost", err);
        taken = incoming_take(&link->incoming, &frame, &event, err);
        amqp_maybe_release_buffers_on_channel(link->connection, frame.channel);
        if (taken < 0)
            return -1;
    }
    *ret = event;
    return 0;
}

int link_idle_ms(const struct link *link) {
    int heartbeat_ms = amqp_get_heartbeat(link->connection) * 1000;

    return heartbeat_ms > 0 && heartbeat_ms / 4 < IDLE_MOST_MS ? heartbeat_ms / 4 : IDLE_MOST_MS;
}

/* ---- sending ---- */

bool link_is_blocked(const struct link *link) {
    return link->incoming.blocked;
}

bool link_can_send(const struct link *link) {
    struct pollfd socket = { .fd = link->fd, .events = POLLOUT };

    return !link->incoming.blocked && poll(&socket, 1, 0) == 1 && (socket.revents & POLLOUT);
}

static int check_status(const struct link *link, int status, const char *what, struct error *err) {
    return status == AMQP_STATUS_OK ? 0 : failure_library(link->where, status, what, err);
}

int link_publish(struct link *link, const struct link_publish *message, struct error *err) {
    amqp_table_entry_t entries[2];
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG |
                  AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                  AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG,
        .content_type = amqp_cstring_bytes(message->content_type),
        .content_encoding = amqp_cstring_bytes("utf-8"),
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = amqp_cstring_bytes(message->id),
    };
    amqp_bytes_t body = { .len = message->size, .bytes = (void *)message->body };
    int count = 0;

    if (message->attempts > 0) {
        entries[count].key = amqp_cstring_bytes(HEADER_ATTEMPTS);
        entries[count].value.kind = AMQP_FIELD_KIND_I32;
        entries[count++].value.value.i32 = message->attempts;
    }
    if (message->reason) {
        entries[count].key = amqp_cstring_bytes(HEADER_REASON);
        entries[count].value.kind = AMQP_FIELD_KIND_UTF8;
        entries[count++].value.value.bytes = amqp_cstring_bytes(message->reason);
    }
    properties.headers = (amqp_table_t){ .num_entries = count, .entries = entries };
    return check_status(
        link,
        amqp_basic_publish(link->connection, LINK_WORK, amqp_cstring_bytes(message->exchange),
                           amqp_cstring_bytes(message->routing_key), 1, 0, &properties, body),
        "sending", err);
}

int link_ack(struct link *link, unsigned channel, uint64_t tag, struct error *err) {
    return check_status(link, amqp_basic_ack(link->connection, (amqp_channel_t)channel, tag, 0),
                        "sending", err);
}

int link_confirms(struct link *link, struct error *err) {
    amqp_confirm_select(link->connection, LINK_WORK);
    return failure_reply(link->where, amqp_get_rpc_reply(link->connection), "confirms", err) == 0
               ? 0
               : -1;
}

int link_cancel(struct link *link, unsigned channel, struct error *err) {
    amqp_basic_cancel_t cancel = { .consumer_tag = amqp_cstring_bytes(LINK_CONSUMER), .nowait = 1 };

    return check_status(link,
                        amqp_send_method(link->connection, (amqp_channel_t)channel,
                                         AMQP_BASIC_CANCEL_METHOD, &cancel),
                        "sending", err);
}
