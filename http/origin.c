#include "http/origin.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

const char *http_origin_host(struct arena *arena, const char *text) {
    const char *scheme = strstr(text, "://");
    const char *host = scheme ? scheme + strlen("://") : text;

    if (*host == '[')
        return arena_text_n(arena, host + 1, strcspn(host + 1, "]/"));
    return arena_text_n(arena, host, strcspn(host, ":/"));
}

static bool is_ours(const char *host, const struct http_origin *origin) {
    unsigned char bytes[16];

    if (origin->any_host || inet_pton(AF_INET, host, bytes) == 1 ||
        inet_pton(AF_INET6, host, bytes) == 1 || strcasecmp(host, "localhost") == 0)
        return true;
    for (const char *const *name = origin->names; name && *name; name++)
        if (strcasecmp(host, *name) == 0)
            return true;
    return false;
}

const char *http_origin_fault(const struct http_exchange *exchange,
                              const struct http_origin *origin) {
    const char *host = http_header(exchange, "Host"), *page = http_header(exchange, "Origin");
    const char *from = page ? strstr(page, "://") : NULL;
    const char *site = http_header(exchange, "Sec-Fetch-Site");

    if (host && !is_ours(http_origin_host(exchange->arena, host), origin))
        return "The Host of the request is none of this service's names.";
    /* Browsers also send Sec-Fetch-Site with images and other requests without Origin: and GET may
     * change something.  "none": the user typed the address. */
    if ((page && (!from || !host || strcasecmp(from + strlen("://"), host) != 0)) ||
        (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0))
        return "The request comes from a page of somewhere else.";
    return NULL;
}
