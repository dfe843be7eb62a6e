#include "grpc/message.private.h"

#include "common/assert.h"
#include "common/heap.h"
#include "common/utf8.h"

#include <string.h>

/* No type of the services is so deep, but one that contains itself could be. */
#define DEEPEST 32
/* An empty field takes two bytes on the wire and dozens in memory.  The limit is far above the
 * names and ids of all volumes in one call. */
#define MOST_FIELDS 16384

enum wire_type { WIRE_VARINT, WIRE_64_BITS, WIRE_BYTES, WIRE_32_BITS = 5 };

struct reader {
    const uint8_t *at, *end;
};

/* ---- checks ---- */

static int malformed(struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "malformed request message");
}

static bool read_varint(struct reader *reader, uint64_t *ret) {
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/* The next `size` bytes. */
static bool read_bytes(struct reader *reader, uint64_t size, struct reader *ret) {
    if (size > (uint64_t)(reader->end - reader->at))
        return false;
    *ret = (struct reader){ reader->at, reader->at + size };
    reader->at = ret->end;
    return true;
}

/* The value of a field, numbers too, as a range of bytes. */
static bool read_value(struct reader *reader, uint64_t wire_type, struct reader *ret) {
    uint64_t size = 0;

    switch (wire_type) {
    case WIRE_VARINT:
        return read_varint(reader, &size) && read_bytes(reader, 0, ret);
    case WIRE_64_BITS:
        return read_bytes(reader, 8, ret);
    case WIRE_32_BITS:
        return read_bytes(reader, 4, ret);
    case WIRE_BYTES:
        return read_varint(reader, &size) && read_bytes(reader, size, ret);
    default:
        return false; /* groups are deprecated */
    }
}

/* protobuf-c accepts any bytes as text and ends it at the first zero byte: the text checked and the
 * text used could differ. */
static int check_text(const struct reader *text, const ProtobufCFieldDescriptor *field,
                      struct error *err) {
    size_t size = (size_t)(text->end - text->at);

    if (memchr(text->at, '\0', size))
        return error_set(err, ERROR_BAD_REQUEST, "%s: the text has a zero byte", field->name);
    if (!utf8_valid((const char *)text->at, size))
        return error_set(err, ERROR_BAD_REQUEST, "%s: the text is not UTF-8", field->name);
    return 0;
}

/* A second message for a singular field is to be merged with the first, for which protobuf-c copies
 * all lists collected so far: a small request could need gigabytes.  No library writes one. */
static bool is_again(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field,
                     uint64_t *seen) {
    uint64_t bit = (uint64_t)1 << (field - type->fields);
    bool again = *seen & bit;

    *seen |= bit;
    return again && field->label != PROTOBUF_C_LABEL_REPEATED;
}

static int check(struct reader reader, const ProtobufCMessageDescriptor *type, unsigned depth,
                 unsigned *left, struct error *err) {
    uint64_t seen = 0;

    assert(type->n_fields <= 64);
    while (reader.at < reader.end) {
        const ProtobufCFieldDescriptor *field;
        struct reader value;
        uint64_t key;
        int result = 0;

        if (depth == DEEPEST || !read_varint(&reader, &key) || key >> 3 == 0 || key > UINT32_MAX ||
            !read_value(&reader, key & 7, &value))
            return malformed(err);
        if ((*left)-- == 0)
            return error_set(err, ERROR_TOO_LARGE, "the request has more than %d fields",
                             MOST_FIELDS);
        field = protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
        if (!field || (key & 7) != WIRE_BYTES)
            continue;
        if (field->type == PROTOBUF_C_TYPE_STRING)
            result = check_text(&value, field, err);
        else if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            result = is_again(type, field, &seen)
                         ? error_set(err, ERROR_BAD_REQUEST, "%s appears twice", field->name)
                         : check(value, field->descriptor, depth + 1, left, err);
        if (result < 0)
            return -1;
    }
    return 0;
}

/* ---- reading and writing ---- */

static void *allocate(void *arena, size_t size) {
    return arena_reserve(arena, size);
}

static void forget(void *arena, void *piece) {
    (void)arena, (void)piece; /* freed with the arena */
}

const void *grpc_message_read(struct arena *arena, const ProtobufCMessageDescriptor *type,
                              const uint8_t *bytes, size_t size, struct error *err) {
    static const uint8_t nothing[1];
    ProtobufCAllocator allocator = { allocate, forget, arena };
    const uint8_t *start = size > 0 ? bytes : nothing;
    const struct reader reader = { start, start + size };
    unsigned left = MOST_FIELDS;
    const void *message;

    if (check(reader, type, 0, &left, err) < 0)
        return NULL;
    message = protobuf_c_message_unpack(type, &allocator, size, start);
    if (!message)
        malformed(err);
    return message;
}

void *grpc_message_new(struct arena *arena, const ProtobufCMessageDescriptor *type) {
    void *message = arena_alloc(arena, type->sizeof_message);

    protobuf_c_message_init(type, message);
    return message;
}

int grpc_message_write(const ProtobufCMessage *message, size_t most, uint8_t **ret,
                       size_t *ret_size, struct error *err) {
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes;

    if (size > most)
        return error_set(err, ERROR_TOO_LARGE,
                         "the answer has %zu bytes and may have %zu; ask for less at once", size,
                         most);
    bytes = heap_new(GRPC_PREFIX_SIZE + size);
    for (unsigned i = 0; i < 4; i++)
        bytes[1 + i] = (uint8_t)(size >> (24 - 8 * i));
    protobuf_c_message_pack(message, bytes + GRPC_PREFIX_SIZE);
    *ret = bytes;
    *ret_size = GRPC_PREFIX_SIZE + size;
    return 0;
}
