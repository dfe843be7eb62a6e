/*
 * Who may come in, by [keystone_authtoken]: the checker of callers' tokens with the Keystone behind
 * it, for the API and for the compute agent.
 */
#pragma once

#include "config/config.h"
#include "identity/token_check.h"

extern const struct option authtoken_options[]; /* section keystone_authtoken */

struct authtoken {
    struct token_checker *checker;
    struct keystone *keystone;
    const struct config *config;
    bool roles_required;   /* a service's token without a service's role is none */
    const char *challenge; /* value of WWW-Authenticate in a 401 */
    struct arena *arena;
};

/* The config must outlive it.  `queue` as in token_check.h. */
int authtoken_new(const struct config *config, unsigned queue, struct authtoken **ret,
                  struct error *err);
/* Has the token, which came as X-Service-Token, a role of service_token_roles? */
bool authtoken_is_service(const struct authtoken *authtoken, const struct token *token);
/* The process ends: whoever waits for Keystone has a second or two left. Any thread. */
void authtoken_hurry(struct authtoken *authtoken);
/* Answers whoever still waits; then nobody may come any more.  The memory stays. */
void authtoken_close(struct authtoken *authtoken);
void authtoken_free(struct authtoken *authtoken); /* NULL is fine */
