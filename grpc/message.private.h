/*
 * Messages on the wire: protobuf after gRPC's prefix of five bytes.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#define GRPC_PREFIX_SIZE 5 /* one byte: compressed?; four: length of the message */

/* In the arena; NULL: malformed, a singular message appears twice, too many fields, or a text is
 * not UTF-8 or has a zero byte. */
const void *grpc_message_read(struct arena *arena, const ProtobufCMessageDescriptor *type,
                              const uint8_t *bytes, size_t size, struct error *err);

/* An empty one, in the arena. */
void *grpc_message_new(struct arena *arena, const ProtobufCMessageDescriptor *type);

/* With its prefix; to be freed.  ERROR_TOO_LARGE. */
int grpc_message_write(const ProtobufCMessage *message, size_t most, uint8_t **ret,
                       size_t *ret_size, struct error *err);
