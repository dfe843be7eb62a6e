/*
 * Content negotiation by Accept.  Responses beside the API itself (unknown route, body too large,
 * health check) take the requested form; HTML is sent on request only.
 */
#pragma once

#include "http/exchange.h"

/* The offered media type (NULL ends the offers) that the client accepts with the highest weight,
 * the first of equals; NULL: none of them, or no Accept. */
const char *accept_best(const struct http_exchange *exchange, const char *const *offers);

/* The response is a sentence: JSON, a page or plain text.  Does not reply. */
void accept_render(struct http_exchange *exchange, int status, const char *title,
                   const char *sentence);
