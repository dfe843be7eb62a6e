#include "rpc/amqp/url.h"

#include "common/percent.h"
#include "json/json.h"

#include <string.h>

enum { PORT = 5672, PORT_TLS = 5671, PORT_MOST = 65535 };

/* Errors repeat nothing of the text: it may be a part of a password. */

/* host, host:port, [address]:port */
static int parse_address(struct arena *arena, const char *text, size_t length,
                         struct amqp_host *host, struct error *err) {
    const char *end = text + length;
    const char *bracket = length && *text == '[' ? memchr(text, ']', length) : NULL;
    const char *name = bracket ? text + 1 : text;
    const char *name_end = bracket ? bracket : memchr(text, ':', length);
    const char *rest = bracket ? bracket + 1 : name_end;
    int64_t port;

    if (!name_end)
        name_end = end;
    if (name_end == name)
        return error_set(err, ERROR_BAD_REQUEST, "there is no host");
    host->name = arena_text_n(arena, name, (size_t)(name_end - name));
    if (!rest || rest == end)
        return 0;
    if (*rest != ':')
        return error_set(err, ERROR_BAD_REQUEST, "the address has no port");
    if (!json_digits(arena_text_n(arena, rest + 1, (size_t)(end - rest - 1)), &port) || port < 1 ||
        port > PORT_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "a port is not between 1 and %d", PORT_MOST);
    host->port = (int)port;
    return 0;
}

static int parse_hosts(struct arena *arena, const char *text, size_t length, struct amqp_url *url,
                       struct error *err) {
    const char *end = text + length;

    url->host_count = 1;
    for (const char *c = text; c < end; c++)
        url->host_count += *c == ',';
    url->hosts = arena_alloc(arena, url->host_count * sizeof *url->hosts);
    for (unsigned i = 0; i < url->host_count; i++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t piece = comma ? (size_t)(comma - text) : (size_t)(end - text);

        const char *next = text + piece + 1, *at = memrchr(text, '@', piece);
        struct amqp_host *host = &url->hosts[i];

        *host = (struct amqp_host){ .user = "guest", .password = "guest" };
        if (at) {
            size_t login = (size_t)(at - text);
            const char *colon = memchr(text, ':', login);
            size_t user = colon ? (size_t)(colon - text) : login;

            host->user = percent_decode(arena, text, user, false);
            host->password = colon ? percent_decode(arena, colon + 1, login - user - 1, false) : "";
            if (!host->user || !host->password || !*host->user)
                return error_set(err, ERROR_BAD_REQUEST, "user or password is not well-formed");
            text = at + 1;
            piece -= login + 1;
        }
        if (parse_address(arena, text, piece, host, err) < 0)
            return -1;
        text = next;
    }
    return 0;
}

static int parse(struct arena *arena, const char *text, struct amqp_url *url, struct error *err) {
    const char *rest = strstr(text, "://");
    size_t hosts;

    if (!rest || (strncmp(text, "rabbit:", 7) != 0 && strncmp(text, "kombu:", 6) != 0))
        return error_set(err, ERROR_BAD_REQUEST, "it does not begin with rabbit://");
    rest += 3;
    hosts = strcspn(rest, "/?");
    if (parse_hosts(arena, rest, hosts, url, err) < 0)
        return -1;
    rest += hosts;
    url->vhost = "/";
    if (*rest == '/' && rest[1] != '\0' && rest[1] != '?')
        url->vhost = percent_decode(arena, rest + 1, strcspn(rest + 1, "?"), false);
    if (!url->vhost)
        return error_set(err, ERROR_BAD_REQUEST, "the virtual host is not well-formed");
    rest += strcspn(rest, "?");
    rest += *rest == '?';
    if (*rest && (strncmp(rest, "ssl=", 4) != 0 || !json_boolean_word(rest + 4, true, &url->ssl)))
        return error_set(err, ERROR_BAD_REQUEST, "the query is neither ssl=1 nor ssl=0");
    return 0;
}

int amqp_url_parse(struct arena *arena, const char *text, bool ssl, struct amqp_url *ret,
                   struct error *err) {
    struct amqp_url url = { .ssl = ssl };

    if (parse(arena, text, &url, err) < 0)
        return error_context(err, "transport_url");
    for (unsigned i = 0; i < url.host_count; i++)
        if (url.hosts[i].port == 0)
            url.hosts[i].port = url.ssl ? PORT_TLS : PORT;
    *ret = url;
    return 0;
}
