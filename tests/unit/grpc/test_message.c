/*
 * The cost of a message: a request of the largest realistic size is a few MiB in memory.
 */
#include "common/cleanup.h"
#include "csi/proto.h"
#include "grpc/message.private.h"
#include "tests/lib/check_main.h"
#include "tests/lib/small_stack.h"

#include <string.h>

#define WHOLE ((size_t)256 * 1024)
#define MOST  ((size_t)4 * 1024 * 1024)
#define PAIRS 16384

/* The bytes, again and again. */
static const Csi__V1__CreateVolumeRequest *read_many(struct arena *arena, const char *bytes,
                                                     size_t size, size_t count, struct error *err) {
    uint8_t *message = arena_alloc(arena, size * count);

    for (size_t i = 0; i < count; i++)
        memcpy(message + i * size, bytes, size);
    return grpc_message_read(arena, &csi__v1__create_volume_request__descriptor, message,
                             size * count, err);
}

/* accessibility_requirements with one topology. */
START_TEST(a_message_that_comes_twice_is_not_merged) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };

    ck_assert_ptr_nonnull(read_many(arena, "\x3a\2\n\0", 4, 1, &err));
    ck_assert_ptr_null(read_many(arena, "\x3a\2\n\0", 4, 4000, &err));
    ck_assert_msg(strstr(err.message, "accessibility_requirements appears twice"), "%s",
                  err.message);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_uint_lt(arena_bytes(arena), MOST);
}
END_TEST

/* With others between them. */
START_TEST(repeated_messages_are_refused_in_every_order) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };

    ck_assert_ptr_null(read_many(arena, "\x12\0\x3a\2\n\0\x1a\0", 8, 2, &err));
    ck_assert_msg(strstr(err.message, "appears twice"), "%s", err.message);
}
END_TEST

START_TEST(lists_may_have_every_realistic_length) {
    autoarena struct arena *arena = arena_new();
    const Csi__V1__CreateVolumeRequest *request;
    struct error err = { .kind = ERROR_NONE };

    request = read_many(arena, "\x22\0", 2, PAIRS, &err);
    ck_assert_msg(request, "%s", err.message);
    ck_assert_uint_eq(request->n_parameters, PAIRS);
    ck_assert_uint_lt(arena_bytes(arena), MOST);
    ck_assert_ptr_null(read_many(arena, "\x22\0", 2, PAIRS + 1, &err));
    ck_assert_int_eq(err.kind, ERROR_TOO_LARGE);
}
END_TEST

START_TEST(unknown_fields_count_too) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };

    ck_assert_ptr_null(read_many(arena, "\x7a\0", 2, WHOLE / 2, &err));
    ck_assert_int_eq(err.kind, ERROR_TOO_LARGE);
    ck_assert_uint_lt(arena_bytes(arena), MOST);
}
END_TEST

struct node {
    ProtobufCMessage base;
    struct node *below;
};

static const ProtobufCMessageDescriptor node_descriptor;
static const ProtobufCFieldDescriptor node_fields[] = {
    { .name = "below",
      .id = 1,
      .label = PROTOBUF_C_LABEL_OPTIONAL,
      .type = PROTOBUF_C_TYPE_MESSAGE,
      .offset = offsetof(struct node, below),
      .descriptor = &node_descriptor },
};
static const unsigned node_names[] = { 0 };
static const ProtobufCIntRange node_ranges[] = { { 1, 0 }, { 0, 1 } };
static const ProtobufCMessageDescriptor node_descriptor = {
    .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
    .name = "node",
    .sizeof_message = sizeof(struct node),
    .n_fields = 1,
    .fields = node_fields,
    .fields_sorted_by_name = node_names,
    .n_field_ranges = 1,
    .field_ranges = node_ranges,
};

struct message {
    uint8_t *bytes;
    size_t size;
    bool is_read;
};

static void *read_message(void *arg) {
    autoarena struct arena *arena = arena_new();
    struct message *message = arg;
    struct error err;

    message->is_read =
        grpc_message_read(arena, &node_descriptor, message->bytes, message->size, &err) != NULL;
    return NULL;
}

/* Is one read that has others in it, so deep? */
static bool message_is_read(unsigned depth) {
    autoarena struct arena *arena = arena_new();
    struct message message = { .bytes = arena_alloc(arena, depth * 6 + 16) };
    uint8_t *at = message.bytes + depth * 6 + 16;

    for (unsigned i = 0; i < depth; i++) {
        uint8_t length[5];
        unsigned count = 0;

        for (size_t size = message.size; count == 0 || size > 0; size >>= 7)
            length[count++] = (uint8_t)((size & 0x7f) | (size >> 7 ? 0x80 : 0));
        at -= count;
        memcpy(at, length, count);
        *--at = 1 << 3 | 2;
        message.size += count + 1;
    }
    message.bytes = at;
    on_small_stack(read_message, &message);
    return message.is_read;
}

START_TEST(grpc_messages_of_the_accepted_depth_are_read) {
    ck_assert(message_is_read(32));
    ck_assert(!message_is_read(33));
    ck_assert(!message_is_read(16000));
}
END_TEST

CHECK_MAIN("grpc messages", a_message_that_comes_twice_is_not_merged,
           repeated_messages_are_refused_in_every_order, lists_may_have_every_realistic_length,
           unknown_fields_count_too, grpc_messages_of_the_accepted_depth_are_read)
