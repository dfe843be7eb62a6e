#include "rpc/amqp/incoming.h"

#include "common/heap.h"
#include "rpc/amqp/failure.h"

#include <amqp_framing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A partly received message: method frame, header frame, body frames. */
struct content {
    struct link_event event;
    uint64_t expected;
    bool has_header;
};

static struct content *content_begin(struct incoming *incoming, unsigned channel,
                                     enum link_event_kind kind) {
    struct content **place = &incoming->contents[channel];

    if (!*place)
        *place = heap_new(sizeof(**place));
    free((*place)->event.body);
    **place = (struct content){ .event = { .kind = kind, .channel = channel } };
    return *place;
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
        failure_bytes(properties->content_type, event->content_type, sizeof event->content_type);
    if (properties->_flags & AMQP_BASIC_MESSAGE_ID_FLAG)
        failure_bytes(properties->message_id, event->id, sizeof event->id);
    if (properties->_flags & AMQP_BASIC_HEADERS_FLAG)
        event->attempts = attempts_of(&properties->headers);
    if (event->kind == LINK_DELIVERED && content->expected <= LINK_BODY_MOST)
        event->body = heap_new((size_t)content->expected + 1);
}

/* The broker has closed a channel: that of a source is reported to the owner. */
static int take_close(struct incoming *incoming, unsigned channel, const amqp_method_t *method,
                      struct link_event *event, struct error *err) {
    const amqp_channel_close_t *close = method->decoded;
    amqp_channel_close_ok_t answer = { 0 };
    char text[200];

    if (channel < LINK_SOURCES)
        return failure_broker(incoming->where, method, "channel closed", err);
    *event = (struct link_event){ .kind = LINK_REFUSED, .channel = channel };
    snprintf(event->text, sizeof event->text, "%d %s", close->reply_code,
             failure_bytes(close->reply_text, text, sizeof text));
    if (amqp_send_method(incoming->connection, (amqp_channel_t)channel,
                         AMQP_CHANNEL_CLOSE_OK_METHOD, &answer) != AMQP_STATUS_OK)
        return error_set(err, ERROR_UNAVAILABLE, "%s: connection lost", incoming->where);
    return 0;
}

/* Frames of the connection: 0 handled here, -1 its end. */
static int take_control(struct incoming *incoming, const amqp_method_t *method, struct error *err) {
    switch (method->id) {
    case AMQP_CONNECTION_BLOCKED_METHOD:
        incoming->blocked = true;
        return 0;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        incoming->blocked = false;
        return 0;
    case AMQP_CONNECTION_CLOSE_METHOD: {
        amqp_connection_close_ok_t answer = { 0 };

        amqp_send_method(incoming->connection, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &answer);
        return failure_broker(incoming->where, method, "connection closed", err);
    }
    default:
        return 0;
    }
}

static int take_method(struct incoming *incoming, unsigned channel, const amqp_method_t *method,
                       struct link_event *event, struct error *err) {
    switch (method->id) {
    case AMQP_BASIC_DELIVER_METHOD: {
        const amqp_basic_deliver_t *deliver = method->decoded;

        content_begin(incoming, channel, LINK_DELIVERED)->event.tag = deliver->delivery_tag;
        return 0;
    }
    case AMQP_BASIC_RETURN_METHOD: {
        const amqp_basic_return_t *returned = method->decoded;
        struct content *content = content_begin(incoming, channel, LINK_RETURNED);
        char text[96];

        snprintf(content->event.text, sizeof content->event.text, "%d %s", returned->reply_code,
                 failure_bytes(returned->reply_text, text, sizeof text));
        return 0;
    }
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
        return take_close(incoming, channel, method, event, err);
    default:
        return take_control(incoming, method, err);
    }
}

int incoming_take(struct incoming *incoming, const amqp_frame_t *frame, struct link_event *event,
                  struct error *err) {
    const amqp_bytes_t *fragment = &frame->payload.body_fragment;
    struct content *content;

    if (frame->channel >= LINK_CHANNELS)
        return error_set(err, ERROR_UNAVAILABLE, "%s: a channel that is not ours", incoming->where);
    if (frame->frame_type == AMQP_FRAME_METHOD)
        return take_method(incoming, frame->channel, &frame->payload.method, event, err);
    if (frame->frame_type != AMQP_FRAME_HEADER && frame->frame_type != AMQP_FRAME_BODY)
        return 0;
    content = incoming->contents[frame->channel];
    if (!content || content->event.kind == LINK_NOTHING)
        return error_set(err, ERROR_UNAVAILABLE, "%s: content without a message", incoming->where);
    if (frame->frame_type == AMQP_FRAME_HEADER && content->has_header)
        return error_set(err, ERROR_UNAVAILABLE, "%s: a message with two headers", incoming->where);
    if (frame->frame_type == AMQP_FRAME_HEADER) {
        take_header(content, frame);
    } else {
        if (!content->has_header || fragment->len > content->expected - content->event.size)
            return error_set(err, ERROR_UNAVAILABLE, "%s: a message is longer than it said",
                             incoming->where);
        if (content->event.body)
            memcpy(content->event.body + content->event.size, fragment->bytes, fragment->len);
        content->event.size += fragment->len;
    }
    if (content->has_header && content->event.size >= content->expected) { /* complete */
        *event = content->event;
        *content = (struct content){ .expected = 0 };
    }
    return 0;
}

void incoming_end(struct incoming *incoming) {
    for (unsigned i = 0; i < LINK_CHANNELS; i++) {
        if (incoming->contents[i])
            free(incoming->contents[i]->event.body);
        free(incoming->contents[i]);
    }
    *incoming = (struct incoming){ .connection = NULL };
}
