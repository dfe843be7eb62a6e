#include "common/base64.h"

#include <nettle/base64.h>

const char *base64_text(struct arena *arena, const void *bytes, size_t size) {
    char *text = arena_alloc(arena, BASE64_ENCODE_RAW_LENGTH(size) + 1);

    base64_encode_raw(text, size, bytes);
    return text;
}

void *base64_bytes(struct arena *arena, const char *text, size_t size, size_t *ret_size) {
    size_t got = BASE64_DECODE_LENGTH(size);
    unsigned char *bytes = arena_alloc(arena, got + 1);
    struct base64_decode_ctx decoder;

    base64_decode_init(&decoder);
    if (!base64_decode_update(&decoder, &got, bytes, size, text) || !base64_decode_final(&decoder))
        return NULL;
    *ret_size = got;
    return bytes;
}
