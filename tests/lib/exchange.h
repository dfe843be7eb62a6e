/*
 * An HTTP exchange without a server: the request of a handler and its response.  Responses of the
 * API are checked against its description (answers.h).
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

/* ---- an answer in pieces (http/stream.h) ---- */

/* The body so far; NULL: the response has none. */
const char *test_exchange_pieces(struct test_exchange *test);
/* Its first piece since the client took all again, and its last, counted among those of all
 * exchanges; 0: there is none. */
unsigned test_exchange_first_piece(struct test_exchange *test);
unsigned test_exchange_last_piece(struct test_exchange *test);
/* From now on the client takes nothing, or takes all again. */
void test_exchange_hold(struct test_exchange *test, bool holds);
/* The client has gone. */
void test_exchange_leave(struct test_exchange *test);
bool test_exchange_ended(struct test_exchange *test); /* by its writer */

const char *test_exchange_header(struct test_exchange *test, const char *name); /* of the answer */
const json_t *test_exchange_json(struct test_exchange *test); /* of the answer; lives as long */
