/*
 * Messages as they stand on the wire of oslo.messaging: a JSON object with a version and, as text,
 * the inner JSON object; in it the method, its named arguments and what belongs to them.
 *
 * What scoria sends to scoria has the namespace "scoria", so no other volume service can take it
 * for its own; the message's key travels as the context's resource_uuid, the project as its
 * project_id.
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
    const char *version;                  /* "major.minor"; "1.0" when the sender gave none */
    const char *key;                      /* "" when the sender gave none */
    const char *project;                  /* the same */
    const char *arguments;                /* JSON object */
    const char *message_id, *reply_queue; /* NULL: a cast */
    const char *unique_id;                /* "" when the sender gave none */
    int64_t beat_ms;                      /* how often its caller wants a sign of life; 0: never */
};

/*
 * Reads a request from any bytes.  -1 and ERROR_BAD_REQUEST with what is wrong; the error never
 * repeats what the message holds, which may be a token.
 */
int envelope_read(struct arena *arena, const void *bytes, size_t size, struct envelope *ret,
                  struct error *err);

/* "3.19" → 3 and 19. */
bool envelope_version(const char *text, unsigned *ret_major, unsigned *ret_minor);

/* 32 hex digits, for one message. */
const char *envelope_unique_id(struct arena *arena, const struct clock *clock);

/* A cast to another scoria. `message->payload` must be a JSON object, `unique_id` 32 hex digits. */
const char *envelope_request(struct arena *arena, const struct rpc_message *message,
                             const char *unique_id);

/* The end of a call: `refusal` is 0 or an enum rpc_refusal, which needs `called`. */
const char *envelope_reply(struct arena *arena, const struct envelope *called,
                           const struct rpc_answer *answer, int refusal, const char *unique_id);

/* A call is still worked on. */
const char *envelope_heartbeat(struct arena *arena, const struct envelope *called,
                               const char *unique_id);

/* An inner object that is ready, wrapped. */
const char *envelope_wrap(struct arena *arena, const char *inner);
