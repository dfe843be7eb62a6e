/*
 * Digital signatures of bytes as OpenStack's signers make them: RSA-PSS (MGF1 with the same hash,
 * a salt of the largest length), DSA, or ECDSA on one of six curves, with the key of an X.509
 * certificate.  Of that the key alone counts: neither its issuer nor its period of validity, as
 * the image service and its other clients decide, too.
 */
#pragma once

#include "common/error.h"

#include <stddef.h>

#define SIGNATURE_CERTIFICATE_MOST ((size_t)16 << 10) /* bytes, in any of its forms */

struct signature;

struct signature_claim {
    const char *key_type;    /* "RSA-PSS", "DSA", "ECC_SECP384R1", …; NULL is unknown, as below */
    const char *hash_method; /* "SHA-224" to "SHA-512" */
    const char *text;        /* of the signature: base64 */
    const void *certificate; /* PEM, DER, or base64 of either */
    size_t certificate_size;
};

/* NULL: ERROR_BAD_REQUEST: a claim that no bytes could fulfil. */
struct signature *signature_new(const struct signature_claim *claim, struct error *err);
void signature_free(struct signature *signature); /* NULL is fine */

/* The next bytes. */
void signature_add(struct signature *signature, const void *bytes, size_t size);
/* Is it the signature of the bytes so far?  0, or ERROR_BACKEND. */
int signature_check(struct signature *signature, struct error *err);
