/*
 * An HTTP exchange without a server: what a handler gets and what it answers.  What the API answers
 * is held against its description (answers.h).
 */
#pragma once

#include "http/exchange.h"

#include <jansson.h>

struct test_exchange;

/* `headers` ends with a NULL name; may be NULL. `body` may be NULL. */
struct test_exchange *test_exchange_new(const char *method, const char *path,
                                        const struct http_header *headers, const char *body);
void test_exchange_free(struct test_exchange *test);
struct http_exchange *test_exchange_of(struct test_exchange *test);

bool test_exchange_answered(struct test_exchange *test);
/* Waits for the answer; its status. A second answer to one exchange asserts. */
int test_exchange_await(struct test_exchange *test);
const char *test_exchange_header(struct test_exchange *test, const char *name); /* of the answer */
const json_t *test_exchange_json(struct test_exchange *test); /* of the answer; lives as long */
