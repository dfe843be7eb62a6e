/*
 * The signature of an image by its properties, and the certificate of the signer, which the API
 * has fetched with the rights of the caller: the worker has no token of the caller's.
 */
#pragma once

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

struct image_signature {
    /* Of the image, as it has them; NULL: missing, or null. */
    const char *text, *hash_method, *key_type, *certificate_id;
    const char *certificate; /* as the key manager has it, in base64; NULL: not fetched */
    const char *failure;     /* why it was not; NULL: it was, or not attempted */
};

void image_signature_read(const json_t *image, struct image_signature *ret);
bool image_signature_is_given(const struct image_signature *signature);
/* Complete, or none?  ERROR_BAD_REQUEST: a part of one. */
int image_signature_check(const struct image_signature *signature, const char *image_id,
                          struct error *err);

/* As an object of an operation's arguments, NULL without a signature; and back, from NULL too. */
json_t *image_signature_print(const struct image_signature *signature);
void image_signature_of(const json_t *tree, struct image_signature *ret);
