/*
 * Limits on the memory of responses that wait for their clients, in total and by address.  When it
 * is full, the slowest reader of the address with most is closed in favour of one with less.  Small
 * responses are not counted: the number of connections bounds them.
 */
#pragma once

#include "http/connection.private.h"

/* Reserves `size` bytes for a waiting response.  False: over the limit. */
bool http_answers_take(struct http_connection *connection, size_t size);
void http_answers_give_back(struct http_connection *connection); /* the response is gone, or there
                                                                  * was none */
