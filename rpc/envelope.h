/*
 * Messages in the wire format of oslo.messaging: a JSON object with a version and, as text, the
 * inner JSON object; in it the method, its named arguments and their context.
 *
 * Messages between scoria processes have the namespace "scoria", so that no other volume service
 * accepts them; the message's key is the context's resource_uuid, the project its project_id.
 */
#pragma once

#include "common/clock.h"
#include "rpc/rpc.h"

#include <stddef.h>

#define ENVELOPE_NAMESPACE "scoria"
#define ENVELOPE_VERSION   "1.0" /* of that namespace */

struct envelope {
    const char *method;
    const char *namespace;                /* NULL: none */
    const char *version;                  /* "major.minor"; "1.0" when absent */
    const char *key;                      /* "" when absent */
    const char *project;                  /* the same */
    const char *arguments;                /* JSON object */
    const char *message_id, *reply_queue; /* NULL: a cast */
    const char *unique_id;                /* "" when absent */
    int64_t beat_ms;                      /* interval of heartbeats to the caller; 0: none */
};

/*
 * Parses a request.  -1 and ERROR_BAD_REQUEST with the fault; the error never contains parts of the
 * message, which may be a token.
 */
int envelope_read(struct arena *arena, const void *bytes, size_t size, struct envelope *ret,
                  struct error *err);

/* "3.19" → 3 and 19. */
bool envelope_version(const char *text, unsigned *ret_major, unsigned *ret_minor);

/* 32 hex digits, for one message. */
const char *envelope_unique_id(struct arena *arena, const struct clock *clock);

/* A cast to another scoria.  `message->payload` must be a JSON object, `unique_id` 32 hex
 * digits. */
const char *envelope_request(struct arena *arena, const struct rpc_message *message,
                             const char *unique_id);

/* The reply that ends a call: `refusal` is 0 or an enum rpc_refusal, which needs `called`. */
const char *envelope_reply(struct arena *arena, const struct envelope *called,
                           const struct rpc_answer *answer, int refusal, const char *unique_id);

/* The heartbeat of a call. */
const char *envelope_heartbeat(struct arena *arena, const struct envelope *called,
                               const char *unique_id);

/* Wraps an inner object. */
const char *envelope_wrap(struct arena *arena, const char *inner);
