/*
 * The numbers and heads of the NBD protocol that its clients here use: copies (data/), probes
 * (compute/) and replicas (replication/).  All are big-endian on the wire.
 */
#pragma once

#include <stdint.h>

#define NBD_HELLO_MAGIC        UINT64_C(0x4e42444d41474943)
#define NBD_OPTION_MAGIC       UINT64_C(0x49484156454f5054)
#define NBD_OPTION_REPLY_MAGIC UINT64_C(0x0003e889045565a9)
#define NBD_REQUEST_MAGIC      0x25609513
#define NBD_SIMPLE_MAGIC       0x67446698
#define NBD_STRUCTURED_MAGIC   0x668e33ef

#define NBD_ALLOCATION "base:allocation"

enum {
    NBD_FIXED_NEWSTYLE = 1,
    NBD_NO_ZEROES = 2,

    NBD_OPTION_EXPORT_NAME = 1,
    NBD_OPTION_INFO = 6,
    NBD_OPTION_GO = 7,
    NBD_OPTION_STRUCTURED_REPLY = 8,
    NBD_OPTION_SET_META_CONTEXT = 10,

    NBD_ACK = 1,
    NBD_INFO = 3,
    NBD_META_CONTEXT = 4,
    NBD_UNKNOWN = 6, /* with the top bit: the export is unknown */

    NBD_INFO_EXPORT = 0,

    NBD_HAS_FLAGS = 1 << 0,
    NBD_READ_ONLY = 1 << 1,
    NBD_HAS_FLUSH = 1 << 2,
    NBD_HAS_TRIM = 1 << 5,
    NBD_HAS_WRITE_ZEROES = 1 << 6,

    NBD_COMMAND_READ = 0,
    NBD_COMMAND_WRITE = 1,
    NBD_COMMAND_DISCONNECT = 2,
    NBD_COMMAND_FLUSH = 3,
    NBD_COMMAND_TRIM = 4,
    NBD_COMMAND_WRITE_ZEROES = 6,
    NBD_COMMAND_BLOCK_STATUS = 7,

    NBD_REQUEST_ONE = 1 << 3, /* flag of a block status: only its first extent */

    NBD_DONE = 1, /* flag of the last chunk */
    NBD_CHUNK_NONE = 0,
    NBD_CHUNK_DATA = 1,
    NBD_CHUNK_HOLE = 2,
    NBD_CHUNK_STATUS = 5,
    NBD_CHUNK_ERROR = 1 << 15, /* of all kinds of errors */

    NBD_STATE_ZERO = 2,
};
#define NBD_ERROR_REPLY ((uint32_t)1 << 31)

struct __attribute__((packed)) nbd_hello {
    uint64_t magic, option_magic;
    uint16_t flags;
};

struct __attribute__((packed)) nbd_option {
    uint64_t magic;
    uint32_t option, length;
};

struct __attribute__((packed)) nbd_option_reply {
    uint64_t magic;
    uint32_t option, type, length;
};

struct __attribute__((packed)) nbd_export {
    uint16_t type;
    uint64_t size;
    uint16_t flags;
};

struct __attribute__((packed)) nbd_request {
    uint32_t magic;
    uint16_t flags, command;
    uint64_t handle, offset;
    uint32_t size;
};

struct __attribute__((packed)) nbd_simple {
    uint32_t magic, code;
    uint64_t handle;
};

struct __attribute__((packed)) nbd_chunk {
    uint32_t magic;
    uint16_t flags, type;
    uint64_t handle;
    uint32_t size;
};
