/*
 * Options that all requests through libcurl have in common: the peer and its trust, no redirects,
 * no proxy of the environment, TLS 1.2 at least.
 */
#pragma once

#include "common/arena.h"
#include "http/exchange.h"
#include "http/handle.h"

#include <curl/curl.h>

/* libcurl is initialized by the first call; false: it cannot be. */
bool handle_is_ready(void);
/* `url` may name a Unix socket (client.h); libcurl copies what is in the arena.  `peer` may be
 * NULL. */
void handle_set_peer(CURL *handle, struct arena *arena, const char *url,
                     const struct http_peer *peer);
int64_t handle_connect_ms(const struct http_peer *peer);
void handle_add_line(struct curl_slist **list, const char *line);
/* As lines of the request. */
void handle_add_headers(struct curl_slist **list, struct arena *arena,
                        const struct http_header *headers);
