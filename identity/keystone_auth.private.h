/*
 * The request for a token: credentials and scope.
 */
#pragma once

#include "common/arena.h"
#include "identity/keystone_settings.h"

/* Body of POST /v3/auth/tokens; it contains the secret. */
const char *keystone_auth_write(struct arena *arena, const struct keystone_settings *settings);
