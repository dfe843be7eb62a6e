#include "http/handle.h"

#include "common/version.h"
#include "http/handle.private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS 5000

static bool ready;

static void make_ready(void) {
    ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

bool handle_is_ready(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_ready);
    return ready;
}

/* libcurl does not know URLs of Unix sockets; the socket's path is set separately. */
static void set_url(CURL *handle, struct arena *arena, const char *url) {
    static const char mark[] = "+unix://";
    const char *scheme_end = strstr(url, mark), *path, *rest;

    if (scheme_end && (scheme_end - url == 4 || scheme_end - url == 5)) {
        rest = scheme_end + strlen(mark);
        path = http_decode(arena, rest, strcspn(rest, "/?#"), false);
        rest += strcspn(rest, "/?#");
        if (path && *path) {
            curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, path);
            url = arena_format(arena, "%.*s://localhost%s", (int)(scheme_end - url), url, rest);
        }
    }
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L); /* an id of ".." must not be normalized */
    curl_easy_setopt(handle, CURLOPT_URL, url);
}

void handle_set_peer(CURL *handle, struct arena *arena, const char *url,
                     const struct http_peer *peer) {
    set_url(handle, arena, url);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    /* peers are services; proxies from the environment are ignored */
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_USERAGENT, version_agent());
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* or later */
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    if (peer) {
        if (peer->ca_file)
            curl_easy_setopt(handle, CURLOPT_CAINFO, peer->ca_file);
        if (peer->cert_file) {
            curl_easy_setopt(handle, CURLOPT_SSLCERT, peer->cert_file);
            curl_easy_setopt(handle, CURLOPT_SSLKEY,
                             peer->key_file ? peer->key_file : peer->cert_file);
        }
        if (peer->insecure) {
            curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
            curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
        }
    }
}

int64_t handle_connect_ms(const struct http_peer *peer) {
    return peer && peer->connect_timeout_ms > 0 ? peer->connect_timeout_ms : CONNECT_TIMEOUT_MS;
}

void handle_add_line(struct curl_slist **list, const char *line) {
    struct curl_slist *longer = curl_slist_append(*list, line);

    if (!longer)
        abort();
    *list = longer;
}

/* libcurl sends an empty header only where it ends with ';'. */
void handle_add_headers(struct curl_slist **list, struct arena *arena,
                        const struct http_header *headers) {
    for (; headers && headers->name; headers++)
        handle_add_line(list, headers->value[0]
                                  ? arena_format(arena, "%s: %s", headers->name, headers->value)
                                  : arena_format(arena, "%s;", headers->name));
}
