#include "rpc/amqp/link.h"

#include "common/cleanup.h"

#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

#define HEADER_ATTEMPTS "x-scoria-attempts"
#define HEADER_REASON   "x-scoria-reason"

enum {
    CONNECT_MS = 5000,
    HANDSHAKE_MS = 10000,
    ANSWER_MS = 15000,
    FRAME_MOST = 131072,
    IDLE_MOST_MS = 1000,
    STEADY_MS = 10000 /* a connection that lived that long was a good one */
};

/* A message on its way in: method frame, header frame, body frames. */
struct content {
    struct link_event event;
    uint64_t expected;
    bool has_header;
};

struct link {
    const struct link_settings *settings;
    amqp_connection_state_t connection; /* NULL: not open */
    struct content *contents[LINK_CHANNELS];
    bool blocked; /* the broker takes no messages at present */
    int64_t pause_ms, opened_us;
    char where[300];

    pthread_mutex_t
        lock; /* guards the rest: link_interrupt() must not meet another file's number */
    int fd;
    bool interrupted;
};

/* ---- errors ---- */

static const char *bytes_text(amqp_bytes_t bytes, char *text, size_t room) {
    size_t length = bytes.len < room ? bytes.len : room - 1;

    if (length > 0)
        memcpy(text, bytes.bytes, length);
    text[length] = '\0';
    return text;
}

static int library_error(const struct link *link, int status, const char *what, struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s: %s", link->where, what,
                     amqp_error_string2(status));
}

/* What the broker says when it closes a channel or the connection. */
static int broker_error(const struct link *link, const amqp_method_t *method, const char *what,
                        struct error *err) {
    char text[256];

    if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *close = method->decoded;

        return error_set(err, ERROR_CONFLICT, "%s: %s: %d %s", link->where, what, close->reply_code,
                         bytes_text(close->reply_text, text, sizeof text));
    }
    if (method->id == AMQP_CONNECTION_CLOSE_METHOD) {
        const amqp_connection_close_t *close = method->decoded;

        return error_set(err, ERROR_UNAVAILABLE, "%s: %s: %d %s", link->where, what,
                         close->reply_code, bytes_text(close->reply_text, text, sizeof text));
    }
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s: unexpected answer %s", link->where, what,
                     amqp_method_name(method->id));
}

/* 0 done, 1 the channel was closed, -1 the connection is of no use any more. */
static int check_reply(const struct link *link, amqp_rpc_reply_t reply, const char *what,
                       struct error *err) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
        return 0;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION)
        return library_error(link, reply.library_error, what, err);
    broker_error(link, &reply.reply, what, err);
    return reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD ? 1 : -1;
}

/* ---- opening and closing ---- */

struct link *link_new(const struct link_settings *settings) {
    struct link *link = calloc(1, sizeof *link);

