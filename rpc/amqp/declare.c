#include "rpc/amqp/declare.h"

#include "rpc/amqp/failure.h"

#include <amqp_framing.h>
#include <stdio.h>

/* A refusal closes the channel: it is opened again for the next one. */
static int declared(struct link *link, const char *what, const char *name, struct error *err) {
    amqp_channel_close_ok_t answer = { 0 };
    struct error ignored;
    char text[320];
    int result;

    snprintf(text, sizeof text, "%s %s", what, name);
    result = failure_reply(link_where(link), amqp_get_rpc_reply(link_connection(link)), text, err);
    if (result == 1 && (amqp_send_method(link_connection(link), LINK_DECLARE,
                                         AMQP_CHANNEL_CLOSE_OK_METHOD, &answer) != AMQP_STATUS_OK ||
                        link_open_channel(link, LINK_DECLARE, &ignored) < 0))
        return -1;
    amqp_maybe_release_buffers_on_channel(link_connection(link), LINK_DECLARE);
    return result;
}

int declare_exchange(struct link *link, const char *name, const char *type, bool durable,
                     bool auto_delete, struct error *err) {
    amqp_exchange_declare(link_connection(link), LINK_DECLARE, amqp_cstring_bytes(name),
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

static amqp_table_t queue_arguments(const struct declare_queue *queue,
                                    amqp_table_entry_t entries[3]) {
    amqp_table_t arguments = { .entries = entries };

    if (queue->quorum)
        entries[arguments.num_entries++] = entry_text("x-queue-type", "quorum");
    if (queue->expires_ms)
        entries[arguments.num_entries++] = entry_i32("x-expires", queue->expires_ms);
    if (queue->length_most)
        entries[arguments.num_entries++] = entry_i32("x-max-length", queue->length_most);
    return arguments;
}

int declare_queue(struct link *link, const struct declare_queue *queue, struct error *err) {
    amqp_table_entry_t entries[3];
    int result;

    amqp_queue_declare(link_connection(link), LINK_DECLARE, amqp_cstring_bytes(queue->name), 0,
                       queue->durable || queue->quorum, 0, queue->auto_delete,
                       queue_arguments(queue, entries));
    result = declared(link, "queue", queue->name, err);
    if (result != 0 || !queue->exchange)
        return result;
    amqp_queue_bind(link_connection(link), LINK_DECLARE, amqp_cstring_bytes(queue->name),
                    amqp_cstring_bytes(queue->exchange), amqp_cstring_bytes(queue->routing_key),
                    amqp_empty_table);
    return declared(link, "binding of queue", queue->name, err);
}

static int send_method(struct link *link, unsigned channel, amqp_method_number_t id, void *method,
                       struct error *err) {
    int status = amqp_send_method(link_connection(link), (amqp_channel_t)channel, id, method);

    return status == AMQP_STATUS_OK ? 0 : failure_library(link_where(link), status, "sending", err);
}

/* All at once: the response to the last one shows the result of all, or the channel is closed. */
int declare_source(struct link *link, unsigned channel, const struct declare_source *source,
                   struct error *err) {
    const struct declare_queue *queue = &source->queue;
    const amqp_bytes_t name = amqp_cstring_bytes(queue->name);
    const amqp_bytes_t exchange = amqp_cstring_bytes(queue->exchange);
    bool durable = queue->durable || queue->quorum;
    amqp_table_entry_t entries[3];
    amqp_channel_open_t open = { .out_of_band = amqp_empty_bytes };
    amqp_exchange_declare_t make_exchange = {
        .exchange = exchange,
        .type = amqp_cstring_bytes(source->exchange_type),
        .durable = queue->durable,
        .auto_delete = source->exchange_auto_delete,
        .nowait = 1,
    };
    amqp_queue_declare_t make_queue = {
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
    amqp_basic_consume_t consume = { .queue = name,
                                     .consumer_tag = amqp_cstring_bytes(LINK_CONSUMER) };

    if (send_method(link, channel, AMQP_CHANNEL_OPEN_METHOD, &open, err) < 0 ||
        send_method(link, channel, AMQP_EXCHANGE_DECLARE_METHOD, &make_exchange, err) < 0 ||
        send_method(link, channel, AMQP_QUEUE_DECLARE_METHOD, &make_queue, err) < 0 ||
        send_method(link, channel, AMQP_QUEUE_BIND_METHOD, &bind, err) < 0 ||
        send_method(link, channel, AMQP_BASIC_QOS_METHOD, &qos, err) < 0)
        return -1;
    return send_method(link, channel, AMQP_BASIC_CONSUME_METHOD, &consume, err);
}
