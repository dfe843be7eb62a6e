/*
 * What a client asks for by name in Accept.  Answers beside the API itself (no such route, a body
 * too large, the health check) take its form; nobody gets a page of HTML who did not ask for one.
 */
#pragma once

#include "http/exchange.h"

/* The offered media type (NULL ends the offers) that the client names with the highest weight, the
 * first of equals; NULL: it names none of them, or has no Accept. */
const char *accept_best(const struct http_exchange *exchange, const char *const *offers);

/* The answer is a sentence: JSON, a page or plain text. Does not reply. */
void accept_render(struct http_exchange *exchange, int status, const char *title,
                   const char *sentence);
