/*
 * Keystone client of the service's own user: a token by password or application credential, kept
 * until shortly before it expires and requested once for all threads; its catalog; and the
 * validation of callers' tokens.
 *
 * Thread-safe.  Calls block until `deadline_us` (monotonic) at most; ERROR_UNAVAILABLE has the
 * reason, also when Keystone refused the service itself: the caller did not cause that.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/client.h"
#include "identity/keystone_settings.h"

#include <stdbool.h>
#include <stdint.h>

struct keystone;

struct keystone *keystone_new(const struct keystone_settings *settings); /* texts must outlive it */
/* Shutdown: current and further requests end by this instant of the monotonic clock, or about a
 * second later. */
void keystone_set_deadline(struct keystone *keystone, int64_t until_us);
void keystone_free(struct keystone *keystone); /* NULL is fine */

/* The service's own token. */
int keystone_token(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                   const char **ret, struct error *err);
/* A peer answered 401 to this token: the next keystone_token() requests another. */
void keystone_token_refused(struct keystone *keystone, const char *token);

/* URL, without trailing slash, of the first of `types` (ended with NULL) in the service's
 * catalog. */
int keystone_endpoint(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                      const char *const *types, const char **ret, struct error *err);

struct keystone_question {
    const char *token; /* of a caller */
    bool allow_expired;
    bool catalog; /* include the catalog in the response */
    int64_t deadline_us;
};

/* Validates a token: 0 and the response (200, or a 404 of Keystone itself), otherwise
 * ERROR_UNAVAILABLE. */
int keystone_validate(struct keystone *keystone, struct arena *arena,
                      const struct keystone_question *question, struct http_answer *ret,
                      struct error *err);
