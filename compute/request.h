/*
 * What all requests to the agent have in common.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"
#include "json/json.h"

/* The body, JSON in the exchange's arena.  NULL: ERROR_TOO_LARGE, or ERROR_BAD_REQUEST where it is
 * no JSON. */
const json_t *request_body(struct http_exchange *exchange, struct error *err);
