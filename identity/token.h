/*
 * What Keystone says of a valid token: who, where, with which roles, until when.  Read-only once
 * made; shared by counting; the token's own text is not in it.
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
    int64_t expires_us; /* CLOCK_BOOTTIME: nobody sets it while the token is known */
    bool restricted; /* only the access rules' requests are allowed; none when there is no rule */
    const struct access_rule *rules;
    size_t rule_count;
    bool in_catalog; /* the service type that token_read() was asked about */
};

/*
 * Reads the body of a validation.  `service_type` (NULL: none) is looked for in the catalog.  The
 * caller holds the result once.  NULL: ERROR_UNAVAILABLE, it is not as Keystone writes it.
 */
const struct token *token_read(const char *body, size_t size, const char *service_type,
                               struct error *err);
const struct token *token_hold(const struct token *token); /* once more; thread-safe */
void token_release(const struct token *token);             /* NULL is fine */

/* What a caller without a good token is told: always -1. */
int token_refuse(struct error *err);

bool token_has_role(const struct token *token, const char *role); /* case does not count */

/* Do its access rules allow this request (true without any)?  `path` is as sent. */
bool token_allows(const struct token *token, const char *service_type, const char *method,
                  const char *path);
