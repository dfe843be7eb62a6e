/*
 * Replies in the compute API's form.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"
#include "json/out.h"

void reply_json(struct http_exchange *exchange, int status, struct json_out *out);

void reply_empty(struct http_exchange *exchange, int status);

/* {"<fault>": {"code": …, "message": …}} */
void reply_fault(struct http_exchange *exchange, const struct error *err);
