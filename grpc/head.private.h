/*
 * The headers of a call.
 */
#pragma once

#include "common/arena.h"
#include "grpc/call.h"

#include <stddef.h>
#include <stdint.h>

struct grpc_head {
    const char *path;   /* NULL: absent */
    bool post, grpc;    /* the method is POST; the content type is gRPC's */
    int64_t timeout_us; /* -1: none */
    bool bad_timeout;   /* malformed */
    size_t size;        /* as HTTP/2 counts it: names, values, 32 for each */
};

/* Texts go into the arena.  False: above the limit, and this one is not kept. */
bool grpc_head_add(struct grpc_head *head, struct arena *arena, const char *name, size_t name_size,
                   const char *value, size_t value_size);

#define GRPC_HEAD_MOST  ((size_t)16 * 1024)
#define GRPC_ENTRY_SIZE 32 /* counts with each name and value */
