/*
 * A group for Diffie-Hellman, for programs that would make one of their own.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

/* One of RFC 7919, which are public, as PEM; NULL: err says why not. */
const char *tls_group_text(struct arena *arena, struct error *err);
