#include "rpc/amqp/incoming.h"

#include "tests/lib/check_main.h"

#include <amqp_framing.h>
#include <string.h>

enum { CHANNEL = LINK_SOURCES };

static struct incoming incoming = { .where = "broker b" };
static struct link_event event;
static struct error err;

static int frame_take(const amqp_frame_t *frame) {
    event = (struct link_event){ .kind = LINK_NOTHING };
    return incoming_take(&incoming, frame, &event, &err);
}

static int take_method(unsigned channel, amqp_method_number_t id, void *decoded) {
    const amqp_frame_t frame = {
        .frame_type = AMQP_FRAME_METHOD,
        .channel = (amqp_channel_t)channel,
        .payload.method = { .id = id, .decoded = decoded },
    };

    return frame_take(&frame);
}

static int take_deliver(uint64_t tag) {
    amqp_basic_deliver_t deliver = { .delivery_tag = tag };

    return take_method(CHANNEL, AMQP_BASIC_DELIVER_METHOD, &deliver);
}

static int take_header(uint64_t size, amqp_basic_properties_t *properties) {
    amqp_basic_properties_t none = { ._flags = 0 };
    const amqp_frame_t frame = {
        .frame_type = AMQP_FRAME_HEADER,
        .channel = CHANNEL,
        .payload.properties = { .class_id = AMQP_BASIC_CLASS,
                                .body_size = size,
                                .decoded = properties ? properties : &none },
    };

    return frame_take(&frame);
}

static int take_body(const char *text, size_t size) {
    const amqp_frame_t frame = {
        .frame_type = AMQP_FRAME_BODY,
        .channel = CHANNEL,
        .payload.body_fragment = { .len = size, .bytes = (void *)(uintptr_t)text },
    };

    return frame_take(&frame);
}

static void assert_refused(int result, const char *words) {
    ck_assert_int_eq(result, -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, words), "%s", err.message);
    ck_assert_msg(strstr(err.message, "broker b"), "%s", err.message);
    ck_assert_int_eq(event.kind, LINK_NOTHING);
    incoming_end(&incoming);
    incoming.where = "broker b";
}

START_TEST(a_message_is_delivered_when_complete) {
    amqp_table_entry_t entry = {
        .key = amqp_cstring_bytes(HEADER_ATTEMPTS),
        .value = { .kind = AMQP_FIELD_KIND_I32, .value.i32 = 7 },
    };
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG,
        .content_type = amqp_cstring_bytes("application/json"),
        .headers = { .num_entries = 1, .entries = &entry },
    };

    ck_assert_int_eq(take_deliver(42), 0);
    ck_assert_int_eq(event.kind, LINK_NOTHING);
    ck_assert_int_eq(take_header(5, &properties), 0);
    ck_assert_int_eq(event.kind, LINK_NOTHING);
    ck_assert_int_eq(take_body("ab", 2), 0);
    ck_assert_int_eq(event.kind, LINK_NOTHING);
    ck_assert_int_eq(take_body("cde", 3), 0);
    ck_assert_int_eq(event.kind, LINK_DELIVERED);
    ck_assert_uint_eq(event.tag, 42);
    ck_assert_uint_eq(event.channel, CHANNEL);
    ck_assert_uint_eq(event.size, 5);
    ck_assert_mem_eq(event.body, "abcde", 5);
    ck_assert_str_eq(event.content_type, "application/json");
    ck_assert_int_eq(event.attempts, 7);
    free(event.body);
    /* the next one knows nothing of it */
    ck_assert_int_eq(take_deliver(43), 0);
    ck_assert_int_eq(take_header(0, NULL), 0);
    ck_assert_int_eq(event.kind, LINK_DELIVERED);
    ck_assert_uint_eq(event.size, 0);
    ck_assert_str_eq(event.content_type, "");
    ck_assert_int_eq(event.attempts, 0);
    free(event.body);
    incoming_end(&incoming);
}
END_TEST

