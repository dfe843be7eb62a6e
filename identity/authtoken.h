/*
 * Authentication by [keystone_authtoken]: the checker of callers' tokens with its Keystone, for the
 * API and for the compute agent.
 */
#pragma once

#include "config/config.h"
#include "identity/token_check.h"

extern const struct option authtoken_options[]; /* section keystone_authtoken */

struct authtoken {
    struct token_checker *checker;
    struct keystone *keystone;
    const struct config *config;
    bool roles_required;   /* a service token without a service role is refused */
    const char *challenge; /* value of WWW-Authenticate in a 401 */
    struct arena *arena;
};

/* The config must outlive it.  `queue` as in token_check.h. */
int authtoken_new(const struct config *config, unsigned queue, struct authtoken **ret,
                  struct error *err);
/* Has the token, sent as X-Service-Token, a role of service_token_roles? */
bool authtoken_is_service(const struct authtoken *authtoken, const struct token *token);
/* Shutdown: pending validations get a deadline of a second or two.  Any thread. */
void authtoken_set_deadline(struct authtoken *authtoken);
/* Refuses pending and further requests.  The memory stays. */
void authtoken_close(struct authtoken *authtoken);
void authtoken_free(struct authtoken *authtoken); /* NULL is fine */
