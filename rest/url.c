#include "rest/url.h"

#include "http/exchange.h"

#include <string.h>

/* Most segments are plain ASCII and stay where the copy of the path has them. */
static const char *segment_decode(struct arena *arena, char *segment) {
    for (const char *at = segment; *at; at++)
        if (*at == '%' || (*at & 0x80))
            return http_decode(arena, segment, strlen(segment), false);
    return segment;
}

bool url_split(struct arena *arena, const char *path, struct url_path *ret) {
    struct url_path split = { .count = 0 };
    char *rest;

    if (path[0] != '/')
        return false;
    rest = arena_text(arena, path + 1);
    while (rest) {
        char *segment = strsep(&rest, "/");

        if (segment[0] == '\0' || split.count == URL_SEGMENTS)
            return false;
        split.segments[split.count] = segment_decode(arena, segment);
        if (!split.segments[split.count++])
            return false;
    }
    *ret = split;
    return true;
}

static int query_decode(struct arena *arena, const char *text, size_t length, struct pair *ret,
                        struct error *err) {
    const char *equals = memchr(text, '=', length);
    size_t key = equals ? (size_t)(equals - text) : length;

    ret->key = http_decode(arena, text, key, true);
    ret->value = equals ? http_decode(arena, equals + 1, length - key - 1, true) : "";
    if (!ret->key || !ret->value)
        return error_set(err, ERROR_BAD_REQUEST, "The query of the URL is malformed.");
    return 0;
}

int url_queries(struct arena *arena, const char *query, const struct pair **ret,
                struct error *err) {
    struct pair *pairs;
    size_t most = 1;
    int count = 0;

    for (const char *at = query; *at; at++)
        most += *at == '&';
    if (most > URL_PARAMETERS)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The query of the URL has more than %d parameters.", URL_PARAMETERS);
    pairs = arena_alloc(arena, most * sizeof(*pairs));
    while (*query) {
        size_t length = strcspn(query, "&");

        if (length && query_decode(arena, query, length, &pairs[count++], err) < 0)
            return -1;
        query += length + (query[length] == '&');
    }
    *ret = pairs;
    return count;
}
