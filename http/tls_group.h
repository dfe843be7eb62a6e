/*
 * Diffie-Hellman parameters, for programs that would generate their own.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

/* The public group of RFC 7919 as PEM; NULL: see err. */
const char *tls_group_text(struct arena *arena, struct error *err);
