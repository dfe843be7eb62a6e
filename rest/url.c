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
        size_t length = strcspn(query, "&"), key = strcspn(query, "=&");
        struct pair *pair = &pairs[count];

        if (length) {
            pair->key = http_decode(arena, query, key, true);
            pair->value =
                key < length ? http_decode(arena, query + key + 1, length - key - 1, true) : "";
            if (!pair->key || !pair->value)
                return error_set(err, ERROR_BAD_REQUEST, "The query of the URL is malformed.");
            count++;
        }
        query += length + (query[length] == '&');
    }
    *ret = pairs;
    return count;
}
