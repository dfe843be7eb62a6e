#include "common/md5.h"

#include "common/hex.h"

#include <nettle/md5.h>

/* By nettle: GnuTLS may refuse MD5 altogether, and this is no cryptographic use. */
void md5_bytes(const void *bytes, size_t size, unsigned char ret[MD5_SIZE]) {
    struct md5_ctx state;

    md5_init(&state);
    md5_update(&state, size, bytes);
    md5_digest(&state, MD5_SIZE, ret);
}

void md5_hex(const void *bytes, size_t size, char ret[MD5_HEX_SIZE]) {
    unsigned char digest[MD5_SIZE];

    md5_bytes(bytes, size, digest);
    hex_encode(digest, sizeof(digest), ret);
}
