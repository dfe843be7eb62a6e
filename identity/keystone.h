/*
 * Keystone as a service's own user sees it: a token by password or application credential, kept
 * until shortly before its end, asked for once by however many threads need it; the catalog that
 * came with it; and the validation of other people's tokens.
 *
 * Thread-safe.  Calls block until `deadline_us` (monotonic) at most; ERROR_UNAVAILABLE says why
 * Keystone did not help, also when it refused us: no caller is to blame for that.
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
/* The process ends: questions, also those that wait and those to come, have until this instant of
 * the monotonic clock, and about a second more. */
void keystone_hurry(struct keystone *keystone, int64_t until_us);
void keystone_free(struct keystone *keystone); /* NULL is fine */

/* Our token. */
int keystone_token(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                   const char **ret, struct error *err);
/* A peer answered 401 to this one: the next keystone_token() asks for another. */
void keystone_token_refused(struct keystone *keystone, const char *token);

/* URL, without slash at the end, of the first of `types` (ended with NULL) in our catalog. */
int keystone_endpoint(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                      const char *const *types, const char **ret, struct error *err);

struct keystone_question {
    const char *token; /* somebody's */
    bool allow_expired;
    bool catalog; /* with the catalog in the answer */
    int64_t deadline_us;
};

/* Asks whether a token is good: 0 and the answer (200, or 404 in Keystone's own words), else
 * ERROR_UNAVAILABLE. */
int keystone_validate(struct keystone *keystone, struct arena *arena,
                      const struct keystone_question *question, struct http_answer *ret,
                      struct error *err);
