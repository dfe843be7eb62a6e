/*
 * Who may send events to this host: a caller whose token has the role admin or service; it may
 * have expired when a service's token comes beside it (X-Service-Token, [keystone_authtoken]
 * service_token_roles).
 */
#pragma once

#include "http/exchange.h"

struct authtoken;

/* Runs pass(arg, exchange), here or in a thread of the authtoken, or answers 401, 403 or 503.
 * `authtoken` NULL: everybody may. */
void guard_pass(const struct authtoken *authtoken, struct http_exchange *exchange,
                http_handler *pass, void *arg);
