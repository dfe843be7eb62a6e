#include "http/exchange.h"

#include "common/utf8.h"

#include <assert.h>
#include <curl/curl.h>
#include <string.h>

void http_add_header(struct http_exchange *exchange, const char *name, const char *value) {
    assert(exchange->reply_header_count < HTTP_RESPONSE_HEADERS);
    exchange->reply_headers[exchange->reply_header_count++] =
        (struct http_header){ .name = name, .value = value };
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The two digits behind a '%'; -1 when they are none, or say NUL. */
static int decode_hex(const char *text, size_t length) {
    int high = length >= 2 ? hex_digit(text[0]) : -1;
    int low = high >= 0 ? hex_digit(text[1]) : -1;

    return low >= 0 && high + low > 0 ? high * 16 + low : -1;
}

char *http_decode(struct arena *arena, const char *text, size_t length, bool form) {
    char *decoded = arena_alloc(arena, length + 1);
    size_t size = 0;

    for (size_t i = 0; i < length; i++) {
        int character = (unsigned char)text[i];

        if (character == '%') {
            character = decode_hex(text + i + 1, length - i - 1);
            if (character < 0)
                return NULL;
            i += 2;
        } else if (character == '+' && form) {
            character = ' ';
        } else if (character == '\0') {
            return NULL;
        }
        decoded[size++] = (char)character;
    }
    return utf8_valid(decoded, size) ? decoded : NULL;
}

const char *http_encode(struct arena *arena, const char *text) {
    char *encoded = curl_easy_escape(NULL, text, 0);
    const char *kept;

    assert(encoded); /* or there is no memory */
    kept = arena_text(arena, encoded);
    curl_free(encoded);
    return kept;
}

size_t http_length(const char *url) {
    size_t length = strlen(url);

    while (length > 0 && url[length - 1] == '/')
        length--;
    return length;
}
