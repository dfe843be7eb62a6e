/*
 * Files of certificates, keys and lists of revoked certificates, as text.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

/* Into the arena; NULL: it cannot be read, or is none (ERROR_BAD_REQUEST names it). */
const char *pem_text(struct arena *arena, const char *path, struct error *err);
