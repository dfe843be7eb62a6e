/*
 * Answers that wait until their clients have read them: how much memory all of them and those of
 * one address may take.  When it is full, the slowest reader of the address with most is cut for
 * one that has less.  Small ones are not counted: the number of connections bounds them.
 */
#pragma once

#include "http/connection.private.h"

/* An answer of `size` bytes is about to wait. False: there is no room for it. */
bool http_answers_take(struct http_connection *connection, size_t size);
void http_answers_give_back(struct http_connection *connection); /* it is gone, or there was none */
