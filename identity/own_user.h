/*
 * The service itself as a caller of its peers: the token of its own user (section nova for the
 * compute side, service_user for the volume API), beside it that of [service_user] as
 * X-Service-Token when send_service_user_token says so, both new once when the peer refuses them;
 * the certificates that are trusted; and endpoints from the catalog.
 *
 * A section without auth_url has no user: calls go without a token.  Thread-safe.
 */
#pragma once

#include "config/config.h"
#include "http/client.h"

struct own_user;

extern const struct option own_user_options[]; /* sections nova and service_user */

/* The config must outlive it. */
int own_user_new(const struct config *config, const char *section, struct own_user **ret,
                 struct error *err);
void own_user_free(struct own_user *user); /* NULL is fine */

/* Can it have a token, and look into the catalog? */
bool own_user_is_known(const struct own_user *user);

/* endpoint_override, or what the catalog says of the first of `types` (ended with NULL).  Blocks
 * for at most `timeout_ms`. */
int own_user_endpoint(struct own_user *user, struct arena *arena, const char *const *types,
                      int64_t timeout_ms, const char **ret, struct error *err);

/* http_call() with our tokens added; call->peer is ours.  HTTP_NOT_SENT also when Keystone gives
 * none.  Blocks for at most four times the call's timeout.  `user` NULL: http_call(). */
int own_user_call(struct own_user *user, struct arena *arena, const struct http_call *call,
                  struct http_answer *ret, struct error *err);
