/*
 * Messages on the wire: protobuf behind gRPC's prefix of five bytes.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#define GRPC_PREFIX_SIZE 5 /* one byte: is it compressed?; four: how long is the message */

/* In the arena; NULL: it is malformed, has a message twice where one may be or more fields than
 * anybody needs, or one of its texts is no UTF-8 or has a zero byte. */
const void *grpc_message_read(struct arena *arena, const ProtobufCMessageDescriptor *type,
                              const uint8_t *bytes, size_t size, struct error *err);

/* An empty one, in the arena. */
void *grpc_message_new(struct arena *arena, const ProtobufCMessageDescriptor *type);

/* With its prefix; for free(). ERROR_TOO_LARGE. */
int grpc_message_write(const ProtobufCMessage *message, size_t most, uint8_t **ret,
                       size_t *ret_size, struct error *err);
