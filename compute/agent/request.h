/*
 * Common parts of all requests to the agent.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"
#include "json/json.h"

/* The body, JSON in the exchange's arena.  NULL: ERROR_TOO_LARGE, or ERROR_BAD_REQUEST for invalid
 * JSON. */
const json_t *request_body(struct http_exchange *exchange, struct error *err);
