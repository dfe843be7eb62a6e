/*
 * Errors in the form of the API: {"<fault>": {"code": …, "message": …}}.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"

#define MEDIA_TYPE "application/json"

/* The media type of a response: that of Accept when it is exactly the API's own, otherwise JSON. */
const char *fault_media_type(const struct http_exchange *exchange);

/*
 * Sets the fault of `err` as the exchange's response; does not reply.  A hidden kind (error.def)
 * has a general sentence: its message is for the log.  PRECONDITION has no body, UNAUTHORIZED the
 * form of the token middleware, OVER_QUOTA "Retry-After: 0", a 503 one of some seconds, except
 * GOES_ON.
 */
void fault_render(struct http_exchange *exchange, const struct error *err);

/* Unrouted paths and methods (404), and bodies above the limit (413), are not faults of the API:
 * one sentence in the form requested by Accept. */
void fault_render_unrouted(struct http_exchange *exchange);
void fault_render_too_large(struct http_exchange *exchange);
