/*
 * Revoked certificates: the lists (CRL) of one PEM file.  It is read again when it was replaced or
 * changed; while it cannot be read the previous lists apply.  An overdue list still applies.
 * Thread-safe.
 */
#pragma once

#include "common/error.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>

struct revocations;

/* ERROR_BAD_REQUEST names the file. */
int revocations_open(const char *path, struct revocations **ret, struct error *err);
void revocations_free(struct revocations *revocations); /* NULL is fine */

/* Is one of these certificates (DER) revoked by its authority?  A malformed one counts as
 * revoked. */
bool revocations_have(struct revocations *revocations, const gnutls_datum_t *certificates,
                      unsigned count);