START_TEST(a_body_that_is_too_large_is_not_kept) {
    static char piece[128 * 1024];
    size_t left = LINK_BODY_MOST + 1;

    ck_assert_int_eq(take_deliver(1), 0);
    ck_assert_int_eq(take_header(left, NULL), 0);
    while (left > 0) {
        size_t size = left < sizeof(piece) ? left : sizeof(piece);

        ck_assert_int_eq(event.kind, LINK_NOTHING);
        ck_assert_int_eq(take_body(piece, size), 0);
        left -= size;
    }
    ck_assert_int_eq(event.kind, LINK_DELIVERED);
    ck_assert_ptr_null(event.body);
    ck_assert_uint_eq(event.size, LINK_BODY_MOST + 1);
    incoming_end(&incoming);
}
END_TEST

START_TEST(frames_that_do_not_fit_end_the_connection) {
    const amqp_frame_t foreign = { .frame_type = AMQP_FRAME_BODY, .channel = LINK_CHANNELS };

    assert_refused(frame_take(&foreign), "not ours");
    assert_refused(take_header(3, NULL), "without a message");
    assert_refused(take_body("abc", 3), "without a message");
    ck_assert_int_eq(take_deliver(1), 0);
    assert_refused(take_body("abc", 3), "longer than it said");
    ck_assert_int_eq(take_deliver(1), 0);
    ck_assert_int_eq(take_header(3, NULL), 0);
    assert_refused(take_body("abcd", 4), "longer than it said");
    /* a second header would allocate less than has come */
    ck_assert_int_eq(take_deliver(1), 0);
    ck_assert_int_eq(take_header(3, NULL), 0);
    ck_assert_int_eq(take_body("ab", 2), 0);
    assert_refused(take_header(1, NULL), "two headers");
}
END_TEST

START_TEST(confirmations_and_returned_messages_are_reported) {
    amqp_basic_ack_t ack = { .delivery_tag = 9, .multiple = 1 };
    amqp_basic_nack_t nack = { .delivery_tag = 10 };
    amqp_basic_return_t back = { .reply_code = 312, .reply_text = amqp_cstring_bytes("NO_ROUTE") };
    amqp_basic_properties_t properties = { ._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                           .message_id = amqp_cstring_bytes("11") };

    ck_assert_int_eq(take_method(LINK_WORK, AMQP_BASIC_ACK_METHOD, &ack), 0);
    ck_assert_int_eq(event.kind, LINK_ACK);
    ck_assert_uint_eq(event.tag, 9);
    ck_assert(event.multiple);
    ck_assert_int_eq(take_method(LINK_WORK, AMQP_BASIC_NACK_METHOD, &nack), 0);
    ck_assert_int_eq(event.kind, LINK_NACK);
    ck_assert_uint_eq(event.tag, 10);
    ck_assert(!event.multiple);
    ck_assert_int_eq(take_method(CHANNEL, AMQP_BASIC_RETURN_METHOD, &back), 0);
    ck_assert_int_eq(take_header(2, &properties), 0);
    ck_assert_int_eq(take_body("{}", 2), 0);
    ck_assert_int_eq(event.kind, LINK_RETURNED);
    ck_assert_str_eq(event.id, "11");
    ck_assert_str_eq(event.text, "312 NO_ROUTE");
    ck_assert_ptr_null(event.body);
    incoming_end(&incoming);
}
END_TEST

START_TEST(a_blocked_connection_is_reported_and_so_is_its_end) {
    amqp_connection_blocked_t blocked = { .reason = amqp_cstring_bytes("low on disk") };
    amqp_connection_unblocked_t unblocked = { .dummy = 0 };

    ck_assert_int_eq(take_method(0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked), 0);
    ck_assert_int_eq(event.kind, LINK_NOTHING);
    ck_assert(incoming.blocked);
    ck_assert_int_eq(take_method(0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked), 0);
    ck_assert(!incoming.blocked);
}
END_TEST

START_TEST(a_closed_channel_ends_the_connection) {
    amqp_channel_close_t close = { .reply_code = 406, .reply_text = amqp_cstring_bytes("NO") };

    ck_assert_int_eq(take_method(LINK_WORK, AMQP_CHANNEL_CLOSE_METHOD, &close), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(err.message, "broker b: channel closed: 406 NO");
}
END_TEST

CHECK_MAIN("amqp_incoming", a_message_is_delivered_when_complete,
           a_body_that_is_too_large_is_not_kept, frames_that_do_not_fit_end_the_connection,
           confirmations_and_returned_messages_are_reported,
           a_blocked_connection_is_reported_and_so_is_its_end, a_closed_channel_ends_the_connection)
