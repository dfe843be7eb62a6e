/*
 * The request for a token: who we are and what for.
 */
#pragma once

#include "common/arena.h"
#include "identity/keystone_settings.h"

/* Body of POST /v3/auth/tokens; it holds the secret. */
const char *keystone_auth_write(struct arena *arena, const struct keystone_settings *settings);