    if (!link)
        abort();
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

const char *link_where(const struct link *link) {
    return link->where;
}

static void set_fd(struct link *link, int fd) {
    pthread_mutex_lock(&link->lock);
    link->fd = fd;
    pthread_mutex_unlock(&link->lock);
}

static bool is_interrupted(struct link *link) {
    bool interrupted;

    pthread_mutex_lock(&link->lock);
    interrupted = link->interrupted;
    pthread_mutex_unlock(&link->lock);
    return interrupted;
}

void link_interrupt(struct link *link) {
    pthread_mutex_lock(&link->lock);
    link->interrupted = true;
    if (link->fd >= 0)
        shutdown(link->fd, SHUT_RDWR);
    pthread_mutex_unlock(&link->lock);
}

static void destroy(struct link *link) {
    set_fd(link, -1);
    if (link->connection)
        amqp_destroy_connection(link->connection);
    link->connection = NULL;
    for (unsigned i = 0; i < LINK_CHANNELS; i++) {
        if (link->contents[i])
            free(link->contents[i]->event.body);
        free(link->contents[i]);
        link->contents[i] = NULL;
    }
}

void link_close(struct link *link) {
    const struct timeval soon = { .tv_sec = 2 };

    if (link->connection) {
        amqp_set_rpc_timeout(link->connection, &soon);
        amqp_connection_close(link->connection, AMQP_REPLY_SUCCESS);
    }
    destroy(link);
}

static int open_tls(struct link *link, amqp_socket_t **ret, struct error *err) {
    const struct link_settings *settings = link->settings;
    amqp_socket_t *socket = amqp_ssl_socket_new(link->connection);
    const char *ca_file = settings->ca_file ? settings->ca_file : SYSTEM_CA;
    int status;

    if (!socket)
        return error_set(err, ERROR_UNAVAILABLE, "%s: TLS cannot be had", link->where);
    amqp_ssl_socket_set_verify_peer(socket, settings->verify);
    amqp_ssl_socket_set_verify_hostname(socket, settings->verify);
    if (amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: TLS 1.2 cannot be had", link->where);
    if (settings->verify && (status = amqp_ssl_socket_set_cacert(socket, ca_file)) != 0)
        return library_error(link, status, "ssl_ca_file cannot be used", err);
    if (settings->cert_file &&
        (status = amqp_ssl_socket_set_key(socket, settings->cert_file, settings->key_file)) != 0)
        return library_error(link, status, "ssl_cert_file and ssl_key_file cannot be used", err);
    *ret = socket;
    return 0;
}

/* A peer that is silent, or takes no bytes, for two heartbeats is gone. */
static void limit_silence(const struct link *link) {
    int heartbeat_s = link->settings->heartbeat_s ? link->settings->heartbeat_s : 60;
    unsigned limit_ms = (unsigned)heartbeat_s * 2000;

    setsockopt(link->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
}

static int open_socket(struct link *link, const struct amqp_host *host, struct error *err) {
    const struct timeval connect = { .tv_sec = CONNECT_MS / 1000 };
    amqp_socket_t *socket = NULL;
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
        return library_error(link, status, "cannot connect", err);
    set_fd(link, amqp_get_sockfd(link->connection));
    limit_silence(link);
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
    return check_reply(link,
                       amqp_login_with_properties(link->connection, settings->url->vhost, 0,
                                                  FRAME_MOST, settings->heartbeat_s, &properties,
                                                  AMQP_SASL_METHOD_PLAIN, host->user,
                                                  host->password),
                       "login", err) == 0
               ? 0
               : -1;
}

static int open_channel(struct link *link, amqp_channel_t channel, struct error *err) {
    amqp_channel_open(link->connection, channel);
    return check_reply(link, amqp_get_rpc_reply(link->connection), "opening a channel", err) == 0
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
    link->blocked = false;
    amqp_set_handshake_timeout(link->connection, &handshake);
    amqp_set_rpc_timeout(link->connection, &answer);
    if (open_socket(link, host, err) < 0 || log_in(link, host, err) < 0 ||
        open_channel(link, LINK_WORK, err) < 0 || open_channel(link, LINK_DECLARE, err) < 0) {
        destroy(link);
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

int64_t link_pause_ms(struct link *link) {
    const struct link_settings *settings = link->settings;
    int64_t longer = link->pause_ms + settings->retry_more_ms;

    if (link->connection && clock_monotonic_us() - link->opened_us > STEADY_MS * 1000)
        link->pause_ms = 0;
    if (link->pause_ms == 0)
        link->pause_ms = settings->retry_ms;
    else
        link->pause_ms = longer < settings->retry_most_ms ? longer : settings->retry_most_ms;
    return link->pause_ms;
}

void link_works(struct link *link) {
    link->pause_ms = 0;
}

/* ---- what comes in ---- */

static struct content *content_begin(struct link *link, unsigned channel,
                                     enum link_event_kind kind) {
    struct content **place = &link->contents[channel];

    if (!*place && !(*place = calloc(1, sizeof **place)))
        abort();
    free((*place)->event.body);
    **place = (struct content){ .event = { .kind = kind, .channel = channel } };
    return *place;
}

static void begin_return(struct content *content, const amqp_basic_return_t *method) {
    char text[96];

    snprintf(content->event.text, sizeof content->event.text, "%d %s", method->reply_code,
             bytes_text(method->reply_text, text, sizeof text));
}

static int attempts_of(const amqp_table_t *headers) {
    for (int i = 0; i < headers->num_entries; i++) {
        const amqp_table_entry_t *entry = &headers->entries[i];

        if (entry->value.kind == AMQP_FIELD_KIND_I32 && entry->value.value.i32 > 0 &&
            entry->key.len == strlen(HEADER_ATTEMPTS) &&
            memcmp(entry->key.bytes, HEADER_ATTEMPTS, entry->key.len) == 0)
            return entry->value.value.i32;
    }
    return 0;
}

static void take_header(struct content *content, const amqp_frame_t *frame) {
    const amqp_basic_properties_t *properties = frame->payload.properties.decoded;
    struct link_event *event = &content->event;

    content->expected = frame->payload.properties.body_size;
    content->has_header = true;
    if (properties->_flags & AMQP_BASIC_CONTENT_TYPE_FLAG)
        bytes_text(properties->content_type, event->content_type, sizeof event->content_type);
    if (properties->_flags & AMQP_BASIC_MESSAGE_ID_FLAG)
        bytes_text(properties->message_id, event->id, sizeof event->id);
    if (properties->_flags & AMQP_BASIC_HEADERS_FLAG)
        event->attempts = attempts_of(&properties->headers);
    if (event->kind == LINK_DELIVERED && content->expected <= LINK_BODY_MOST &&
        !(event->body = malloc((size_t)content->expected + 1)))
        abort();
}

static int take_body(const struct link *link, struct content *content, const amqp_bytes_t *fragment,
                     struct error *err) {
    struct link_event *event = &content->event;

    if (!content->has_header || fragment->len > content->expected - event->size)
        return error_set(err, ERROR_UNAVAILABLE, "%s: a message is longer than it said",
                         link->where);
    if (event->body)
        memcpy(event->body + event->size, fragment->bytes, fragment->len);
    event->size += fragment->len;
    return 0;
}

/* The broker has closed a channel: of a source, it is told to the owner. */
static int take_close(struct link *link, unsigned channel, const amqp_method_t *method,
                      struct link_event *event, struct error *err) {
    const amqp_channel_close_t *close = method->decoded;
    amqp_channel_close_ok_t answer = { 0 };
    char text[200];

    if (channel < LINK_SOURCES)
        return broker_error(link, method, "channel closed", err);
    *event = (struct link_event){ .kind = LINK_REFUSED, .channel = channel };
    snprintf(event->text, sizeof event->text, "%d %s", close->reply_code,
             bytes_text(close->reply_text, text, sizeof text));
    if (amqp_send_method(link->connection, (amqp_channel_t)channel, AMQP_CHANNEL_CLOSE_OK_METHOD,
                         &answer) != AMQP_STATUS_OK)
        return error_set(err, ERROR_UNAVAILABLE, "%s: connection lost", link->where);
    return 0;
}

/* The whole connection: 0 of no interest to the owner, -1 the end. */
static int take_control(struct link *link, const amqp_method_t *method, struct error *err) {
    switch (method->id) {
    case AMQP_CONNECTION_BLOCKED_METHOD:
        link->blocked = true;
        return 0;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        link->blocked = false;
        return 0;
    case AMQP_CONNECTION_CLOSE_METHOD: {
        amqp_connection_close_ok_t answer = { 0 };

        amqp_send_method(link->connection, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &answer);
        return broker_error(link, method, "connection closed", err);
    }
    default:
        return 0;
    }
}

static int take_method(struct link *link, unsigned channel, const amqp_method_t *method,
                       struct link_event *event, struct error *err) {
    switch (method->id) {
    case AMQP_BASIC_DELIVER_METHOD: {
        const amqp_basic_deliver_t *deliver = method->decoded;

        content_begin(link, channel, LINK_DELIVERED)->event.tag = deliver->delivery_tag;
        return 0;
    }
    case AMQP_BASIC_RETURN_METHOD:
        begin_return(content_begin(link, channel, LINK_RETURNED), method->decoded);
        return 0;
    case AMQP_BASIC_ACK_METHOD: {
        const amqp_basic_ack_t *ack = method->decoded;

        *event = (struct link_event){ .kind = LINK_ACK,
                                      .tag = ack->delivery_tag,
                                      .multiple = ack->multiple };
        return 0;
    }
    case AMQP_BASIC_NACK_METHOD: {
        const amqp_basic_nack_t *nack = method->decoded;

        *event = (struct link_event){ .kind = LINK_NACK,
                                      .tag = nack->delivery_tag,
                                      .multiple = nack->multiple };
        return 0;
    }
    case AMQP_BASIC_CONSUME_OK_METHOD:
        *event = (struct link_event){ .kind = LINK_TAKEN, .channel = channel };
        return 0;
    case AMQP_BASIC_CANCEL_METHOD:
        *event = (struct link_event){ .kind = LINK_CANCELLED, .channel = channel };
        return 0;
    case AMQP_CHANNEL_CLOSE_METHOD:
        return take_close(link, channel, method, event, err);
    default:
        return take_control(link, method, err);
    }
}

/* Hands a message over once all of it is there. */
static void content_end(struct content *content, struct link_event *event) {
    if (!content->has_header || content->event.size < content->expected)
        return;
    *event = content->event;
    *content = (struct content){ .expected = 0 };
}

static int take_frame(struct link *link, const amqp_frame_t *frame, struct link_event *event,
                      struct error *err) {
    struct content *content;

    if (frame->channel >= LINK_CHANNELS)
        return error_set(err, ERROR_UNAVAILABLE, "%s: a channel that is not ours", link->where);
    if (frame->frame_type == AMQP_FRAME_METHOD)
        return take_method(link, frame->channel, &frame->payload.method, event, err);
    if (frame->frame_type != AMQP_FRAME_HEADER && frame->frame_type != AMQP_FRAME_BODY)
        return 0;
    content = link->contents[frame->channel];
    if (!content || content->event.kind == LINK_NOTHING)
        return error_set(err, ERROR_UNAVAILABLE, "%s: content without a message", link->where);
    if (frame->frame_type == AMQP_FRAME_HEADER)
        take_header(content, frame);
    else if (take_body(link, content, &frame->payload.body_fragment, err) < 0)
        return -1;
    content_end(content, event);
    return 0;
}

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
            return library_error(link, status, "connection lost", err);
        taken = take_frame(link, &frame, &event, err);
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

/* ---- what goes out ---- */

bool link_is_blocked(const struct link *link) {
    return link->blocked;
}

bool link_can_send(const struct link *link) {
    struct pollfd socket = { .fd = link->fd, .events = POLLOUT };

    return !link->blocked && poll(&socket, 1, 0) == 1 && (socket.revents & POLLOUT);
}

static int check_status(const struct link *link, int status, const char *what, struct error *err) {
    return status == AMQP_STATUS_OK ? 0 : library_error(link, status, what, err);
}

static void add_headers(const struct link_publish *message, amqp_basic_properties_t *properties,
                        amqp_table_entry_t entries[2]) {
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
    properties->headers = (amqp_table_t){ .num_entries = count, .entries = entries };
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

    add_headers(message, &properties, entries);
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
    return check_reply(link, amqp_get_rpc_reply(link->connection), "confirms", err) == 0 ? 0 : -1;
}

/* ---- declarations ---- */

/* A refusal closes the channel: it is opened again for the next one. */
static int declared(struct link *link, const char *what, const char *name, struct error *err) {
    amqp_channel_close_ok_t answer = { 0 };
    struct error ignored;
    char text[320];
    int result;

    snprintf(text, sizeof text, "%s %s", what, name);
    result = check_reply(link, amqp_get_rpc_reply(link->connection), text, err);
    if (result == 1 && (amqp_send_method(link->connection, LINK_DECLARE,
                                         AMQP_CHANNEL_CLOSE_OK_METHOD, &answer) != AMQP_STATUS_OK ||
                        open_channel(link, LINK_DECLARE, &ignored) < 0))
        return -1;
    amqp_maybe_release_buffers_on_channel(link->connection, LINK_DECLARE);
    return result;
}

int link_exchange(struct link *link, const char *name, const char *type, bool durable,
                  bool auto_delete, struct error *err) {
    amqp_exchange_declare(link->connection, LINK_DECLARE, amqp_cstring_bytes(name),
                          amqp_cstring_bytes(type), 0, durable, auto_delete, 0, amqp_empty_table);
    return declared(link, "exchange", name, err);
}

static amqp_table_entry_t entry_i32(const char *key, int32_t value) {
    amqp_table_entry_t entry = { .key = amqp_cstring_bytes(key) };

    entry.value.kind = AMQP_FIELD_KIND_I32;
    entry.value.value.i32 = value;
    return entry;
}

static amqp_table_entry_t entry_text(const char *key, const char *value) {
    amqp_table_entry_t entry = { .key = amqp_cstring_bytes(key) };

    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = amqp_cstring_bytes(value);
    return entry;
}

static amqp_table_t queue_arguments(const struct link_queue *queue, amqp_table_entry_t entries[3]) {
    amqp_table_t arguments = { .entries = entries };

    if (queue->quorum)
        entries[arguments.num_entries++] = entry_text("x-queue-type", "quorum");
    if (queue->expires_ms)
        entries[arguments.num_entries++] = entry_i32("x-expires", queue->expires_ms);
    if (queue->length_most)
        entries[arguments.num_entries++] = entry_i32("x-max-length", queue->length_most);
    return arguments;
}

int link_queue(struct link *link, const struct link_queue *queue, struct error *err) {
    amqp_table_entry_t entries[3];
    int result;

    amqp_queue_declare(link->connection, LINK_DECLARE, amqp_cstring_bytes(queue->name), 0,
                       queue->durable || queue->quorum, 0, queue->auto_delete,
                       queue_arguments(queue, entries));
    result = declared(link, "queue", queue->name, err);
    if (result != 0 || !queue->exchange)
        return result;
    amqp_queue_bind(link->connection, LINK_DECLARE, amqp_cstring_bytes(queue->name),
                    amqp_cstring_bytes(queue->exchange), amqp_cstring_bytes(queue->routing_key),
                    amqp_empty_table);
    return declared(link, "binding of queue", queue->name, err);
}

/* ---- sources ---- */

static int send_method(struct link *link, unsigned channel, amqp_method_number_t id, void *method,
                       struct error *err) {
    return check_status(link,
                        amqp_send_method(link->connection, (amqp_channel_t)channel, id, method),
                        "sending", err);
}

/* All at once: the answer to the last tells how they went, or the channel is closed. */
int link_take(struct link *link, unsigned channel, const struct link_source *source,
              struct error *err) {
    const struct link_queue *queue = &source->queue;
    const amqp_bytes_t name = amqp_cstring_bytes(queue->name);
    const amqp_bytes_t exchange = amqp_cstring_bytes(queue->exchange);
    bool durable = queue->durable || queue->quorum;
    amqp_table_entry_t entries[3];
    amqp_channel_open_t open = { .out_of_band = amqp_empty_bytes };
    amqp_exchange_declare_t declare_exchange = {
        .exchange = exchange,
        .type = amqp_cstring_bytes(source->exchange_type),
        .durable = queue->durable,
        .auto_delete = source->exchange_auto_delete,
        .nowait = 1,
    };
    amqp_queue_declare_t declare_queue = {
        .queue = name,
        .durable = durable,
        .auto_delete = queue->auto_delete,
        .nowait = 1,
        .arguments = queue_arguments(queue, entries),
    };
    amqp_queue_bind_t bind = {
        .queue = name,
        .exchange = exchange,
        .routing_key = amqp_cstring_bytes(queue->routing_key),
        .nowait = 1,
    };
    amqp_basic_qos_t qos = { .prefetch_count = (uint16_t)source->prefetch };
    amqp_basic_consume_t consume = { .queue = name, .consumer_tag = amqp_cstring_bytes("scoria") };

    if (send_method(link, channel, AMQP_CHANNEL_OPEN_METHOD, &open, err) < 0 ||
        send_method(link, channel, AMQP_EXCHANGE_DECLARE_METHOD, &declare_exchange, err) < 0 ||
        send_method(link, channel, AMQP_QUEUE_DECLARE_METHOD, &declare_queue, err) < 0 ||
        send_method(link, channel, AMQP_QUEUE_BIND_METHOD, &bind, err) < 0 ||
        send_method(link, channel, AMQP_BASIC_QOS_METHOD, &qos, err) < 0)
        return -1;
    return send_method(link, channel, AMQP_BASIC_CONSUME_METHOD, &consume, err);
}

int link_cancel(struct link *link, unsigned channel, struct error *err) {
    amqp_basic_cancel_t cancel = { .consumer_tag = amqp_cstring_bytes("scoria"), .nowait = 1 };

    return send_method(link, channel, AMQP_BASIC_CANCEL_METHOD, &cancel, err);
}
