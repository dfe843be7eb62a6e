/*
 * Certificates that their authorities have taken back: the lists of one PEM file.  It is read again
 * when it is another file than before, or has changed; while it cannot be read those count that it
 * had.  A list counts also when its next one is overdue.  Any thread may ask.
 */
#pragma once

#include "common/error.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>

struct revocations;

/* ERROR_BAD_REQUEST names the file. */
int revocations_open(const char *path, struct revocations **ret, struct error *err);
void revocations_free(struct revocations *revocations); /* NULL is fine */

/* Is one of these certificates (DER) in a list of its authority?  What is none counts as taken
 * back. */
bool revocations_have(struct revocations *revocations, const gnutls_datum_t *certificates,
                      unsigned count);
