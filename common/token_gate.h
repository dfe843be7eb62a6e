/*
 * Who may come in, by [keystone_authtoken]: the checker of callers' tokens with the Keystone behind
 * it, for the API and for the compute agent.
 */
#pragma once

#include "common/option.h"
#include "common/token_check.h"

extern const struct option token_gate_options[]; /* section keystone_authtoken */

struct token_gate {
    struct token_checker *checker;
    struct keystone *keystone;
    const struct config *config;
    bool roles_required;   /* a service's token without a service's role is none */
    const char *challenge; /* value of WWW-Authenticate in a 401 */
    struct arena *arena;
};

/* The config must outlive it.  `queue` as in token_check.h. */
int token_gate_new(const struct config *config, unsigned queue, struct token_gate **ret,
                   struct error *err);
/* Has the token, which came as X-Service-Token, a role of service_token_roles? */
bool token_gate_is_service(const struct token_gate *gate, const struct token *token);
/* The process ends: whoever waits for Keystone has a second or two left. Any thread. */
void token_gate_hurry(struct token_gate *gate);
/* Answers whoever still waits; then nobody may come any more.  The memory stays. */
void token_gate_close(struct token_gate *gate);
void token_gate_free(struct token_gate *gate); /* NULL is fine */
