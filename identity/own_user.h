/*
 * The service as a client of its peers: the token of its own user (section nova for the compute
 * side, glance for the image service, barbican_service_user for the key manager, service_user for
 * the volume API); the token of [service_user]
 * as X-Service-Token if send_service_user_token is set; both renewed once when the peer refuses
 * them; the trusted certificates; and endpoints from the catalog.
 *
 * A section without auth_url has no user: calls are made without a token.  Thread-safe.
 */
#pragma once

#include "config/config.h"
#include "http/client.h"
#include "http/transfer.h"

struct own_user;

extern const struct option own_user_options[]; /* of these sections */

/* The config must outlive it. */
int own_user_new(const struct config *config, const char *section, struct own_user **ret,
                 struct error *err);
void own_user_free(struct own_user *user); /* NULL is fine */

/* Has it credentials, for a token and the catalog? */
bool own_user_is_known(const struct own_user *user);

/* endpoint_override, or the catalog's endpoint of the first of `types` (ended with NULL). Blocks
 * for at most `timeout_ms`. */
int own_user_endpoint(struct own_user *user, struct arena *arena, const char *const *types,
                      int64_t timeout_ms, const char **ret, struct error *err);

/* http_call() with the service's tokens added; sets call->peer.  HTTP_NOT_SENT also when there is
 * no token.  Blocks for at most four times the call's timeout.  `user` NULL: http_call(). */
int own_user_call(struct own_user *user, struct arena *arena, const struct http_call *call,
                  struct http_answer *ret, struct error *err);
/* The same with the token of another user, who is refused if it is; `user` is not NULL. */
int own_user_call_as(struct own_user *user, struct arena *arena, const char *token,
                     const struct http_call *call, struct http_answer *ret, struct error *err);
/* For a transfer (http/transfer.h), as that other user or (NULL) as its own: `call` gets the peer
 * and headers, which live as long as the arena and the user. */
int own_user_prepare(struct own_user *user, struct arena *arena, const char *token,
                     struct http_transfer_call *call, struct error *err);
/* The peer refused a transfer with these headers: the next one gets other tokens. */
void own_user_refused(struct own_user *user, const struct http_header *headers);
