/*
 * Authorization of external events: the caller's token needs the role admin or service; it may have
 * expired when a service token accompanies it (X-Service-Token, [keystone_authtoken]
 * service_token_roles).
 */
#pragma once

#include "http/exchange.h"

struct authtoken;

/* Calls pass(arg, exchange), in this thread or in one of the authtoken, or replies with 401, 403 or
 * 503. `authtoken` NULL: every caller is authorized. */
void event_authorize(const struct authtoken *authtoken, struct http_exchange *exchange,
                     http_handler *pass, void *arg);
