/*
 * SHA-256 (FIPS 180-4): names of secrets that must not be kept themselves.
 */
#pragma once

#include <stddef.h>

#define SHA256_SIZE 32

/* The digest of both pieces, one behind the other. */
void sha256(const void *first, size_t first_size, const void *second, size_t second_size,
            unsigned char ret[SHA256_SIZE]);
