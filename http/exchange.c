#include "http/exchange.h"

#include "common/assert.h"
#include "common/percent.h"
#include "common/utf8.h"

#include <curl/curl.h>
#include <string.h>

void http_add_header(struct http_exchange *exchange, const char *name, const char *value) {
    assert(exchange->reply_header_count < HTTP_RESPONSE_HEADERS);
    exchange->reply_headers[exchange->reply_header_count++] =
        (struct http_header){ .name = name, .value = value };
}

char *http_decode(struct arena *arena, const char *text, size_t length, bool form) {
    char *decoded = percent_decode(arena, text, length, form);

    return decoded && utf8_valid(decoded, strlen(decoded)) ? decoded : NULL;
}

/* As ids of projects and objects are. */
static bool is_plain(const char *text) {
    for (; *text; text++)
        if (!((*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') || *text == '-'))
            return false;
    return true;
}

const char *http_encode(struct arena *arena, const char *text) {
    const char *kept;
    char *encoded;

    if (is_plain(text)) /* libcurl takes a hundred instructions for each character */
        return arena_text(arena, text);
    encoded = curl_easy_escape(NULL, text, 0);
    assert(encoded); /* only out of memory */
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
