/*
 * Errors as the API's clients read them: {"<fault>": {"code": …, "message": …}}.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"

#define MEDIA_TYPE "application/json"

/* The media type of an answer: what Accept asks for when it is exactly the API's own, else JSON. */
const char *fault_media_type(const struct http_exchange *exchange);

/*
 * Makes the exchange's answer the fault of `err`; does not reply.  Of a hidden kind (error.def) it
 * shows a general sentence: the message is for the log.  PRECONDITION has no body, UNAUTHORIZED the
 * form of the token middleware, OVER_QUOTA "Retry-After: 0", a 503 one of some seconds, but GOES_ON.
 */
void fault_render(struct http_exchange *exchange, const struct error *err);

/* A path or method that has no route (404), and a body above the limit (413), are no faults of the
 * API: one sentence in the form that Accept asks for. */
void fault_render_unrouted(struct http_exchange *exchange);
void fault_render_too_large(struct http_exchange *exchange);
