/*
 * Each response of the API to a test is checked against its own description (rest/openapi.h): a
 * status that the operation has, a body that its schema takes at the microversion of the response
 * with no key missing and none unknown, and for accepted requests also the body that was sent.  A
 * difference ends the test's process.
 */
#pragma once

#include "http/exchange.h"

#include <jansson.h>

/* Called by test_exchange for each answer; one that no route of the API has given is let pass. */
void answer_check(const struct http_exchange *exchange);

/* NULL: `value` is one of the schema's at 3.`minor`; else why not, with the place in front.  The
 * text is the thread's until the next call.  `document` is where references lead. */
const char *schema_fault(const json_t *document, const json_t *schema, const json_t *value,
                         unsigned minor);
