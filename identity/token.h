/*
 * A valid token as described by Keystone: user, scope, roles, expiry.  Read-only once built;
 * reference-counted; does not contain the token's text.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access_rule {
    const char *service, *method, *path;
};

struct token {
    const char *user_id, *user_domain_id;
    const char *project_id, *project_domain_id; /* NULL without project scope */
    const char *domain_id;                      /* NULL without domain scope */
    const char *const *roles;                   /* ended with NULL */
    bool system_scope, is_admin_project;
    int64_t expires_us; /* CLOCK_BOOTTIME: not affected by changes of the wall clock */
    bool restricted;    /* only requests of the access rules are allowed; none without a rule */
    const struct access_rule *rules;
    size_t rule_count;
    bool in_catalog; /* the catalog has the service type passed to token_read() */
};

/*
 * Parses the body of a validation.  `service_type` (NULL: none) is searched in the catalog.  The
 * caller gets one reference.  NULL: ERROR_UNAVAILABLE, malformed.
 */
const struct token *token_read(const char *body, size_t size, const char *service_type,
                               struct error *err);
const struct token *token_hold(const struct token *token); /* adds a reference; thread-safe */
void token_release(const struct token *token);             /* NULL is fine */

/* The error for a caller without a valid token: always -1. */
int token_refuse(struct error *err);

bool token_has_role(const struct token *token, const char *role); /* case is ignored */

/* Do the token's access rules allow this request (true without any)? `path` is as sent. */
bool token_allows(const struct token *token, const char *service_type, const char *method,
                  const char *path);
