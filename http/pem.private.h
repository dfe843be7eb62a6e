/*
 * Files of certificates, keys and revocation lists, as text.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

/* Reads into the arena; NULL: unreadable, or not PEM (ERROR_BAD_REQUEST names the file). */
const char *pem_text(struct arena *arena, const char *path, struct error *err);
