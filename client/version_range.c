#include "client/version_range.h"

#include "common/clock.h"

#include <string.h>

#define LIFE_US (INT64_C(60) * 1000 * 1000)

static bool read_part(const char *text, size_t length, int64_t *ret) {
    char digits[10];

    if (length == 0 || length >= sizeof(digits))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return json_digits(digits, ret);
}

bool version_read(const char *text, int64_t *ret) {
    const char *dot = text ? strchr(text, '.') : NULL;
    int64_t major, minor;

    if (!dot || !read_part(text, (size_t)(dot - text), &major) ||
        !read_part(dot + 1, strlen(dot + 1), &minor))
        return false;
    *ret = (major << 32) | minor;
    return true;
}

void version_range_init(struct version_range *range) {
    *range = (struct version_range){ .until_us = 0 };
    pthread_mutex_init(&range->lock, NULL);
}

void version_range_end(struct version_range *range) {
    pthread_mutex_destroy(&range->lock);
}

/* "…/v2.1/<project>" is cut to "…/v2.1", the URL of the version document. */
static const char *document_root(struct arena *arena, const char *url) {
    const char *version = strstr(url, "/v2.1");

    for (; version; version = strstr(version + 1, "/v2.1"))
        if (version[5] == '/' || version[5] == '\0')
            return arena_text_n(arena, url, (size_t)(version - url) + 5);
    return url;
}

static int fetch(const struct client *client, struct arena *arena, int64_t *ret_least,
                 int64_t *ret_newest, struct error *err) {
    const struct client anybody = { .url = document_root(arena, client->url),
                                    .user = client->user,
                                    .timeout_ms = client->timeout_ms };
    const struct client_call call = { .method = "GET", .path = "/" };
    struct http_answer answer;
    const json_t *entry;

    if (client_send(&anybody, arena, &call, &answer, err) != 0)
        return error_context(err, "asking %s for its versions", client->name);
    entry = json_object_get(json_parse(arena, answer.body, answer.body_size, NULL), "version");
    if (answer.status != 200 || !version_read(json_text_of(entry, "min_version"), ret_least) ||
        !version_read(json_text_of(entry, "version"), ret_newest))
        return error_set(err, ERROR_UNAVAILABLE, "%s's version document cannot be read (status %d)",
                         client->name, answer.status);
    return 0;
}

int version_range_has(struct version_range *range, const struct client *client, struct arena *arena,
                      int64_t version, struct error *err) {
    int64_t least, newest;
    bool fresh;

    pthread_mutex_lock(&range->lock);
    fresh = clock_monotonic_us() < range->until_us;
    least = range->least;
    newest = range->newest;
    pthread_mutex_unlock(&range->lock);
    if (!fresh) {
        if (fetch(client, arena, &least, &newest, err) < 0)
            return -1;
        pthread_mutex_lock(&range->lock);
        range->until_us = clock_monotonic_us() + LIFE_US;
        range->least = least;
        range->newest = newest;
        pthread_mutex_unlock(&range->lock);
    }
    return version < least || version > newest;
}
